/** The socket of an inbound connection: its flow in both directions, how it ends, and how it is handed over. */
import type { Socket } from 'node:net';
import { joined } from '../../shared/http1/fields.ts';
import { type ReadableSocket, ScheduledReads } from '../../shared/scheduler/fair-reads.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import type { Peer } from './request-head.ts';
import { LINGER_TIMEOUT_MS, STALL_TIMEOUT_MS } from './timeouts.ts';

/**
 * @limit Number of unprocessed bytes from a visitor after which the relay stops reading from the connection for a
 * while.
 */
export const BACKLOG_MAX_BYTES = 64 * 1024;

const NONE = Buffer.alloc(0);

/** A visitor's connection: a TCP or TLS socket, or one stream of HTTP/2. */
export interface VisitorConnection extends ReadableSocket {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** bytes that were written and not yet accepted by the system, or by the stream */
  readonly writableLength: number;
  readonly destroyed: boolean;
  /** bytes that may wait here to be processed, if not {@link BACKLOG_MAX_BYTES} */
  readonly inputMax?: number;
  /** the largest status of a response that can be sent, if not all can */
  readonly statusMax?: number;
  /** @param onSent called at the latest when there are no bytes left that were written */
  write(bytes: Buffer, onSent?: () => void): unknown;
  /** Half-closes. `onFlushed`: everything that was written has been accepted. */
  end(onFlushed: () => void): unknown;
  destroy(): unknown;
  /** Emits `timeout` when the visitor has accepted nothing for this many ms; 0: never. */
  setTimeout(ms: number): unknown;
  /** Closes in a way that cannot be mistaken for a clean end. */
  resetAndDestroy(): unknown;
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

export class VisitorSocket {
  readonly #socket: VisitorConnection;
  readonly #handler: VisitorSocketHandler;
  readonly #output: VisitorOutput;
  readonly #reads: ScheduledReads;
  /** Bytes that have arrived and wait to be processed. */
  #input: Buffer | undefined;
  #inputEnded = false;
  /** Whether further input is discarded. */
  #discards = false;

  /**
   * @param socket just accepted, with half-open connections allowed
   * @param group shares its scheduling when the visitor sends much
   */
  constructor(socket: VisitorConnection, group: () => unknown, handler: VisitorSocketHandler) {
    this.#socket = socket;
    this.#handler = handler;
    this.#output = new VisitorOutput(socket, () => handler.onOutputTaken());
    this.#reads = new ScheduledReads(socket, group, {
      onChunk: (chunk) => this.#receive(chunk),
      onEnd: () => {
        this.#inputEnded = true;
        handler.onInputEnd();
      },
    });
    socket.on('error', ignoreError);
    socket.on('close', this.#onClose);
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

  /** Hands over the connection and its unread bytes; the handler gets no more calls. */
  release(): { readonly socket: VisitorConnection; readonly head: Buffer } {
    const socket = this.#socket;
    this.#reads.stop();
    socket.off('close', this.#onClose);
    this.#output.release();
    if (socket.isPaused()) socket.resume();
    return { socket, head: this.takeInput() ?? NONE };
  }

  #receive(chunk: Buffer): void {
    if (this.#discards) return this.#handler.onDiscarded();
    this.#input = this.#input === undefined ? chunk : joined(this.#input, chunk);
    this.#handler.onInput();
  }

  readonly #onClose = (): void => {
    // A closed socket is garbage-collected late, and would keep alive everything that listens to it.
    this.#socket.removeAllListeners();
    this.#reads.flush();
    this.#handler.onClosed();
  };
}

/**
 * The `close` that follows an error is sufficient. One function for all sockets: it stays with those that are handed
 * over, and a closure next to others that reference the visitor would keep all of it alive.
 */
function ignoreError(): void {}

/* Output to a visitor, and whether its system accepts it. */

export class VisitorOutput {
  readonly #socket: VisitorConnection;
  readonly #stall: StallGuard;
  readonly #onTaken: () => void;
  #isFull = false;
  #isReleased = false;

  /** @param onTaken called when everything that was sent has been accepted, after it was full */
  constructor(socket: VisitorConnection, onTaken: () => void) {
    this.#socket = socket;
    this.#stall = new StallGuard(socket);
    this.#onTaken = onTaken;
  }

