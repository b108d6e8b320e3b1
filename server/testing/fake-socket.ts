/** A connection whose peer and system are the test. */
import { Duplex } from 'node:stream';

/** What is written stays until it is taken; what the peer sends is pushed. */
export class FakeSocket extends Duplex {
  readonly taken: Buffer[] = [];
  /** whether the system takes at once what is written */
  isFast = true;
  #onTaken: (() => void) | undefined;

  /** @param highWaterMark bytes from which on it has no room */
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

  /** Takes what is written from now on, and what waits. */
  release(): void {
    this.isFast = true;
    this.#onTaken?.();
  }
}

/** Resolves once everything under way has happened. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
