/** A connection whose peer and system the test controls. */
import { Duplex } from 'node:stream';

/** Written bytes are kept until they are read; the peer's bytes are pushed. */
export class FakeSocket extends Duplex {
  readonly taken: Buffer[] = [];
  /** whether the system accepts written bytes immediately */
  isFast = true;
  #onTaken: (() => void) | undefined;

  /** @param highWaterMark number of bytes that fill it */
  constructor(highWaterMark = 4) {
    super({ highWaterMark, allowHalfOpen: true });
    this.on('error', () => {});
  }

  /** Everything that was written, as text. */
  get text(): string {
    return Buffer.concat(this.taken).toString('latin1');
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#take(chunk, callback);
  }

  #take(chunk: Buffer, callback: () => void): void {
    this.taken.push(chunk);
    if (this.isFast) callback();
    else this.#onTaken = callback;
  }

  override _writev(queued: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    this.#take(Buffer.concat(queued.map(({ chunk }) => chunk)), callback);
  }

  /** Accepts all written bytes from now on, including pending ones. */
  release(): void {
    this.isFast = true;
    this.#onTaken?.();
  }
}

/** Resolves once everything in progress is done. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
