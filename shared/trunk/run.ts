/**
 * How much goes one way on a stream without anything the other way: what a stream is that is large. Bytes alone do not tell:
 * the system takes megabytes at once for a reader who reads nothing.
 */
import { WINDOW_BYTES } from './frames.ts';

/** Two windows, which a page seldom is. */
export const LARGE_BYTES = 2 * WINDOW_BYTES;
/** ms for which more comes after that: it is worth a connection. */
export const LARGE_MS = 100;

export class Run {
  /** bytes; below 0 for those that were sent */
  #bytes = 0;
  /** since when it is above {@link LARGE_BYTES}, monotonic ms */
  #since: number | undefined;
  #onLarge: (() => void) | undefined;

  /** Has somebody told, once, when more still moves {@link LARGE_MS} after the first {@link LARGE_BYTES}. */
  whenLarge(tell: () => void): void {
    this.#onLarge = tell;
  }

  received(bytes: number): void {
    this.#set(this.#bytes > 0 ? this.#bytes + bytes : bytes);
  }

  sent(bytes: number): void {
    this.#set(this.#bytes < 0 ? this.#bytes - bytes : -bytes);
  }

  #set(bytes: number): void {
    this.#bytes = bytes;
    if (bytes <= LARGE_BYTES && bytes >= -LARGE_BYTES) this.#since = undefined;
    else if (this.#onLarge !== undefined) this.#look(this.#onLarge);
  }

  #look(tell: () => void): void {
    const now = performance.now();
    this.#since ??= now;
    if (now - this.#since < LARGE_MS) return;
    this.#onLarge = undefined;
    tell();
  }
}
