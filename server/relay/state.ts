/** What the relay keeps beyond its own life: opened, locked, and with a first key. */
import { ensureKey } from '../accounts/bootstrap.ts';
import { systemClock as clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { observeStore } from '../observe/observed-store.ts';
import { lockDatabase } from '../store/lock-database.ts';
import type { RelayLock } from '../store/sqlite/relay-lock.ts';
import { openServingStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { handOutFirstKey } from './first-key.ts';
import type { Operator } from './operator.ts';

export interface State {
  readonly store: Store;
  /** whether there was no key before, so that one was made */
  readonly isNew: boolean;
  /**
   * Takes the database for this relay alone.
   *
   * @throws Error with a text for the operator when another relay has it
   */
  lock(): Promise<void>;
  /** Lets another relay in; the store stays open. */
  unlock(): void;
  /** Releases the database for another relay. */
  close(): Promise<void>;
}

/**
 * Opens the store.
 *
 * @param isShared whether another relay still has the database; otherwise it is locked first
 * @throws Error with a text for the operator when another relay has the database, or it cannot be opened
 */
export async function openState(
  { database, cluster, bootstrapKey, dataDir }: Config,
  operator: Operator,
  isShared: boolean,
): Promise<State> {
  const { log } = operator;
  const take = (): Promise<RelayLock> =>
    lockDatabase(database, cluster === undefined ? 'one' : 'cluster', log);
  let lock = isShared ? undefined : await take();
  const store = observeStore(await openServingStore(database, clock, log), clock, log);
  for (const slug of await store.nameClashes()) log('name clash', { slug });
  let isNew = false;
  await ensureKey(store, clock, bootstrapKey, (key) => {
    handOutFirstKey(key, dataDir, operator);
    isNew = true;
  });
  return {
    store,
    isNew,
    async lock() {
      lock = await take();
    },
    unlock() {
      lock?.release();
      lock = undefined;
    },
    async close() {
      await store.close();
      lock?.release();
    },
  };
}
