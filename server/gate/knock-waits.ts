/** Responses that are held back until somebody has answered a knock. */
import type { Clock } from '../clock.ts';
import { KNOCK_HOLDS_MAX } from '../limits.ts';

/**
 * Why a response is held back no longer: something about the knocks of the tunnel has `changed`, it is `late`, the tunnel is
 * `over`, or none is held back because too many are already, or because the relay is shutting down (`none`).
 */
export type WaitEnd = 'changed' | 'late' | 'over' | 'none';

interface Wait {
  readonly knockId: string;
  readonly end: (why: WaitEnd) => void;
}

export class KnockWaits {
  readonly #clock: Clock;
  /** by the tunnel's id */
  readonly #waits = new Map<string, Set<Wait>>();
  #isReleased = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many are held back. */
  get size(): number {
    let size = 0;
    for (const waits of this.#waits.values()) size += waits.size;
    return size;
  }

  /** @param ms the longest */
  wait(tunnelId: string, knockId: string, ms: number): Promise<WaitEnd> {
    const waits = this.#waits.get(tunnelId) ?? new Set();
    const same = [...waits].filter((wait) => wait.knockId === knockId);
    if (this.#isReleased || same.length >= KNOCK_HOLDS_MAX) return Promise.resolve('none');
    return new Promise((resolve) => {
      const timer = this.#clock.setTimeout(() => wait.end('late'), ms);
      const wait: Wait = {
        knockId,
        end: (why) => {
          timer.cancel();
          waits.delete(wait);
          if (waits.size === 0) this.#waits.delete(tunnelId);
          resolve(why);
        },
      };
      waits.add(wait);
      this.#waits.set(tunnelId, waits);
    });
  }

  /** Something about the knocks of a tunnel has changed, or it is over. */
  wake(tunnelId: string, why: 'changed' | 'over'): void {
    for (const wait of this.#waits.get(tunnelId) ?? []) wait.end(why);
  }

  /** The relay is shutting down: nothing is held back from now on. */
  release(): void {
    this.#isReleased = true;
    for (const waits of this.#waits.values()) for (const wait of waits) wait.end('none');
  }
}
