import type { Clock, Timer } from '../../engine/clock.ts';

export interface FeedOptions<T> {
  readonly clock: Clock;
  /** Makes what listeners are told. */
  readonly make: () => T;
  /** ms between two times that listeners are told, at least */
  readonly intervalMs: number;
}

/** Tells listeners how things are: at once after a pause, else when the interval is over. Without any, nothing is made. */
export class Feed<T> {
  readonly #options: FeedOptions<T>;
  readonly #listeners = new Set<(value: T) => void>();
  #pause: Timer | undefined;
  #isStale = false;

  constructor(options: FeedOptions<T>) {
    this.#options = options;
  }

  /** How things are now. */
  make(): T {
    return this.#options.make();
  }

  /** @returns what ends it */
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

  /** Tells at once what waits for the interval to be over. */
  flush(): void {
    if (!this.#isStale) return;
    this.#pause?.cancel();
    this.#pause = undefined;
    this.changed();
  }
}
