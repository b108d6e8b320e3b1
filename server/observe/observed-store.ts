/** A store whose every operation is timed, counted and, if slow, reported. */
import type { Clock } from '../clock.ts';
import { LOG_REPEAT_MS, STORE_SLOW_MS } from '../limits.ts';
import type { Log } from '../log.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { countStoreOperation } from './counters.ts';

/** @returns the store, to be used in place of the given one */
export function observeStore(store: Store, clock: Clock, log: Log): Store {
  let lastReport = -Infinity;

  async function time(operation: string, run: () => Promise<unknown>): Promise<unknown> {
    const start = clock.monotonic();
    let failed = false;
    try {
      return await run();
    } catch (error) {
      failed = error instanceof StoreError;
      throw error;
    } finally {
      const now = clock.monotonic();
      countStoreOperation(operation, (now - start) / 1000, failed);
      if (now - start >= STORE_SLOW_MS && now - lastReport >= LOG_REPEAT_MS) {
        lastReport = now;
        log('store slow', { operation, ms: Math.round(now - start) });
      }
    }
  }

  // A proxy, because every method is treated alike, including those added later.
  return new Proxy(store, {
    get(target, property: keyof Store) {
      const method: unknown = target[property];
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => time(property, () => method.apply(target, args) as Promise<unknown>);
    },
  });
}
