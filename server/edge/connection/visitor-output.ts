/** What goes to a visitor, and whether its system takes it. */
import type { Socket } from 'node:net';
import { StallGuard } from './stall-guard.ts';

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
