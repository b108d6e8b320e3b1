/** The response of a relay that was asked to take a data socket. */
import { HOP_RESPONSE_TIMEOUT_MS } from '../../limits.ts';
import type { HopConnection, HopHandler } from './hop-connection.ts';

/** How the response begins when it has taken one. */
const SWITCHING = Buffer.from('HTTP/1.1 101 ');

/** `lost`: the connection has ended without a word. */
type Verdict = 'taken' | 'refused' | 'lost';

export class HopResponse implements HopHandler {
  /** Decided within {@link HOP_RESPONSE_TIMEOUT_MS}. */
  readonly verdict: Promise<Verdict>;
  readonly #connection: HopConnection;
  #read: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #hasClosed = false;
  #decide: (verdict: Verdict) => void = () => {};

  constructor(connection: HopConnection) {
    this.#connection = connection;
    this.verdict = new Promise((resolve) => {
      const timer = setTimeout(() => resolve('refused'), HOP_RESPONSE_TIMEOUT_MS);
      this.#decide = (verdict) => {
        clearTimeout(timer);
        resolve(verdict);
      };
    });
    connection.handler = this;
    if (!connection.isOpen) this.#decide('lost');
  }

  onPiece(piece: Buffer): void {
    this.#read = Buffer.concat([this.#read, piece]);
    if (this.#read.length < SWITCHING.length) return;
    // What follows the head waits for the client.
    this.#connection.pause();
    this.#decide(this.#read.subarray(0, SWITCHING.length).equals(SWITCHING) ? 'taken' : 'refused');
  }

  onEnd(): void {
    this.#hasEnded = true;
    this.#decide('refused');
  }

  onDrain(): void {
    // What was sent is far less than a connection can queue.
  }

  onClose(): void {
    this.#hasClosed = true;
    this.#decide(this.#read.length > 0 ? 'refused' : 'lost');
  }

  /** Tells another handler everything that has come so far. */
  replay(handler: HopHandler): void {
    handler.onPiece(this.#read, false);
    if (this.#hasEnded) handler.onEnd();
    else if (this.#hasClosed) handler.onClose();
    else this.#connection.resume();
  }
}
