/** State for listeners, and work that repeats. */
import type { Clock, Timer } from '../../client/clock.ts';

interface FeedOptions<T> {
  readonly clock: Clock;
  /** Builds the value that listeners get. */
  readonly make: () => T;
  /** least ms between two calls of the listeners */
  readonly intervalMs: number;
}

/**
 * Gives listeners the current state: immediately after a pause, otherwise at the end of the interval. Without listeners, nothing
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

  /** Does not wait for the end of the interval. */
  flush(): void {
    if (!this.#isStale) return;
    this.#pause?.cancel();
    this.#pause = undefined;
    this.changed();
  }
}

interface PollerOptions {
  readonly clock: Clock;
  readonly work: () => Promise<void>;
  /** Called after each time. */
  readonly pauseMs: () => number;
  readonly onError: (error: unknown) => void;
}

/** Repeats some work, one run at a time, with a pause that may change. */
export class Poller {
  readonly #options: PollerOptions;
  #timer: Timer | undefined;
  #isWorking = false;
  #isDue = false;
  #isOver = false;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Starts a run now, or right after the current one. */
  now(): void {
    if (this.#isOver) return;
    this.#isDue = true;
    if (!this.#isWorking) void this.#run();
  }

  /** For good; a run that has begun ends by itself. */
  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  async #run(): Promise<void> {
    const { clock, work, pauseMs, onError } = this.#options;
    this.#timer?.cancel();
    this.#isWorking = true;
    while (this.#isDue) {
      this.#isDue = false;
      try {
        await work();
      } catch (error) {
        onError(error);
      }
    }
    this.#isWorking = false;
    if (!this.#isOver) this.#timer = clock.setTimeout(() => this.now(), pauseMs());
  }
}
