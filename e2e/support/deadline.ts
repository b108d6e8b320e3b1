import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for a promise, with a deadline.
 *
 * @param ms how long to wait, in ms
 * @param what named in the error, so that a hanging test says what it is waiting for
 * @throws Error when the time is up
 */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no ${what} within ${ms} ms`)), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** ms between two probes: they take processor time that what they wait for also needs. */
const PAUSE_MS = { first: 20, longest: 100 };

/**
 * Repeats a probe until it stops throwing. Tests use it instead of sleeping. After two seconds, it probes less often.
 *
 * @param ms how long to keep trying, in ms
 * @param probe asserts a state and may return what it saw
 * @throws the probe's last error
 */
export async function eventually<T>(ms: number, probe: () => T | Promise<T>): Promise<T> {
  const start = performance.now();
  for (;;) {
    const waited = performance.now() - start;
    try {
      return await probe();
    } catch (error) {
      if (performance.now() - start > ms) throw error;
    }
    await delay(Math.min(Math.max(waited / 100, PAUSE_MS.first), PAUSE_MS.longest));
  }
}

/** Runs an action and measures how many ms it took. */
export async function timed<T>(action: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const start = performance.now();
  const value = await action();
  return { value, ms: performance.now() - start };
}

/** ms of delay that a busy machine may cause. */
const LATE_MS = 8000;

/** Asserts that something happened within a time limit, with an allowance for a busy machine. */
export function assertWithin(ms: number, limitMs: number): void {
  assert.ok(ms < limitMs + LATE_MS, `after ${ms} ms`);
}

/**
 * Asserts that a time limit ended something: not before it elapsed, and soon after.
 *
 * @param ms measured from before the moment at which the limit starts
 */
export function assertAtLimit(ms: number, limitMs: number): void {
  // Shared timers are coarse.
  assert.ok(ms > limitMs * 0.95 - 100, `after ${ms} ms`);
  assertWithin(ms, limitMs);
}
