/** A clock that only a test advances. */
import type { Clock, Timer } from '../clock.ts';

interface Waiting {
  readonly at: number;
  readonly fn: () => void;
}

export class FakeClock implements Clock {
  #wall: number;
  #monotonic = 1000;
  readonly #waiting = new Set<Waiting>();

  /** @param wall initial wall time, ms since the epoch */
  constructor(wall = Date.UTC(2026, 0, 1)) {
    this.#wall = wall;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimeout(fn: () => void, ms: number): Timer {
    const entry = { at: this.#monotonic + Math.max(ms, 1), fn };
    this.#waiting.add(entry);
    return { cancel: () => void this.#waiting.delete(entry) };
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Lets `ms` pass and fires what is due, in order, each at its own moment. */
  advance(ms: number): void {
    const end = this.#monotonic + ms;
    for (let next = this.#nextBefore(end); next !== undefined; next = this.#nextBefore(end)) {
      this.#waiting.delete(next);
      this.#moveTo(next.at);
      next.fn();
    }
    this.#moveTo(end);
  }

  /** Sets the wall clock forward (or back) by `ms`; no time passes. */
  jump(ms: number): void {
    this.#wall += ms;
  }

  #nextBefore(end: number): Waiting | undefined {
    let next: Waiting | undefined;
    for (const entry of this.#waiting) {
      if (entry.at <= end && (next === undefined || entry.at < next.at)) next = entry;
    }
    return next;
  }

  #moveTo(monotonic: number): void {
    this.#wall += monotonic - this.#monotonic;
    this.#monotonic = monotonic;
  }
}

/** Freezes `performance.now` until a test advances it, for code without an injected clock. */

const now = performance.now.bind(performance);

export class HeldTime {
  #now = 0;

  constructor() {
    performance.now = () => this.#now;
  }

  pass(ms: number): void {
    this.#now += ms;
  }

  /** Restores the system's. */
  reset(): void {
    performance.now = now;
  }
}
