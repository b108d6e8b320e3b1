/** Time, injected so that tests control it. */
import { LongTimer } from '../shared/timer.ts';

/** A timer that has been set. */
export interface Timer {
  /** Stops the timer; harmless if it has fired or was cancelled. */
  cancel(): void;
}

/** Two readings of time, because the wall clock can be set and the monotonic one cannot. */
export interface Clock {
  /** @returns wall time in ms since the epoch: for storage and display */
  now(): number;
  /** @returns ms since some fixed point, never set back: for measuring deadlines */
  monotonic(): number;
  /** Calls `fn` once after `ms`, with no upper limit. A pending timer does not keep the process alive. */
  setTimeout(fn: () => void, ms: number): Timer;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms) => new LongTimer(fn, ms, false),
};
