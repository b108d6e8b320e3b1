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
    // Its user is told by `close`.
    this.on('error', () => {});
  }

  /** Bytes have come. */
  receive(piece: Buffer): void {
    // After we have sent our end, the other relay may still send something until it has received that.
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

  /** If everything was handed to the system, it ends like a closed connection; otherwise it breaks like one. */
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
