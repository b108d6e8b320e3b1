/** Keeps two relays that do not know of each other from serving on one PostgreSQL database. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type Clock, systemClock, type Timer } from '../../clock.ts';
import { POSTGRES_RELAY_LOCK_RETRY_MS, POSTGRES_RELAY_LOCK_WAIT_MS } from '../../limits.ts';
import type { Log } from '../../log.ts';
import { nameOfDatabase } from '../database-address.ts';
import type { RelayLock } from '../sqlite/sqlite-lock.ts';
import { CONNECTION, type PostgresAddress } from './open-postgres.ts';

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
      throw new Error(
        `another relay is using the database ${name}; stop that relay first, or use a different database with --database-url`,
      );
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
