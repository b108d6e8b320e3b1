import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import type { DataSocket } from './data-socket.ts';

/** Stands between a data socket and its handler. This one passes everything on; others see or change what passes. */
export class StreamFilter implements DataSocket, ByteStreamHandler {
  readonly #inner: DataSocket;
  #handler: ByteStreamHandler | undefined;

  constructor(inner: DataSocket) {
    this.#inner = inner;
  }

  /** There is a local connection for what comes from now on. */
  connected(): void {
    if (this.#inner instanceof StreamFilter) this.#inner.connected();
  }

  attach(handler: ByteStreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst) this.#inner.attach(this);
  }

  write(chunk: Buffer): boolean {
    return this.#inner.write(chunk);
  }

  pause(): void {
    this.#inner.pause();
  }

  resume(): void {
    this.#inner.resume();
  }

  close(code: number): void {
    this.#inner.close(code);
  }

  destroy(): void {
    this.#inner.destroy();
  }

  lookForEnd(): void {
    this.#inner.lookForEnd();
  }

  onStreamData(piece: Buffer): void {
    this.#handler?.onStreamData(piece);
  }

  onStreamDrain(): void {
    this.#handler?.onStreamDrain();
  }

  onStreamClose(code: number): void {
    this.#handler?.onStreamClose(code);
  }
}

/**
 * Puts a filter around a data socket.
 *
 * @param waitedMs ms from the visitor's announcement until the data socket was open
 */
export type FilterMaker = (inner: DataSocket, waitedMs: number) => StreamFilter;
