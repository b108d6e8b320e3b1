/** How much goes one way on a stream without anything the other way: what a stream is that is large. */
import { WINDOW_BYTES } from './frames.ts';

/** Two windows, which a page seldom is, and which are worth a connection. */
export const LARGE_BYTES = 2 * WINDOW_BYTES;

export class Run {
  /** bytes; below 0 for those that were sent */
  #bytes = 0;
  #onLarge: (() => void) | undefined;

  /** Has somebody told, once, when it is above {@link LARGE_BYTES}. */
  whenLarge(tell: () => void): void {
    this.#onLarge = tell;
  }

  received(bytes: number): void {
    this.#bytes = Math.max(this.#bytes, 0) + bytes;
    if (this.#bytes > LARGE_BYTES) this.#tell();
  }

  sent(bytes: number): void {
    this.#bytes = Math.min(this.#bytes, 0) - bytes;
    if (this.#bytes < -LARGE_BYTES) this.#tell();
  }

  #tell(): void {
    const tell = this.#onLarge;
    this.#onLarge = undefined;
    tell?.();
  }
}
