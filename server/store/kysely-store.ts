/** The store on any database Kysely speaks to. */
import { type Kysely, sql } from 'kysely';
import type { Plan } from '../../shared/tunnel.ts';
import { describeError, type Log } from '../log.ts';
import * as accounts from './account-queries.ts';
import * as keys from './key-queries.ts';
import * as namespace from './namespace.ts';
import type { Database } from './schema.ts';
import type { AccountRecord, KeyListing, KeyOwner, KeyRecord, OwnedTunnel, TunnelRecord } from './records.ts';
import {
  ConflictError,
  FullError,
  type InsertRules,
  type Extension,
  type Overdue,
  type ReleasedTunnel,
  type Store,
  StoreError,
  type TrafficDelta,
} from './store.ts';
import { relaySecret } from './secret-queries.ts';
import * as tunnels from './tunnel-queries.ts';

const UNLIMITED: InsertRules = { maxTunnels: null, nameHold: 0 };

export class KyselyStore implements Store {
  readonly #db: Kysely<Database>;
  readonly #log: Log;
  /** What has failed last and not worked since. */
  #failing: 'read' | 'write' | undefined;

  /** @param db database with the schema of this version */
  constructor(db: Kysely<Database>, log: Log) {
    this.#db = db;
    this.#log = log;
  }

  insertAccount(account: AccountRecord): Promise<void> {
    return this.#watch(accounts.insertAccount(this.#db, account));
  }

  findAccount(name: string): Promise<AccountRecord | undefined> {
    return this.#watch(accounts.findAccount(this.#db, name), 'read');
  }

  findAccounts(ids: readonly string[]): Promise<AccountRecord[]> {
    return this.#watch(accounts.findAccounts(this.#db, ids), 'read');
  }

  listAccounts(): Promise<AccountRecord[]> {
    return this.#watch(accounts.listAccounts(this.#db), 'read');
  }

  setPlan(name: string, plan: Plan): Promise<AccountRecord | undefined> {
    return this.#watch(accounts.setPlan(this.#db, name, plan));
  }

  removeAccount(name: string): Promise<AccountRecord | undefined> {
    return this.#watch(accounts.removeAccount(this.#db, name));
  }

  insertKey(key: KeyRecord): Promise<void> {
    return this.#watch(keys.insertKey(this.#db, key));
  }

  findKeyOwner(hash: string): Promise<KeyOwner | undefined> {
    return this.#watch(keys.findKeyOwner(this.#db, hash), 'read');
  }

  hasKeys(): Promise<boolean> {
    return this.#watch(keys.hasKeys(this.#db), 'read');
  }

  listKeys(account?: string): Promise<KeyListing[]> {
    return this.#watch(keys.listKeys(this.#db, account), 'read');
  }

  findValidKeys(ids: readonly string[]): Promise<string[]> {
    return this.#watch(keys.findValidKeys(this.#db, ids), 'read');
  }

  revokeKey(id: string, at: number): Promise<KeyListing | undefined> {
    return this.#watch(keys.revokeKey(this.#db, id, at));
  }

  accessRevision(): Promise<number> {
    return this.#watch(accounts.accessRevision(this.#db), 'read');
  }

  insertTunnel(tunnel: TunnelRecord, rules: InsertRules = UNLIMITED): Promise<void> {
    return this.#watch(tunnels.insertTunnel(this.#db, tunnel, rules));
  }

  loadTunnels(): Promise<OwnedTunnel[]> {
    return this.#watch(tunnels.loadTunnels(this.#db), 'read');
  }

  async findTunnel(id: string): Promise<OwnedTunnel | undefined> {
    return (await this.findTunnels([id]))[0];
  }

  findTunnelsBySlug(slugs: readonly string[]): Promise<OwnedTunnel[]> {
    return this.#watch(tunnels.findTunnelsBySlug(this.#db, slugs), 'read');
  }

  findTunnels(ids: readonly string[]): Promise<OwnedTunnel[]> {
    return this.#watch(tunnels.findTunnels(this.#db, ids), 'read');
  }

  tunnelsOf(accountId: string): Promise<OwnedTunnel[]> {
    return this.#watch(tunnels.tunnelsOf(this.#db, accountId), 'read');
  }

  releaseTunnels(released: readonly ReleasedTunnel[], now: number): Promise<ReadonlySet<string>> {
    return this.#watch(tunnels.releaseTunnels(this.#db, released, now));
  }

  releaseOverdue(overdue: Overdue): Promise<number> {
    return this.#watch(tunnels.releaseOverdue(this.#db, overdue));
  }

  nameHolder(slug: string, now: number): Promise<string | undefined> {
    return this.#watch(tunnels.nameHolder(this.#db, slug, now), 'read');
  }

  nameClashes(): Promise<string[]> {
    return this.#watch(namespace.nameClashes(this.#db), 'read');
  }

  raiseExpiry(id: string, expiresAt: number): Promise<void> {
    return this.#watch(tunnels.raiseExpiry(this.#db, id, expiresAt));
  }

  extendExpiry(id: string, extension: Extension): Promise<number | undefined> {
    return this.#watch(tunnels.extendExpiry(this.#db, id, extension));
  }

  addTraffic(deltas: readonly TrafficDelta[]): Promise<void> {
    return this.#watch(tunnels.addTraffic(this.#db, deltas));
  }

  relaySecret(name: string, now: number): Promise<string> {
    return this.#watch(relaySecret(this.#db, name, now));
  }

  async ping(): Promise<void> {
    await this.#watch(sql`select 1 from accounts limit 1`.execute(this.#db), 'read');
  }

  close(): Promise<void> {
    return this.#watch(this.#db.destroy());
  }

  /**
   * Turns whatever a driver throws into a {@link StoreError}, and tells the operator when failing begins and ends. Where
   * writes fail, as on a full disk, reads that work prove nothing.
   */
  async #watch<T>(result: Promise<T>, kind: 'read' | 'write' = 'write'): Promise<T> {
    try {
      const value = await result;
      if (this.#failing !== undefined && (kind === 'write' || this.#failing === 'read')) {
        this.#log('store recovered');
        this.#failing = undefined;
      }
      return value;
    } catch (error) {
      if (error instanceof ConflictError || error instanceof FullError) throw error;
      if (this.#failing === undefined) this.#log('store failing', { error: describeError(error) });
      if (this.#failing !== 'write') this.#failing = kind;
      throw new StoreError(error);
    }
  }
}
