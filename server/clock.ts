/** Time, injected so that tests control it. */
import { performance } from 'node:perf_hooks';

/** A timer that has been set. */
export interface Timer {
  /** Stops the timer; harmless if it has fired or was cancelled. */
  cancel(): void;
}

/** Two readings of time, because the wall clock can be set and the monotonic one cannot. */
export interface Clock {
  /** @returns wall time in ms since the epoch: what is stored and shown */
  now(): number;
  /** @returns ms since some fixed point, never set back: what deadlines are measured with */
  monotonic(): number;
  /** Calls `fn` once after `ms`, at most {@link MAX_TIMER_MS}. A waiting timer does not keep the process alive. */
  setTimeout(fn: () => void, ms: number): Timer;
}

/** The longest a Node timer can wait (2^31 - 1 ms, 24.8 days); a longer one would fire at once. */
export const MAX_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms) => new SystemTimer(setTimeout(fn, ms).unref()),
};

/** A class, because each tunnel has a timer: a function that cancels it would take five times as much memory. */
class SystemTimer implements Timer {
  readonly #handle: NodeJS.Timeout;

  constructor(handle: NodeJS.Timeout) {
    this.#handle = handle;
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }
}
