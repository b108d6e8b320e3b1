/** The embedded database of a relay that serves: on a thread of its own, so that no visitor waits for its disk. */
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import { type Operation, OPERATIONS } from '../operations.ts';
import type { Store } from '../store.ts';
import { StoreConnection } from './store-connection.ts';

/**
 * Opens a SQLite file on a thread of its own, creates it if missing, and brings it up to date.
 *
 * @param log told when the database begins to fail and when it works again
 * @throws Error with a text for the operator
 */
export async function openThreaded(path: string, clock: Clock, log: Log): Promise<Store> {
  const connection = await StoreConnection.open(path, clock, log);
  const methods = Object.keys(OPERATIONS).map((operation) => [
    operation,
    (...args: readonly unknown[]) => connection.call(operation as Operation, args),
  ]);
  return Object.fromEntries(methods) as Store;
}
