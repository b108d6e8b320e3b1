/**
 * How much goes one way on a stream without anything the other way: what a stream is that is large. Bytes alone do not tell:
 * the system takes megabytes at once for a reader who reads nothing.
 */
import { WINDOW_BYTES } from './frames.ts';

/** Two windows, which a page seldom is. */
export const LARGE_BYTES = 2 * WINDOW_BYTES;
/** ms that it takes at least. From far away, 128 KiB take longer. */
export const LARGE_MS = 50;
/** Bytes from which on its time is taken: most responses are smaller, and are not to cost a look at the clock. */
const TIMED_BYTES = 16 * 1024;

export class Run {
  /** bytes; below 0 for those that were sent */
  #bytes = 0;
  /** since when there are {@link TIMED_BYTES} of them, monotonic ms */
  #since: number | undefined;
  #onLarge: (() => void) | undefined;

  /** Has somebody told, once, at more than {@link LARGE_BYTES} in no less than {@link LARGE_MS}. */
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
    const size = Math.abs(bytes);
    if (size < TIMED_BYTES) this.#since = undefined;
    else if (this.#onLarge !== undefined) this.#look(size, this.#onLarge);
  }

  #look(size: number, tell: () => void): void {
    const now = performance.now();
    this.#since ??= now;
    if (size <= LARGE_BYTES || now - this.#since < LARGE_MS) return;
    this.#onLarge = undefined;
    tell();
  }
}
