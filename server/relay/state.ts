/** What the relay keeps beyond its own life: opened, locked, and with a first key. */
import { ensureKey } from '../accounts/bootstrap.ts';
import { systemClock as clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { observeStore } from '../observe/observed-store.ts';
import { lockDatabase } from '../store/lock-database.ts';
import { openServingStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { handOutFirstKey } from './first-key.ts';
import type { Operator } from './operator.ts';

export interface State {
  readonly store: Store;
  /** Releases the database for another relay. */
  close(): Promise<void>;
}

/** @throws Error with a text for the operator when another relay has the database, or it cannot be opened */
export async function openState(
  { database, cluster, bootstrapKey, dataDir }: Config,
  operator: Operator,
): Promise<State> {
  const { log } = operator;
  const lock = await lockDatabase(database, cluster === undefined ? 'one' : 'cluster', log);
  const store = observeStore(await openServingStore(database, clock, log), clock, log);
  for (const slug of await store.nameClashes()) log('name clash', { slug });
  await ensureKey(store, clock, bootstrapKey, (key) => handOutFirstKey(key, dataDir, operator));
  return {
    store,
    async close() {
      await store.close();
      lock.release();
    },
  };
}
