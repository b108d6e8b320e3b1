/** Opens a PostgreSQL database, which several relays may share, or which one relay locks. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Kysely,
  type PostgresCursor,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  type PostgresQueryResult,
  sql,
} from 'kysely';
import {
  type ClientConfig,
  type CustomTypesConfig,
  Pool,
  type PoolConfig,
  types as pgTypes,
  Client,
} from 'pg';
import { type Clock, systemClock, type Timer } from '../../clock.ts';
import { KEEP_ALIVE_MS } from '../../listeners.ts';
import type { Log } from '../../log.ts';
import { type DatabaseAddress, nameOfDatabase } from '../database-address.ts';
import { stored } from '../columns.ts';
import type { Database } from '../records.ts';
import { type Creation, decoded, prepare } from '../schema.ts';
import type { RelayLock } from '../sqlite/sqlite-files.ts';
import { DatabaseInUseError, UnansweredError } from '../store-errors.ts';
import { kyselyStore, type Store } from '../store.ts';

/**
 * Maximum number of open connections to PostgreSQL. A server accepts 100 by default, and statements are short.
 * @limit operator: Connections of a relay to PostgreSQL, plus one for its lock | operations wait
 */
const POSTGRES_CONNECTIONS_MAX = 10;
/** Maximum number of operations waiting for a connection to PostgreSQL; further ones are refused with 503. */
const POSTGRES_WAITING_MAX = 1000;
/** Maximum time to connect to PostgreSQL, including the wait for a connection that is in use. */
const POSTGRES_CONNECT_TIMEOUT_MS = 2000;
/** How long a statement waits for a row that another relay has locked in PostgreSQL. */
const POSTGRES_LOCK_TIMEOUT_MS = 2000;
/** How long a statement or an idle transaction may last before the PostgreSQL server cancels it. */
const POSTGRES_STATEMENT_TIMEOUT_MS = 4000;
/**
 * How long the relay waits for PostgreSQL to answer or cancel a statement before it considers the server
 * unreachable.
 */
const POSTGRES_QUERY_TIMEOUT_MS = 5000;
/** Pause before the next attempt to connect to PostgreSQL after a failure; doubled for each failure in a row. */
const POSTGRES_RETRY_BASE_MS = 100;
/**
 * Longest pause before the next attempt to connect to PostgreSQL: a server that is back is noticed within a
 * second.
 */
const POSTGRES_RETRY_CAP_MS = 1000;
/** How long a relay waits at startup for another relay on the same database that is about to exit. */
const POSTGRES_RELAY_LOCK_WAIT_MS = 2000;
/** Milliseconds between two attempts to get the lock that gives a relay exclusive use of a database. */
const POSTGRES_RELAY_LOCK_RETRY_MS = 500;
/** Maximum time to close the connections to PostgreSQL cleanly. */
const POSTGRES_CLOSE_TIMEOUT_MS = 2000;

/* What all connections to PostgreSQL have in common. */

export type PostgresAddress = Extract<DatabaseAddress, { kind: 'postgres' }>;

/** `bigint` columns hold what JavaScript counts exactly: times in ms, bytes, requests. */
const types: CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pgTypes.builtins.INT8 ? Number : pgTypes.getTypeParser(oid, format),
};

/** The settings of every connection; the parameters of the address win. */
const CONNECTION: ClientConfig = {
  types,
  application_name: 'culvert-relay',
  connectionTimeoutMillis: POSTGRES_CONNECT_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  query_timeout: POSTGRES_QUERY_TIMEOUT_MS,
  // What is acknowledged is on the disk, whatever the server's own default is.
  options: '-c synchronous_commit=on',
};

const serving: PoolConfig = {
  ...CONNECTION,
  max: POSTGRES_CONNECTIONS_MAX,
  allowExitOnIdle: true,
  statement_timeout: POSTGRES_STATEMENT_TIMEOUT_MS,
  lock_timeout: POSTGRES_LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: POSTGRES_STATEMENT_TIMEOUT_MS,
};

/** Another relay may be creating the tables. */
const preparing: PoolConfig = { ...CONNECTION, max: 1 };

/** Any number but {@link LOCK_ID}. */
const CREATION_LOCK_ID = 4_019_573_122;

