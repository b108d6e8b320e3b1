/** The store on any database Kysely speaks to. */
import { type Kysely, sql } from 'kysely';
import type { AccountRecord, KeyRecord } from '../accounts/account.ts';
import * as accounts from './account-queries.ts';
import type { Database } from './schema.ts';
import {
  ConflictError,
  type KeyOwner,
  type OwnedTunnel,
  type Store,
  StoreError,
  type TrafficDelta,
  type TunnelRecord,
} from './store.ts';
import * as tunnels from './tunnel-queries.ts';

export class KyselyStore implements Store {
  readonly #db: Kysely<Database>;

  /** @param db database with the schema of this version */
  constructor(db: Kysely<Database>) {
    this.#db = db;
  }

  insertAccount(account: AccountRecord): Promise<void> {
    return failing(accounts.insertAccount(this.#db, account));
  }

  findAccount(name: string): Promise<AccountRecord | undefined> {
    return failing(accounts.findAccount(this.#db, name));
  }

  insertKey(key: KeyRecord): Promise<void> {
    return failing(accounts.insertKey(this.#db, key));
  }

  findKeyOwner(hash: string): Promise<KeyOwner | undefined> {
    return failing(accounts.findKeyOwner(this.#db, hash));
  }

  hasKeys(): Promise<boolean> {
    return failing(accounts.hasKeys(this.#db));
  }

  insertTunnel(tunnel: TunnelRecord): Promise<void> {
    return failing(tunnels.insertTunnel(this.#db, tunnel));
  }

  loadTunnels(): Promise<OwnedTunnel[]> {
    return failing(tunnels.loadTunnels(this.#db));
  }

  deleteTunnels(ids: readonly string[]): Promise<void> {
    return failing(tunnels.deleteTunnels(this.#db, ids));
  }

  raiseExpiry(id: string, expiresAt: number): Promise<void> {
    return failing(tunnels.raiseExpiry(this.#db, id, expiresAt));
  }

  addTraffic(deltas: readonly TrafficDelta[]): Promise<void> {
    return failing(tunnels.addTraffic(this.#db, deltas));
  }

  async ping(): Promise<void> {
    await failing(sql`select 1`.execute(this.#db));
  }

  close(): Promise<void> {
    return failing(this.#db.destroy());
  }
}

/** Turns whatever a driver throws into a {@link StoreError}, so that callers know one kind of failure. */
async function failing<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    throw error instanceof ConflictError ? error : new StoreError(error);
  }
}
