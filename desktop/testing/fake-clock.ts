import type { Clock, Timer } from '../client/clock.ts';

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now = 0;
  /** how much more the wall clock shows */
  #ahead = 0;
  /** how much time the timers have missed */
  #asleep = 0;
  readonly #timers = new Set<{ readonly at: number; readonly callback: () => void }>();

  now(): number {
    return this.#now + this.#asleep + this.#ahead;
  }

  monotonic(): number {
    return this.#now + this.#asleep;
  }

  setTimeout(callback: () => void, ms: number): Timer {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  /** ms until each waiting timer, soonest first. */
  get waiting(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  /** Moves time on and fires what falls due, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#timers.delete(due);
      this.#now = Math.max(this.#now, due.at);
      due.callback();
    }
    this.#now = end;
  }

  /**
   * Suspends the machine; no timer fires during that time.
   *
   * @param standsStill whether the monotonic clock does not count the time asleep
   */
  sleep(ms: number, standsStill: boolean): void {
    if (standsStill) this.#ahead += ms;
    else this.#asleep += ms;
  }
}
