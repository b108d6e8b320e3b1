/** The socket of an inbound connection: its flow in both directions, its endings, and its handing over. */
import type { Socket } from 'node:net';
import { TurnedReads } from '../fairness/turned-reads.ts';
import { StallGuard } from './stall-guard.ts';

export interface VisitorSocketHandler {
  onData(chunk: Buffer): void;
  /** There is room again after a `send` that answered `false`. */
  onDrain(): void;
  /** The visitor has half-closed: everything it sends has come. */
  onEnd(): void;
  /** The connection is closed, whoever closed it. */
  onClose(): void;
}

export class VisitorSocket {
  readonly #socket: Socket;
  readonly #handler: VisitorSocketHandler;
  readonly #stall: StallGuard;
  readonly #reads: TurnedReads;

  /**
   * @param socket just accepted, half-open allowed
   * @param group with whom it takes turns when it sends much
   */
  constructor(socket: Socket, group: () => unknown, handler: VisitorSocketHandler) {
    this.#socket = socket;
    this.#handler = handler;
    this.#stall = new StallGuard(socket);
    this.#reads = new TurnedReads(socket, group, (chunk) => handler.onData(chunk));
    socket.on('drain', this.#onDrain);
    socket.on('end', this.#onEnd);
    // What an error means is told by the close that follows it.
    socket.on('error', () => {});
    socket.on('close', this.#onClose);
  }

  /** Whether the visitor leaves answers untaken, so that no more of them should be made. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** Bytes that have come. */
  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** Bytes that were sent, those included that wait. */
  get bytesWritten(): number {
    return this.#socket.bytesWritten;
  }

  /** @returns `false` when the visitor takes its answers more slowly than they come: wait for `onDrain` */
  send(bytes: Buffer): boolean {
    if (this.#socket.write(bytes)) return true;
    this.#stall.watch();
    return false;
  }

  /** Stops or starts the reading of what the visitor sends. */
  setPaused(paused: boolean): void {
    if (paused) this.#reads.pause();
    else if (this.#reads.isPaused) this.#reads.resume();
  }

  /** From here on the system asks now and then whether the visitor is still there. */
  probe(): void {
    this.#socket.setKeepAlive(true, 1000);
  }

  /** Half-closes behind what was sent. `onFlushed`: the visitor's system has taken it all. */
  end(onFlushed: () => void): void {
    this.#stall.watch();
    this.#socket.end(onFlushed);
    this.setPaused(false);
  }

  /** Closes at once. What was not sent is lost. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Closes at once, in a way that cannot be taken for an end. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Gives the connection to whoever takes it over; the handler hears nothing more of it. */
  release(): Socket {
    const socket = this.#socket;
    this.#reads.stop();
    socket.off('drain', this.#onDrain);
    socket.off('end', this.#onEnd);
    socket.off('close', this.#onClose);
    this.#stall.release();
    if (socket.isPaused()) socket.resume();
    return socket;
  }

  readonly #onDrain = (): void => {
    this.#stall.relax();
    this.#handler.onDrain();
  };

  readonly #onEnd = (): void => this.#handler.onEnd();

  readonly #onClose = (): void => {
    // A closed socket is collected late, and would take along all that listens to it.
    this.#socket.removeAllListeners();
    this.#reads.flush();
    this.#handler.onClose();
  };
}
