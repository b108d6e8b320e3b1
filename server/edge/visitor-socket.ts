/** The socket of an inbound connection: its flow in both directions, how it ends, and how it is handed over. */
import { joined } from '../../shared/http1/fields.ts';
import { ScheduledInput } from '../../shared/scheduler/fair-reads.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import type { MessageField } from './message-fields.ts';
import { LINGER_TIMEOUT_MS, STALL_TIMEOUT_MS } from './timeouts.ts';
import type { ConnectionOwner, MessageTaker, VisitorConnection } from './visitor-connection.ts';

/**
 * Number of unprocessed bytes from a visitor after which the relay stops reading from the connection for a
 * while.
 */
export const BACKLOG_MAX_BYTES = 64 * 1024;

const NONE = Buffer.alloc(0);

/** The rest of a visitor's connection. */
export interface Rest {
  readonly socket: VisitorConnection;
  /** unread bytes of the visitor */
  readonly bytes: Buffer;
  /** whether that is all the visitor will send */
  readonly hasEnded: boolean;
}

export interface VisitorSocketHandler {
  /** Bytes have arrived: see {@link VisitorSocket.takeInput}. */
  onInput(): void;
  /** The visitor has half-closed: everything it sends has arrived. */
  onInputEnd(): void;
  /** Input was discarded after {@link VisitorSocket.end}. */
  onDiscarded(): void;
  /** Something was sent to a visitor that has half-closed. */
  onOutput(): void;
  /** Everything that was sent has been accepted by the system, after the socket was full. */
  onOutputTaken(): void;
  /** The connection is closed, by either side. */
  onClosed(): void;
}

export class VisitorSocket implements ConnectionOwner {
  readonly #socket: VisitorConnection;
  readonly #handler: VisitorSocketHandler;
  readonly #output: VisitorOutput;
  readonly #reads: ScheduledInput;
  /** Bytes that have arrived and wait to be processed. */
  #input: Buffer | undefined;
  #inputEnded = false;
  /** Whether further input is discarded. */
  #discards = false;

  /**
   * @param socket without an owner
   * @param group shares its scheduling when the visitor sends much
   */
  constructor(socket: VisitorConnection, group: () => unknown, handler: VisitorSocketHandler) {
    this.#socket = socket;
    this.#handler = handler;
    this.#output = new VisitorOutput(socket, handler);
    this.#reads = new ScheduledInput(socket, group, this);
    socket.attach(this);
  }

  // Input

  /** Whether bytes wait to be taken. */
  get hasInput(): boolean {
    return this.#input !== undefined;
  }

  /** Whether the visitor has half-closed: nothing more arrives. */
  get inputEnded(): boolean {
    return this.#inputEnded;
  }

  /** Takes all bytes that wait. */
  takeInput(): Buffer | undefined {
    const input = this.#input;
    this.#input = undefined;
    return input;
  }

  /** Puts back the rest of the input, before anything that has arrived since. */
  returnInput(rest: Buffer): void {
    this.#input = this.#input === undefined ? rest : joined(rest, this.#input);
  }

  /** Bytes that were read. */
  get bytesTaken(): number {
    return this.#socket.bytesRead - (this.#input?.length ?? 0);
  }

