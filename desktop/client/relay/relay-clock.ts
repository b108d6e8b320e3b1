import type { Clock } from '../clock.ts';

/** A relay's clock, as its responses show it: the times of tunnels are the relay's, and this machine's clock may be wrong. */
export class RelayClock {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>;
  /** ms that the relay's clock is ahead of each clock of this machine */
  #ahead = { now: 0, monotonic: -Infinity };

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock;
  }

  /** ms that the relay's clock is ahead of this machine's; 0 as long as it is unknown. */
  get aheadMs(): number {
    return this.#ahead.now;
  }

  /** @param date the `Date` field of a response that has just arrived */
  set(date: string | undefined): void {
    const at = Date.parse(date ?? '');
    if (Number.isNaN(at)) return;
    this.#ahead = { now: at - this.#clock.now(), monotonic: at - this.#clock.monotonic() };
  }

  /** ms since the epoch. If in doubt, later rather than earlier: what is due by then asks the relay before it acts. */
  now(): number {
    // The one clock can be set, and the other stops on some systems while the machine sleeps.
    return Math.max(this.#clock.now() + this.#ahead.now, this.#clock.monotonic() + this.#ahead.monotonic);
  }
}
