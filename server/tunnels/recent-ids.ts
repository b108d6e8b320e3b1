/** Tunnels that have just changed: an answer of the store that was on its way must not bring back what was before. */
import type { Clock } from '../clock.ts';
import { RECENT_MS } from '../limits.ts';

export class RecentIds {
  readonly #clock: Clock;
  /** by id, monotonic ms until which they are remembered; oldest first */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: string): void {
    const now = this.#clock.monotonic();
    for (const [oldest, until] of this.#until) {
      if (now < until) break;
      this.#until.delete(oldest);
    }
    this.#until.delete(id);
    this.#until.set(id, now + RECENT_MS);
  }

  has(id: string): boolean {
    return this.#clock.monotonic() < (this.#until.get(id) ?? -Infinity);
  }
}
