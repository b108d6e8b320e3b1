import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for a promise, but not for ever.
 *
 * @param ms how long to wait, in ms
 * @param what named in the error, so that a hanging test says what it is waiting for
 * @throws Error when the time is up
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

/** ms by which a machine that is busy with other things may be late. */
const LATE_MS = 8000;

/** Asserts that something came within a time, on a machine that may be busy with other things. */
export function assertWithin(ms: number, limitMs: number): void {
  assert.ok(ms < limitMs + LATE_MS, `after ${ms} ms`);
}

/**
 * Asserts that a time limit ended something: not before it was up, and soon after.
 *
 * @param ms measured from before the moment the limit counts from
 */
export function assertAtLimit(ms: number, limitMs: number): void {
  // Shared timers are coarse.
  assert.ok(ms > limitMs * 0.95 - 100, `after ${ms} ms`);
  assertWithin(ms, limitMs);
}

/** A promise and the functions that settle it, for events that callbacks report. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

/** Makes a promise that others settle. */
export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
