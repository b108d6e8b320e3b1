import { setTimeout as delay } from 'node:timers/promises';
import { deferred } from './deferred.ts';

/**
 * Waits for a promise, but not for ever.
 *
 * @param ms how long to wait, in ms
 * @param what named in the error, so that a hanging test says what it hung on
 * @throws Error when the time is over
 */
export async function within<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = deferred<never>();
  const timer = setTimeout(() => reject(new Error(`no ${what} within ${ms} ms`)), ms);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Repeats a probe until it stops throwing; what tests use instead of sleeping.
 *
 * @param ms how long to go on, in ms
 * @param probe asserts a state and may return what it saw
 * @throws the probe's last error
 */
export async function eventually<T>(ms: number, probe: () => T | Promise<T>): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    try {
      return await probe();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await delay(20);
  }
}

/** Runs an action and tells how many ms it took. */
export async function timed<T>(action: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const start = performance.now();
  const value = await action();
  return { value, ms: performance.now() - start };
}