  /**
   * Resumes reading, or stops while nothing accepts the input.
   *
   * @param isBlocked whether nothing is currently accepted; otherwise reading continues until the buffer limit
   */
  updateReading(isBlocked: boolean): void {
    const { inputMax = BACKLOG_MAX_BYTES } = this.#socket;
    if (isBlocked || (this.#input?.length ?? 0) >= inputMax) this.#reads.pause();
    else if (this.#reads.isPaused) this.#reads.resume();
  }

  // Output

  /** Whether the visitor has not yet read what was sent, so that no more should be sent. */
  get isFull(): boolean {
    return this.#output.isFull;
  }

  /** Bytes that were sent, including those that wait. */
  get bytesSent(): number {
    return this.#socket.bytesWritten;
  }

  /** The largest status of a response that the visitor can be sent. */
  get statusMax(): number {
    return this.#socket.statusMax ?? Infinity;
  }

  send(bytes: Buffer): void {
    this.#output.send(bytes);
    if (this.#inputEnded) this.#handler.onOutput();
  }

  /** Takes responses as messages, if the connection does not carry the bytes of HTTP/1.1. */
  get messages(): MessageTaker | undefined {
    return this.#socket.messages;
  }

  /** Begins a response as a message, whose body follows with {@link send}. */
  begin(status: number, fields: readonly MessageField[]): void {
    this.#socket.messages?.begin(status, fields);
    this.#output.noteWritten();
  }

  // Endings

  /**
   * Half-closes after what was sent; further input is discarded. `onFlushed`: the visitor's system has accepted
   * everything.
   */
  end(onFlushed: () => void): void {
    this.#input = undefined;
    this.#discards = true;
    this.#output.end(onFlushed);
    this.updateReading(false);
  }

  /** Closes immediately. Unsent bytes are lost. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Closes immediately, in a way that cannot be mistaken for a clean end. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Hands over the connection: another owner has to be attached immediately. */
  release(): Rest {
    const socket = this.#socket;
    this.#reads.stop();
    this.#output.release();
    if (socket.isPaused()) socket.resume();
    return { socket, bytes: this.takeInput() ?? NONE, hasEnded: this.#inputEnded };
  }

  // For its connection

  arrived(bytes: Buffer): void {
    this.#reads.push(bytes);
  }

  ended(): void {
    this.#reads.pushEnd();
  }

  sent(): void {
    this.#output.sent();
  }

  stalled(): void {
    this.#output.stalled();
  }

  closed(): void {
    this.#reads.flush();
    this.#handler.onClosed();
  }

  // For its scheduled input

  onChunk(chunk: Buffer): void {
    if (this.#discards) return this.#handler.onDiscarded();
    this.#input = this.#input === undefined ? chunk : joined(this.#input, chunk);
    this.#handler.onInput();
  }

  onEnd(): void {
    this.#inputEnded = true;
    this.#handler.onInputEnd();
  }
}

/* Output to a visitor, and whether its system accepts it. */

/** How often a stalled socket is checked before it is cut. */
const LOOKS = 6;
const LOOK_MS = STALL_TIMEOUT_MS / LOOKS;

/**
 * Also cuts a visitor that accepts no bytes while some are waiting for it (protocol.md section 4.5). A socket's own
 * timeout is the only thing that sees progress inside one write: it skips an interval in which some bytes were
 * accepted. But it also skips the first one, so a single timeout of the whole length would fire after twice the time.
 * So there are several short ones, counted as long as none is skipped.
 */
export class VisitorOutput {
  readonly #socket: VisitorConnection;
  readonly #handler: Pick<VisitorSocketHandler, 'onOutputTaken'>;
  #isFull = false;
  #isReleased = false;
  #looks = 0;
  #lastLook = 0;

  /** @param socket whose owner passes on {@link sent} and {@link stalled} */
  constructor(socket: VisitorConnection, handler: Pick<VisitorSocketHandler, 'onOutputTaken'>) {
    this.#socket = socket;
    this.#handler = handler;
  }

  /**
   * Whether the visitor's system has not accepted everything that was sent. The rest is buffered in this process, so
   * no more should be requested until it is sent (protocol.md section 4.5).
   */
  get isFull(): boolean {
    return this.#isFull;
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
    this.noteWritten();
  }

  /** Something was written to the socket. */
  noteWritten(): void {
    if (this.#socket.writableLength === 0) return;
    this.#isFull = true;
    this.#watch();
  }

  /** Half-closes after what was sent. `onFlushed`: the visitor's system has accepted everything. */
  end(onFlushed: () => void): void {
    this.#watch();
    this.#socket.end(onFlushed);
  }

  /** Another writer takes over. */
  release(): void {
    this.#isReleased = true;
    this.#socket.setTimeout(0);
  }

  sent(): void {
    if (!this.#isFull || this.#socket.writableLength > 0 || this.#socket.destroyed || this.#isReleased)
      return;
    this.#isFull = false;
    this.#socket.setTimeout(0);
    this.#handler.onOutputTaken();
  }

  stalled(): void {
    const now = performance.now();
    const isConsecutive = now - this.#lastLook < 1.5 * LOOK_MS;
    this.#looks = isConsecutive ? this.#looks + 1 : 1;
    this.#lastLook = now;
    // A reset, because otherwise the system would keep the data for as long as the visitor does not read it.
    if (this.#looks >= LOOKS) this.#socket.resetAndDestroy();
    else this.#socket.setTimeout(LOOK_MS);
  }

  /** Bytes wait for the visitor. */
  #watch(): void {
    this.#looks = 0;
    this.#socket.setTimeout(LOOK_MS);
  }
}

/* Joins a visitor's connection and a stream once both speak WebSocket, with nothing left to parse. */

/**
 * Passes bytes on in both directions until one side ends; then the other is ended as well (protocol.md section
 * 6.3).
 *
 * @param rest of a connection without an owner
 * @param group shares its scheduling when the visitor sends much
 * @param onClosed called once, when the visitor's connection is closed
 */
export function pipe(
  { socket, bytes, hasEnded }: Rest,
  stream: ByteStream,
  group: unknown,
  onClosed: () => void,
): void {
  const output = new VisitorOutput(socket, { onOutputTaken: () => stream.resume() });
  const reads = new ScheduledInput(socket, () => group, {
    onChunk(chunk) {
      if (!stream.write(chunk)) reads.pause();
    },
    onEnd() {
      stream.finish();
      end();
    },
  });
  socket.attach({
    arrived: (chunk) => reads.push(chunk),
    ended: () => reads.pushEnd(),
    sent: () => output.sent(),
    stalled: () => output.stalled(),
    closed() {
      reads.flush();
      stream.abort();
      onClosed();
    },
  });
  stream.attach({
    onBytes(piece) {
      output.send(piece);
      if (output.isFull) stream.pause();
    },
    onRoom: () => reads.resume(),
    onEnded(clean) {
      if (clean) end();
      else socket.destroy();
    },
  });
  if (bytes.length > 0) reads.push(bytes);
  if (hasEnded) reads.pushEnd();

  function end(): void {
    socket.messages?.finish([]);
    output.end(() => setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref());
  }
}
