/** Tunnels that have just ended: an answer of the store that was on its way must not bring them back. */
import type { Clock } from '../clock.ts';
import { RECENTLY_ENDED_MS } from '../limits.ts';

export class RecentlyEnded {
  readonly #clock: Clock;
  /** by id, monotonic ms until which they are remembered; oldest first */
  readonly #ended = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: string): void {
    const now = this.#clock.monotonic();
    for (const [oldest, until] of this.#ended) {
      if (now < until) break;
      this.#ended.delete(oldest);
    }
    this.#ended.delete(id);
    this.#ended.set(id, now + RECENTLY_ENDED_MS);
  }

  has(id: string): boolean {
    return this.#clock.monotonic() < (this.#ended.get(id) ?? -Infinity);
  }
}
