/** The socket of an inbound connection: its flow in both directions, how it ends, and how it is handed over. */
import type { Socket } from 'node:net';
import { joined } from '../../shared/http1/fields.ts';
import { ScheduledReads } from '../../shared/scheduler/fair-reads.ts';
import { BACKLOG_MAX_BYTES, STALL_TIMEOUT_MS } from '../limits.ts';
import type { VisitorSink } from './response.ts';

const NONE = Buffer.alloc(0);

export interface VisitorSocketHandler {
  /** Bytes have arrived and wait: see {@link VisitorSocket.takeInput}. */
  onInput(): void;
  /** The visitor has half-closed: everything it sends has come. */
  onInputEnd(): void;
  /** Something was sent to a visitor that has half-closed. */
  onOutput(): void;
  /** Everything that was sent has been taken, after the socket was full. */
  onOutputTaken(): void;
  /** The connection is closed, whoever closed it. */
  onClosed(): void;
}

export class VisitorSocket implements VisitorSink {
  readonly #socket: Socket;
  readonly #handler: VisitorSocketHandler;
  readonly #output: VisitorOutput;
  readonly #reads: ScheduledReads;
  /** Bytes that have arrived and wait for their turn. */
  #input: Buffer | undefined;
  #inputEnded = false;
  /** Whether further input is discarded. */
  #discards = false;

  /**
   * @param socket just accepted, half-open allowed
   * @param group with whom it takes turns when it sends much
   */
  constructor(socket: Socket, group: () => unknown, handler: VisitorSocketHandler) {
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

  /** Takes all bytes that wait. */
  takeInput(): Buffer | undefined {
    const input = this.#input;
    this.#input = undefined;
    return input;
  }

  /** Puts the rest of what was taken back, to wait before what has come since. */
  returnInput(rest: Buffer): void {
    this.#input = this.#input === undefined ? rest : joined(rest, this.#input);
  }

  /** Bytes that were taken. */
  get bytesTaken(): number {
    return this.#socket.bytesRead - (this.#input?.length ?? 0);
  }

  /**
   * Goes on reading, or stops while nobody takes the input.
   *
   * @param isBlocked whether nothing is taken for now; otherwise reading goes on until as much waits as may wait
   */
  updateReading(isBlocked: boolean): void {
    if (isBlocked || (this.#input?.length ?? 0) >= BACKLOG_MAX_BYTES) this.#reads.pause();
    else if (this.#reads.isPaused) this.#reads.resume();
  }

  // Output

  get isFull(): boolean {
    return this.#output.isFull;
  }

  /** Bytes that were sent, including those that wait. */
  get bytesSent(): number {
    return this.#socket.bytesWritten;
  }

  send(bytes: Buffer): void {
    this.#output.send(bytes);
    if (this.#inputEnded) this.#handler.onOutput();
  }

  // Endings

  /** Half-closes after what was sent; further input is discarded. `onFlushed`: the visitor's system has taken it all. */
  end(onFlushed: () => void): void {
    this.#input = undefined;
    this.#discards = true;
    this.#output.end(onFlushed);
    this.updateReading(false);
  }

  /** Closes at once. What was not sent is lost. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Closes at once, in a way that cannot be mistaken for a clean end. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Hands over the connection, with the bytes that wait; the handler hears nothing more from it. */
  release(): { readonly socket: Socket; readonly head: Buffer } {
    const socket = this.#socket;
    this.#reads.stop();
    socket.off('close', this.#onClose);
    this.#output.release();
    if (socket.isPaused()) socket.resume();
    return { socket, head: this.takeInput() ?? NONE };
  }

  #receive(chunk: Buffer): void {
    if (this.#discards) return;
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
 * The `close` that follows an error says all there is to say. One for all sockets: it stays with those that are handed over,
 * and a function made beside others that know the visitor would keep all of it for as long.
 */
function ignoreError(): void {}

/* What goes to a visitor, and whether its system takes it. */

export class VisitorOutput {
  readonly #socket: Socket;
  readonly #stall: StallGuard;
  readonly #onTaken: () => void;
  #isFull = false;
  #isReleased = false;

  /** @param onTaken told when everything that was sent has been taken, after it was full */
  constructor(socket: Socket, onTaken: () => void) {
    this.#socket = socket;
    this.#stall = new StallGuard(socket);
    this.#onTaken = onTaken;
  }

  /**
   * Whether the visitor's system has not taken all that was sent. Every byte of that lies in this process, so nothing more is to
   * be asked for meanwhile (docs/protocol.md section 4.5).
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

  /** Half-closes behind what was sent. `onFlushed`: the visitor's system has taken it all. */
  end(onFlushed: () => void): void {
    this.#stall.watch();
    this.#socket.end(onFlushed);
  }

  /** Somebody else writes from now on. */
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

/* Cuts a visitor that takes no bytes while some are waiting for it (docs/protocol.md section 4.5). */

/** How often a stalled socket is checked before it is cut. */
const LOOKS = 6;
const LOOK_MS = STALL_TIMEOUT_MS / LOOKS;

/**
 * A socket's own timeout sees progress inside one write, which nothing else does: it skips an interval in which some bytes
 * were taken. But it also skips the first one, so a single timeout of the whole length would come after twice the time. So
 * there are several short ones, counted as long as none is skipped.
 */
export class StallGuard {
  readonly #socket: Socket;
  #looks = 0;
  #lastLook = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('timeout', this.#onTimeout);
  }

  /** Bytes wait for the visitor. */
  watch(): void {
    this.#looks = 0;
    this.#socket.setTimeout(LOOK_MS);
  }

  /** No bytes wait any more. */
  relax(): void {
    this.#socket.setTimeout(0);
  }

  /** Somebody else looks after the socket. */
  release(): void {
    this.relax();
    this.#socket.off('timeout', this.#onTimeout);
  }

  readonly #onTimeout = (): void => {
    const now = performance.now();
    const isConsecutive = now - this.#lastLook < 1.5 * LOOK_MS;
    this.#looks = isConsecutive ? this.#looks + 1 : 1;
    this.#lastLook = now;
    // A reset, because otherwise the system would hold the data for as long as the visitor does not take it.
    if (this.#looks >= LOOKS) this.#socket.resetAndDestroy();
    else this.#socket.setTimeout(LOOK_MS);
  };
}
