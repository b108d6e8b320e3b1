/** The socket of an inbound connection: its flow in both directions, its endings, and its handing over. */
import type { Socket } from 'node:net';
import { joined } from '../../shared/http1/joined.ts';
import { TurnedReads } from '../fairness/turned-reads.ts';
import { BACKLOG_MAX_BYTES } from '../limits.ts';
import type { VisitorSink } from './response-relay.ts';
import { StallGuard } from './stall-guard.ts';

export interface VisitorSocketHandler {
  /** Bytes have come and wait: see {@link VisitorSocket.takeInput}. */
  onInput(): void;
  /** The visitor has half-closed: everything it sends has come. */
  onInputEnd(): void;
  /** Everything that was sent has been taken, after the socket was full. */
  onOutputTaken(): void;
  /** The connection is closed, whoever closed it. */
  onClosed(): void;
}

export class VisitorSocket implements VisitorSink {
  readonly #socket: Socket;
  readonly #handler: VisitorSocketHandler;
  readonly #stall: StallGuard;
  readonly #reads: TurnedReads;
  /** Bytes that have come and wait for their turn. */
  #input: Buffer | undefined;
  /** Whether what still comes is thrown away. */
  #discards = false;

  /**
   * @param socket just accepted, half-open allowed
   * @param group with whom it takes turns when it sends much
   */
  constructor(socket: Socket, group: () => unknown, handler: VisitorSocketHandler) {
    this.#socket = socket;
    this.#handler = handler;
    this.#stall = new StallGuard(socket);
    this.#reads = new TurnedReads(socket, group, {
      onChunk: (chunk) => this.#receive(chunk),
      onEnd: () => handler.onInputEnd(),
    });
    socket.on('drain', this.#onDrain);
    // What an error means is told by the close that follows it.
    socket.on('error', () => {});
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

  /** Lets the rest of what was taken wait on. */
  returnInput(rest: Buffer): void {
    this.#input = rest;
  }

  /** Bytes that were taken. */
  get bytesTaken(): number {
    return this.#socket.bytesRead - (this.#input?.length ?? 0);
  }

  /**
   * Reads on, or stops while nobody takes what comes.
   *
   * @param isBlocked whether nothing is taken for now; as much as may wait is read all the same where it is not
   */
  updateReading(isBlocked: boolean): void {
    if (isBlocked || (this.#input?.length ?? 0) >= BACKLOG_MAX_BYTES) this.#reads.pause();
    else if (this.#reads.isPaused) this.#reads.resume();
  }

  /** From here on the system asks now and then whether the visitor is still there. */
  probe(): void {
    this.#socket.setKeepAlive(true, 1000);
  }

  // Output

  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Bytes that were sent, those included that wait. */
  get bytesSent(): number {
    return this.#socket.bytesWritten;
  }

  send(bytes: Buffer): void {
    if (!this.#socket.write(bytes)) this.#stall.watch();
  }

  // Endings

  /** Half-closes behind what was sent; what still comes is thrown away. `onFlushed`: the visitor's system has taken it all. */
  end(onFlushed: () => void): void {
    this.#input = undefined;
    this.#discards = true;
    this.#stall.watch();
    this.#socket.end(onFlushed);
    this.updateReading(false);
  }

  /** Closes at once. What was not sent is lost. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Closes at once, in a way that cannot be taken for an end. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Gives the connection to whoever takes it over, with the bytes that wait; the handler hears nothing more of it. */
  release(): { readonly socket: Socket; readonly head: Buffer } {
    const socket = this.#socket;
    this.#reads.stop();
    socket.off('drain', this.#onDrain);
    socket.off('close', this.#onClose);
    this.#stall.release();
    if (socket.isPaused()) socket.resume();
    return { socket, head: this.takeInput() ?? Buffer.alloc(0) };
  }

  #receive(chunk: Buffer): void {
    if (this.#discards) return;
    this.#input = this.#input === undefined ? chunk : joined(this.#input, chunk);
    this.#handler.onInput();
  }

  readonly #onDrain = (): void => {
    this.#stall.relax();
    this.#handler.onOutputTaken();
  };

  readonly #onClose = (): void => {
    // A closed socket is collected late, and would take along all that listens to it.
    this.#socket.removeAllListeners();
    this.#reads.flush();
    this.#handler.onClosed();
  };
}