/**
 * Opens a database, and creates its tables under an advisory lock: relays that start at the same time take turns.
 *
 * @param log told when the database begins to fail and when it works again
 * @param creation whether missing tables are created
 * @throws Error with a text for the operator
 */
export async function openPostgres(
  address: PostgresAddress,
  log: Log,
  creation: Creation = 'make',
): Promise<Store> {
  const database = nameOfDatabase(address);
  return kyselyStore(
    await openPostgresDatabase(address, creation, () => log('database created', { database })),
    log,
  );
}

/**
 * The same without the store around it.
 *
 * @param onCreated called if the database was empty
 */
export async function openPostgresDatabase(
  address: PostgresAddress,
  creation: Creation = 'make',
  onCreated: () => void = () => {},
): Promise<Kysely<Database>> {
  try {
    const db = connectTo(address, preparing);
    try {
      const isNew = await prepare(db, creation, (transaction) =>
        sql`select pg_advisory_xact_lock(${CREATION_LOCK_ID})`.execute(transaction),
      );
      if (isNew) onCreated();
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

/* Connections to a server that may go away: limited in number, and never reused after a failure. */

/** What is used of a pool of the `pg` library. */
interface RawPool {
  connect(): Promise<RawClient>;
  end(): Promise<void>;
  readonly waitingCount: number;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** What is used of its connections. */
interface RawClient {
  query(text: string, parameters: unknown[]): Promise<unknown>;
  /** @param destroy whether the connection is to be closed rather than used again */
  release(destroy: boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

export class GuardedPool implements PostgresPool {
  readonly #pool: RawPool;
  readonly #clock: Clock;
  /** attempts to connect that have failed one after the other */
  #failures = 0;
  #failure: unknown;
  /** monotonic ms before which there is no new attempt */
  #retryAt = -Infinity;

  constructor(pool: RawPool, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
    // An idle connection was lost. The next query will find out whether the server still answers.
    pool.on('error', ignore);
  }

  /**
   * @throws Error with the reason. For a while after a failure it throws immediately, so that a server that is down
   *   costs little and a server that recovers is not overrun
   */
  async connect(): Promise<PostgresPoolClient> {
    if (this.#clock.monotonic() < this.#retryAt) throw this.#failure;
    if (this.#pool.waitingCount >= POSTGRES_WAITING_MAX) {
      throw new Error(`more than ${POSTGRES_WAITING_MAX} operations wait for a connection`);
    }
    try {
      const client = await this.#pool.connect();
      this.#failures = 0;
      this.#retryAt = -Infinity;
      return new GuardedClient(client);
    } catch (error) {
      this.#noteFailure(error);
      throw error;
    }
  }

  /** Closes all connections; one whose server does not answer is left to the end of the process. */
  async end(): Promise<void> {
    const timeout = new Promise<void>((resolve) => {
      this.#clock.setTimeout(resolve, POSTGRES_CLOSE_TIMEOUT_MS);
    });
    await Promise.race([this.#pool.end(), timeout]);
  }

  #noteFailure(error: unknown): void {
    // Attempts at the same time have failed for the same reason.
    if (this.#clock.monotonic() < this.#retryAt) return;
    this.#failure = error;
    const wait = Math.min(POSTGRES_RETRY_CAP_MS, POSTGRES_RETRY_BASE_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#retryAt = this.#clock.monotonic() + wait;
  }
}

class GuardedClient implements PostgresPoolClient {
  readonly #client: RawClient;
  #lost = false;

  constructor(client: RawClient) {
    this.#client = client;
    // Fails everything that waits for an answer.
    client.on('error', this.#onError);
  }

  query<R>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>>;
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>;
  query<R>(
    query: string | PostgresCursor<R>,
    parameters: readonly unknown[] = [],
  ): Promise<PostgresQueryResult<R>> | PostgresCursor<R> {
    if (typeof query !== 'string') throw new Error('streaming is not supported');
    return this.#run<R>(query, parameters);
  }

  release(): void {
    this.#client.off('error', this.#onError);
    this.#client.release(this.#lost);
  }

  readonly #onError = (): void => {
    this.#lost = true;
  };

  async #run<R>(text: string, parameters: readonly unknown[]): Promise<PostgresQueryResult<R>> {
    // A rollback after a statement that was not answered would not be answered either; closing the connection rolls
    // back.
    if (this.#lost) throw new Error('the connection was lost');
    try {
      const result = (await this.#client.query(text, parameters.map(stored))) as PostgresQueryResult<R>;
      result.rows = decoded(result.rows as object[]);
      return result;
    } catch (error) {
      if (isAnswer(error)) throw error;
      this.#lost = true;
      throw new UnansweredError(error);
    }
  }
}

/** Whether the server refused a statement with a reason, rather than failing to answer. */
function isAnswer(error: unknown): boolean {
  // https://www.postgresql.org/docs/current/errcodes-appendix.html; errors of the system have longer codes
  return error instanceof Error && 'code' in error && /^[0-9A-Z]{5}$/.test(String(error.code));
}

function ignore(): void {}

/** `one`: a relay that knows of no other. `cluster`: relays that know of each other. */
type LockHolders = 'one' | 'cluster';

/** Any number will do; advisory locks belong to one database. */
const LOCK_ID = 4_019_573_121;

/**
 * Locks the database for one relay, or for the relays of one cluster. The lock belongs to a session: the server drops
 * it with the connection. A connection that is lost is made again, and the lock taken again, for as long as the relay
 * lives.
 *
 * @param holders who may hold it at the same time
 * @param log told when another relay was faster after a connection was lost
 * @throws Error with a text for the operator when another relay has it, or the server cannot be reached
 */
export async function lockPostgres(
  address: PostgresAddress,
  holders: LockHolders,
  log: Log,
): Promise<RelayLock> {
  const lock = new PostgresLock(address, holders, systemClock, log);
  const name = nameOfDatabase(address);
  const end = performance.now() + POSTGRES_RELAY_LOCK_WAIT_MS;
  // The relay before this one may be about to end.
  while (!(await tryLock(lock, name))) {
    if (performance.now() >= end) {
      lock.release();
      throw new DatabaseInUseError(name, '--database-url');
    }
    await sleep(POSTGRES_RELAY_LOCK_RETRY_MS);
  }
  return lock;
}

async function tryLock(lock: PostgresLock, name: string): Promise<boolean> {
  try {
    return await lock.take();
  } catch (error) {
    lock.release();
    throw new Error(`cannot lock the database ${name}`, { cause: error });
  }
}

class PostgresLock implements RelayLock {
  readonly #address: PostgresAddress;
  readonly #lock: string;
  readonly #clock: Clock;
  readonly #log: Log;
  #client: Client | undefined;
  #timer: Timer | undefined;
  #released = false;

  constructor(address: PostgresAddress, holders: LockHolders, clock: Clock, log: Log) {
    this.#address = address;
    this.#lock = holders === 'one' ? 'pg_try_advisory_lock' : 'pg_try_advisory_lock_shared';
    this.#clock = clock;
    this.#log = log;
  }

  /** @returns whether this relay holds the lock now */
  async take(): Promise<boolean> {
    const client = await this.#connected();
    const { rows } = await client.query<{ taken: boolean }>(`select ${this.#lock}($1) as taken`, [LOCK_ID]);
    return rows[0]?.taken === true;
  }

  release(): void {
    this.#released = true;
    this.#timer?.cancel();
    this.#client?.end().catch(() => {});
  }

  async #connected(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const client = new Client({ ...CONNECTION, connectionString: this.#address.url });
    // An error is followed by the end.
    client.on('error', () => {});
    await client.connect();
    this.#client = client;
    client.once('end', () => {
      this.#client = undefined;
      if (!this.#released) this.#takeAgain(false);
    });
    return client;
  }

  /** @param told whether the operator has been notified that another relay has the lock */
  #takeAgain(told: boolean): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimeout(() => void this.#tryAgain(told), POSTGRES_RELAY_LOCK_RETRY_MS);
  }

  async #tryAgain(told: boolean): Promise<void> {
    const taken = await this.take().catch(() => 'unreachable' as const);
    if (taken === true || this.#released) return;
    if (taken === false && !told) this.#log('database shared');
    this.#takeAgain(told || taken === false);
  }
}
