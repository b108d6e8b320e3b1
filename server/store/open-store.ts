/** Opens the database a relay is configured with. */
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { DatabaseAddress } from './database-address.ts';
import type { Creation } from './schema.ts';
import { lockDatabase as lockSqlite, type RelayLock } from './sqlite/sqlite-files.ts';
import type { Store } from './store.ts';

/**
 * Opens a database and brings it up to date.
 *
 * @param creation whether a missing database is created
 * @param log told when the database begins to fail and when it works again
 * @throws Error with a text for the operator
 */
export async function openStore(address: DatabaseAddress, creation: Creation, log: Log): Promise<Store> {
  switch (address.kind) {
    case 'sqlite': {
      const { openSqlite } = await import('./sqlite/open-sqlite.ts');
      return await openSqlite(address.path, log, creation);
    }
    case 'postgres': {
      // Its driver is loaded only if it is used.
      const { openPostgres } = await import('./postgres/open-postgres.ts');
      return await openPostgres(address, log, creation);
    }
  }
}

/** The same for a running relay: it creates its database, and its event loop must not wait for a disk. */
export async function openServingStore(address: DatabaseAddress, clock: Clock, log: Log): Promise<Store> {
  if (address.kind !== 'sqlite') return await openStore(address, 'make', log);
  const { openThreaded } = await import('./thread/store-connection.ts');
  return await openThreaded(address.path, clock, log);
}

/* One relay for each database, unless relays know of each other. */

/**
 * Locks a database for one relay until released or until the process ends, however it ends. Commands that administer
 * accounts and keys need no lock.
 *
 * @param holders `cluster`: relays that know of each other may share it, which SQLite does not offer
 * @param log notified when the lock was lost
 * @throws Error with a text for the operator when another relay has it, or the database cannot be reached
 */
export async function lockDatabase(
  address: DatabaseAddress,
  holders: 'one' | 'cluster',
  log: Log,
): Promise<RelayLock> {
  switch (address.kind) {
    case 'sqlite':
      return lockSqlite(address.path);
    case 'postgres': {
      const { lockPostgres } = await import('./postgres/open-postgres.ts');
      return await lockPostgres(address, holders, log);
    }
  }
}
