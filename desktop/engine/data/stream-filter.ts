import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import type { DataStream } from './data-stream.ts';

/** Stands between a data socket and its handler. This one passes everything on; others see or change what passes. */
export class StreamFilter implements DataStream, ByteStreamHandler {
  readonly #inner: DataStream;
  #handler: ByteStreamHandler | undefined;

  constructor(inner: DataStream) {
    this.#inner = inner;
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

  onData(piece: Buffer): void {
    this.#handler?.onData(piece);
  }

  onDrain(): void {
    this.#handler?.onDrain();
  }

  onClose(code: number): void {
    this.#handler?.onClose(code);
  }
}

/** Puts a filter around a data socket. */
export type FilterMaker = (inner: DataStream) => StreamFilter;