  /**
   * Whether the visitor's system has not accepted everything that was sent. The rest is buffered in this process, so
   * no more should be requested until it is sent (protocol.md section 4.5).
   */
  get isFull(): boolean {
    return this.#isFull;
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes, this.#onWritten);
    if (this.#socket.writableLength === 0) return;
    this.#isFull = true;
    this.#stall.watch();
  }

  /** Half-closes after what was sent. `onFlushed`: the visitor's system has accepted everything. */
  end(onFlushed: () => void): void {
    this.#stall.watch();
    this.#socket.end(onFlushed);
  }

  /** Another writer takes over. */
  release(): void {
    this.#isReleased = true;
    this.#stall.release();
  }

  readonly #onWritten = (): void => {
    if (!this.#isFull || this.#socket.writableLength > 0 || this.#socket.destroyed || this.#isReleased)
      return;
    this.#isFull = false;
    this.#stall.relax();
    this.#onTaken();
  };
}

/* Cuts a visitor that accepts no bytes while some are waiting for it (protocol.md section 4.5). */

/** How often a stalled socket is checked before it is cut. */
const LOOKS = 6;
const LOOK_MS = STALL_TIMEOUT_MS / LOOKS;

/**
 * A socket's own timeout is the only thing that sees progress inside one write: it skips an interval in which some
 * bytes were accepted. But it also skips the first one, so a single timeout of the whole length would fire after twice
 * the time. So there are several short ones, counted as long as none is skipped.
 */
class StallGuard {
  readonly #socket: VisitorConnection;
  #looks = 0;
  #lastLook = 0;

  constructor(socket: VisitorConnection) {
    this.#socket = socket;
    socket.on('timeout', this.#onTimeout);
  }

  /** Bytes wait for the visitor. */
  watch(): void {
    this.#looks = 0;
    this.#socket.setTimeout(LOOK_MS);
  }

  /** No bytes wait. */
  relax(): void {
    this.#socket.setTimeout(0);
  }

  /** Another owner controls the socket. */
  release(): void {
    this.relax();
    this.#socket.off('timeout', this.#onTimeout);
  }

  readonly #onTimeout = (): void => {
    const now = performance.now();
    const isConsecutive = now - this.#lastLook < 1.5 * LOOK_MS;
    this.#looks = isConsecutive ? this.#looks + 1 : 1;
    this.#lastLook = now;
    // A reset, because otherwise the system would keep the data for as long as the visitor does not read it.
    if (this.#looks >= LOOKS) this.#socket.resetAndDestroy();
    else this.#socket.setTimeout(LOOK_MS);
  };
}

/* Joins a visitor's connection and a stream once both speak WebSocket, with nothing left to parse. */

/**
 * Passes bytes on in both directions until one side ends; then the other is ended as well (protocol.md section
 * 6.3).
 *
 * @param socket without listeners, except for errors
 * @param group shares its scheduling when the visitor sends much
 * @param onClosed called once, when the visitor's connection is closed
 */
export function pipe(
  socket: VisitorConnection,
  stream: ByteStream,
  group: unknown,
  onClosed: () => void,
): void {
  const output = new VisitorOutput(socket, () => stream.resume());
  const reads = new ScheduledReads(socket, () => group, {
    onChunk(bytes) {
      if (!stream.write(bytes)) reads.pause();
    },
    onEnd() {
      stream.finish();
      end();
    },
  });
  socket.on('close', () => {
    reads.flush();
    stream.abort();
    onClosed();
  });
  stream.attach({
    onBytes(bytes) {
      output.send(bytes);
      if (output.isFull) stream.pause();
    },
    onRoom: () => reads.resume(),
    onEnded(clean) {
      if (clean) end();
      else socket.destroy();
    },
  });

  function end(): void {
    output.end(() => setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref());
  }
}

/* The rest of a visitor's connection, for the relay that has replaced this one. */

/**
 * Opens a connection to the relay that serves instead of this one.
 *
 * @param onReset called when the visitor must be cut in a way that cannot be mistaken for a clean end
 */
export type Onward = (peer: Peer, onReset: () => void) => Promise<Socket>;

/** A visitor's connection without a request in progress. */
export interface Rest {
  readonly socket: VisitorConnection;
  /** unread bytes of the visitor */
  readonly bytes: Buffer;
  /** whether that is all the visitor will send */
  readonly hasEnded: boolean;
}

/**
 * Joins both until they end, each direction separately. If the other relay cannot be reached or breaks off, the
 * visitor is cut.
 *
 * @param onClosed called once, when the visitor's connection is closed
 */
export async function passOn(
  { socket, bytes, hasEnded }: Rest,
  peer: Peer,
  onward: Onward,
  onClosed: () => void,
): Promise<void> {
  socket.pause();
  socket.once('close', onClosed);
  const next = await onward(peer, () => socket.resetAndDestroy()).catch(() => undefined);
  if (next === undefined) return void socket.resetAndDestroy();
  if (socket.destroyed) return void next.destroy();
  next.once('close', () => {
    if (!next.readableEnded) socket.resetAndDestroy();
  });
  socket.once('close', () => next.destroy());
  const output = new VisitorOutput(socket, () => next.resume());
  next.on('data', (piece: Buffer) => {
    output.send(piece);
    if (output.isFull) next.pause();
  });
  next.on('end', () => output.end(() => {}));
  // It may have been paused after the greeting of the other relay.
  next.resume();
  next.write(bytes);
  if (hasEnded) return void next.end();
  socket.on('data', (piece: Buffer) => {
    if (!next.write(piece)) socket.pause();
  });
  socket.on('end', () => next.end());
  next.on('drain', () => socket.resume());
  socket.resume();
}
