/** Fixtures for the relay's state. */
import { randomUUID } from 'node:crypto';
import type { Caller } from '../accounts/team.ts';
import type { Log } from '../log.ts';
import type {
  AccountRecord,
  DomainRecord,
  KeyRecord,
  LinkRecord,
  OwnedTunnel,
  StoredAccess,
  TunnelRecord,
} from '../store/records.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { storedTunnels } from '../tunnels/standalone-tunnels.ts';

export function anAccount(fields: Partial<AccountRecord> = {}): AccountRecord {
  const id = randomUUID();
  return {
    id,
    name: `account ${id}`,
    plan: 'dev',
    subdomain: null,
    createdAt: 1000,
    suspended: null,
    ...fields,
  };
}

/** A key record that matches no real key. */
export function aKeyRecord(fields: Partial<KeyRecord> = {}): KeyRecord {
  const id = randomUUID();
  return {
    id,
    accountId: '',
    hash: id,
    hint: 'cvt_hint',
    createdAt: 1000,
    label: '',
    expiresAt: null,
    scope: { kind: 'all' },
    ...fields,
  };
}

/** The key of a test's requests. */
export const CALLER: Caller = { keyId: 'key', label: '', scope: { kind: 'all' } };

/** An access policy without any requirements except the given fields. */
export function anAccess(fields: Partial<StoredAccess> = {}): StoredAccess {
  const nothing = { allow: [], basic: [], password: null, links: false, knock: false, tokens: [] };
  return { version: randomUUID(), ...nothing, ...fields };
}

/** No access policy. */
export const PUBLIC = { access: null, kept: [] };

/** No approval requests. */
const NOBODY = { knocks: null, knocksRevision: 0, suspended: null };

export function aTunnel(accountId: string, fields: Partial<TunnelRecord> = {}): TunnelRecord {
  const id = randomUUID();
  const counters = { bytesIn: 0, bytesOut: 0, requests: 0 };
  const visitors = { access: null, accessRevision: 0, revokedLinks: [], tokenUses: [], ...NOBODY };
  const life = { ttl: 3600, idle: false, createdAt: 1000, expiresAt: 3_601_000, termsRevision: 0 };
  return {
    id,
    slug: `slug-${id}`,
    name: '',
    accountId,
    localPort: 3000,
    ...life,
    ...counters,
    ...visitors,
    domain: null,
    createdKey: null,
    createdBy: null,
    byAgent: false,
    wildcard: false,
    ...fields,
  };
}

export function aLink(tunnelId: string, fields: Partial<LinkRecord> = {}): LinkRecord {
  const id = randomUUID().replaceAll('-', '').slice(0, 16);
  return {
    id,
    tunnelId,
    note: 'for the review',
    path: null,
    createdAt: 1000,
    expiresAt: 3_601_000,
    ...fields,
  };
}

/** A claim to a domain that is not verified. */
export function aDomain(accountId: string, domain: string, fields: Partial<DomainRecord> = {}): DomainRecord {
  const times = { createdAt: 1000, verifiedAt: null, failingSince: null };
  return { id: randomUUID(), accountId, domain, proof: `proof of ${domain}`, ...times, ...fields };
}

/** All tunnels of a store, oldest first. */
export async function allTunnels(store: Pick<Store, 'tunnelIds' | 'findTunnels'>): Promise<OwnedTunnel[]> {
  const all: OwnedTunnel[] = [];
  for await (const owned of storedTunnels(store)) all.push(owned);
  return all;
}

/** A store that can be made to fail. */
export interface TestStore {
  readonly store: Store;
  /** While true, everything except `close` rejects with {@link StoreError}. */
  down: boolean;
}

/** @returns a store with the given accounts in it */
export async function aStore(...accounts: readonly AccountRecord[]): Promise<TestStore> {
  const real = await openTestStore(() => {});
  for (const account of accounts) await real.insertAccount(account);
  const test = { down: false, store: real };
  test.store = new Proxy(real, {
    get(target, property: keyof Store) {
      return test.down && property !== 'close' ? failAsDatabase : target[property].bind(target);
    },
  });
  return test;
}

function failAsDatabase(): Promise<never> {
  return Promise.reject(new StoreError(new Error('the disk is on fire')));
}

/* The store for tests that run on every database: in memory, or on the PostgreSQL server of `npm test -- cluster`. */

const POSTGRES_URL = process.env['TEST_POSTGRES_URL'];

/** Disconnects everybody else, and empties all tables. */
const CLEAR = `
  select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();
  truncate audit, invitations, closed_tunnels, accounts, api_keys, tunnels, tunnel_links, released_names, endings, relay_secrets, relay_info, domains,
    acme_accounts, certificates, acme_orders, acme_attempts, acme_challenges;
  update access_revision set revision = 0;`;

/** databases of the current test */
const used: string[] = [];
/** empty databases of earlier tests: creating one takes longer than most tests */
const free: string[] = [];

if (POSTGRES_URL !== undefined) {
  afterEach(async () => {
    for (const url of used.splice(0)) {
      await run(url, CLEAR);
      free.push(url);
    }
  });
}

/** @returns an empty store; on PostgreSQL it is gone after the test */
export async function openTestStore(log: Log): Promise<Store> {
  if (POSTGRES_URL === undefined) return await openSqlite(':memory:', log);
  const { openPostgres } = await import('../store/postgres/open-postgres.ts');
  const url = free.pop() ?? (await newDatabase(POSTGRES_URL));
  used.push(url);
  return await openPostgres({ kind: 'postgres', url }, log);
}

async function newDatabase(server: string): Promise<string> {
  const name = `unit_${randomUUID().replaceAll('-', '')}`;
  await run(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

async function run(url: string, sql: string): Promise<void> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
