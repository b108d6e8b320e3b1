/**
 * Compares the tunnels of this relay with the store, in the background: in batches with pauses between them, so that a
 * hundred thousand tunnels become neither one huge query nor a storm.
 */
import type { Clock } from '../clock.ts';
import { FOLLOW_BATCH, REVIEW_PAUSE_MS, REVIEW_RETRY_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import { batches } from '../batches.ts';
import type { LiveTunnel } from './live-tunnel.ts';

export class StoreReview {
  readonly #clock: Clock;
  readonly #all: () => Iterable<LiveTunnel>;
  readonly #compare: (tunnels: readonly LiveTunnel[]) => Promise<void>;
  #wanted = false;
  #running = false;
  #stopped = false;

  /**
   * @param all the tunnels there are
   * @param compare brings some of them in line with the store; rejects with StoreError
   */
  constructor(
    clock: Clock,
    all: () => Iterable<LiveTunnel>,
    compare: (tunnels: readonly LiveTunnel[]) => Promise<void>,
  ) {
    this.#clock = clock;
    this.#all = all;
    this.#compare = compare;
  }

  /** Everything that has happened until now will be noticed: by a review that begins now, or after the one under way. */
  request(): void {
    this.#wanted = true;
    if (!this.#running) void this.#run();
  }

  /** Stops for good. A batch that is under way is the last. */
  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      if (await this.#review()) continue;
      this.#wanted = true;
      await this.#pause(REVIEW_RETRY_MS);
    }
    this.#running = false;
  }

  /** @returns false if the store failed */
  async #review(): Promise<boolean> {
    try {
      let pause = 0;
      for (const batch of batches([...this.#all()], FOLLOW_BATCH)) {
        if (pause > 0) await this.#pause(pause);
        if (this.#stopped) break;
        pause = REVIEW_PAUSE_MS;
        await this.#compare(batch);
      }
      return true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return false;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimeout(resolve, ms);
    });
  }
}
