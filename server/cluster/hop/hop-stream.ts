/** The end of a data socket that comes over a connection from another relay (hop-connection.ts). */
import { Duplex } from 'node:stream';
import type { HopConnection } from './hop-connection.ts';

export class HopStream extends Duplex {
  readonly #connection: HopConnection;
  #endSent = false;
  #onDrain: (() => void) | undefined;

  /** @param connection whose data socket begins */
  constructor(connection: HopConnection) {
    super({ allowHalfOpen: true, decodeStrings: true });
    this.#connection = connection;
    // Whoever uses it hears that it is closed.
    this.on('error', () => {});
  }

  /** Bytes have come. */
  receive(piece: Buffer): void {
    // Behind the end that was sent the other relay may have something left to say, until it has got it.
    if (!this.destroyed && !this.push(piece)) this.#connection.pause();
  }

  /** No more bytes come. */
  receiveEnd(): void {
    if (!this.destroyed) this.push(null);
  }

  /** The connection has room again. */
  drained(): void {
    const onDrain = this.#onDrain;
    this.#onDrain = undefined;
    onDrain?.();
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#send([chunk], callback);
  }

  override _writev(queued: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    this.#send(
      queued.map(({ chunk }) => chunk),
      callback,
    );
  }

  #send(pieces: readonly Buffer[], callback: () => void): void {
    this.#connection.hold();
    if (this.#connection.send(pieces)) callback();
    else this.#onDrain = callback;
  }

  override _final(callback: () => void): void {
    this.#sendEnd();
    callback();
  }

  /** With everything handed to the system it ends like a connection that is closed; otherwise it breaks like one. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (error !== null || this.writableLength > 0) this.#connection.destroy();
    else this.#sendEnd();
    this.#connection.resume();
    callback(error);
  }

  #sendEnd(): void {
    if (this.#endSent) return;
    this.#endSent = true;
    this.#connection.sendEnd();
  }
}
