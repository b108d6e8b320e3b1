import type { Clock, Timer } from '../engine/clock.ts';

export interface PollerOptions {
  readonly clock: Clock;
  readonly work: () => Promise<void>;
  /** Called after each time. */
  readonly pauseMs: () => number;
  readonly onError: (error: unknown) => void;
}

/** Does something again and again, one at a time, with a pause that may change. */
export class Poller {
  readonly #options: PollerOptions;
  #timer: Timer | undefined;
  #isWorking = false;
  #isDue = false;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  /** Does it now, or once more right after the one under way. */
  now(): void {
    this.#isDue = true;
    if (!this.#isWorking) void this.#run();
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
    this.#timer = clock.setTimeout(() => this.now(), pauseMs());
  }
}
