/** One relay for each database, unless relays know of each other. */
import type { Log } from '../log.ts';
import type { DatabaseAddress } from './address.ts';
import { lockDatabase as lockSqlite, type RelayLock } from './sqlite/relay-lock.ts';

/**
 * Locks a database for one relay until released or until the process ends, however it ends. Commands that administer accounts
 * and keys need no lock.
 *
 * @param holders `cluster`: relays that know of each other may share it, which SQLite does not offer
 * @param log told when the lock was lost
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
      const { lockPostgres } = await import('./postgres/relay-lock.ts');
      return await lockPostgres(address, holders, log);
    }
  }
}
