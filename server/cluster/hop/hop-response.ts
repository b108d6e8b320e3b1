/** What another relay answers that was asked to take a data socket. */
import { HOP_ANSWER_TIMEOUT_MS } from '../../limits.ts';
import type { HopConnection, HopHandler } from './hop-connection.ts';

/** How a relay's answer begins that has taken one. */
const SWITCHING = Buffer.from('HTTP/1.1 101 ');

/** `lost`: the connection has ended without a word. */
type Verdict = 'taken' | 'refused' | 'lost';

export class HopAnswer implements HopHandler {
  /** Decided within {@link HOP_ANSWER_TIMEOUT_MS}. */
  readonly verdict: Promise<Verdict>;
  readonly #connection: HopConnection;
  #read: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #hasClosed = false;
  #decide: (verdict: Verdict) => void = () => {};

  constructor(connection: HopConnection) {
    this.#connection = connection;
    this.verdict = new Promise((resolve) => {
      const timer = setTimeout(() => resolve('refused'), HOP_ANSWER_TIMEOUT_MS);
      this.#decide = (verdict) => {
        clearTimeout(timer);
        resolve(verdict);
      };
    });
    connection.handler = this;
    if (!connection.isOpen) this.#decide('lost');
  }

  onData(piece: Buffer): void {
    this.#read = Buffer.concat([this.#read, piece]);
    if (this.#read.length < SWITCHING.length) return;
    // What follows waits for the client.
    this.#connection.pause();
    this.#decide(this.#read.subarray(0, SWITCHING.length).equals(SWITCHING) ? 'taken' : 'refused');
  }

  onEnd(): void {
    this.#hasEnded = true;
    this.#decide('refused');
  }

  onDrain(): void {
    // What was sent is far less than a connection takes.
  }

  onClose(): void {
    this.#hasClosed = true;
    this.#decide(this.#read.length > 0 ? 'refused' : 'lost');
  }

  /** Has somebody else hear what was heard here. */
  replay(handler: HopHandler): void {
    handler.onData(this.#read, false);
    if (this.#hasEnded) handler.onEnd();
    else if (this.#hasClosed) handler.onClose();
    else this.#connection.resume();
  }
}
