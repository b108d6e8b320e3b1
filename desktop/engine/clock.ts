import { LongTimer } from '../../shared/timer.ts';

/** Time as the engine sees it, so that tests can move it. */
export interface Clock {
  /** Wall-clock time in ms since the epoch, for dates. It jumps when it is set. */
  now(): number;
  /** ms since some moment, for durations. It never jumps, and on some systems stands still while the machine sleeps. */
  monotonic(): number;
  /** Calls `callback` once after `ms` ms, however many, unless cancelled. A waiting timer keeps the process alive. */
  setTimeout(callback: () => void, ms: number): Timer;
}

export interface Timer {
  /** Has no effect after the timer fired or was cancelled. */
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (callback, ms) => new LongTimer(callback, ms, true),
};
