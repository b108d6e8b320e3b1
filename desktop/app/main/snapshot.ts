import type { Clock, Timer } from '../../client/clock.ts';

export interface FeedOptions<T> {
  readonly clock: Clock;
  /** Builds the value that listeners get. */
  readonly make: () => T;
  /** least ms between two calls of the listeners */
  readonly intervalMs: number;
}

/**
 * Tells listeners the current state: at once after a pause, otherwise when the interval is over. Without listeners, nothing
 * is built.
 */
export class Feed<T> {
  readonly #options: FeedOptions<T>;
  readonly #listeners = new Set<(value: T) => void>();
  #pause: Timer | undefined;
  #isStale = false;

  constructor(options: FeedOptions<T>) {
    this.#options = options;
  }

  /** The current state. */
  make(): T {
    return this.#options.make();
  }

  /** @returns call it to stop listening */
  listen(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Something has changed. */
  changed(): void {
    if (this.#listeners.size === 0) return;
    if (this.#pause !== undefined) {
      this.#isStale = true;
      return;
    }
    this.#isStale = false;
    const { clock, make, intervalMs } = this.#options;
    this.#pause = clock.setTimeout(() => {
      this.#pause = undefined;
      if (this.#isStale) this.changed();
    }, intervalMs);
    const value = make();
    for (const listener of this.#listeners) listener(value);
  }

  /** Tells at once what waits for the interval to end. */
  flush(): void {
    if (!this.#isStale) return;
    this.#pause?.cancel();
    this.#pause = undefined;
    this.changed();
  }
}
