/** Opens a PostgreSQL database, which several relays may share. */
import { Kysely, PostgresDialect } from 'kysely';
import { Pool, type PoolConfig } from 'pg';
import { systemClock } from '../../clock.ts';
import {
  POSTGRES_CONNECTIONS_MAX,
  POSTGRES_LOCK_TIMEOUT_MS,
  POSTGRES_MIGRATION_TIMEOUT_MS,
  POSTGRES_STATEMENT_TIMEOUT_MS,
} from '../../limits.ts';
import type { Log } from '../../log.ts';
import { nameOfDatabase } from '../address.ts';
import { kyselyStore } from '../kysely-store.ts';
import { type Creation, migrate } from '../migrate.ts';
import { MIGRATIONS } from '../migrations.ts';
import type { Database } from '../schema.ts';
import type { Store } from '../store.ts';
import { CONNECTION, type PostgresAddress } from './connection.ts';
import { GuardedPool } from './guarded-pool.ts';

const serving: PoolConfig = {
  ...CONNECTION,
  max: POSTGRES_CONNECTIONS_MAX,
  allowExitOnIdle: true,
  statement_timeout: POSTGRES_STATEMENT_TIMEOUT_MS,
  lock_timeout: POSTGRES_LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: POSTGRES_STATEMENT_TIMEOUT_MS,
};

/** Nothing is served yet, so a change of a large table may take its time. */
const migrating: PoolConfig = { ...CONNECTION, max: 1, query_timeout: POSTGRES_MIGRATION_TIMEOUT_MS };

/**
 * Opens a database and brings it up to date, under an advisory lock: relays that start at once take turns.
 *
 * @param log told when the database begins to fail and when it works again
 * @param creation whether its tables are made where there are none
 * @throws Error with a text for the operator
 */
export async function openPostgres(
  address: PostgresAddress,
  log: Log,
  creation: Creation = 'make',
): Promise<Store> {
  return kyselyStore(await openPostgresDatabase(address, creation), log);
}

/** The same without the store around it. */
export async function openPostgresDatabase(
  address: PostgresAddress,
  creation: Creation = 'make',
): Promise<Kysely<Database>> {
  try {
    const db = connectTo(address, migrating);
    try {
      await migrate(db, MIGRATIONS, creation);
    } finally {
      await db.destroy();
    }
    return connectTo(address, serving);
  } catch (error) {
    throw new Error(`cannot open the database ${nameOfDatabase(address)}`, { cause: error });
  }
}

function connectTo({ url }: PostgresAddress, settings: PoolConfig): Kysely<Database> {
  const pool = new GuardedPool(new Pool({ ...settings, connectionString: url }), systemClock);
  return new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
}
