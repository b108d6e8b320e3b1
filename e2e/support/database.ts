/** Writes rows into a relay's database, where creating them through the programs would take too long. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue } from 'node:sqlite';
import { Client } from 'pg';
import type { TestAccount } from './accounts.ts';
import { newApiKey, type Relay } from './programs.ts';
import type { Scope } from './scope.ts';

const HOUR_MS = 3_600_000;

type Row = Record<string, SQLOutputValue>;

export function databasePath(relay: Relay): string {
  return join(relay.dataDirectory, 'culvert.db');
}

/** @returns a connection that waits while the relay writes */
export function openWaiting(path: string): DatabaseSync {
  return new DatabaseSync(path, { timeout: 10_000 });
}

/**
 * Adds accounts like an existing one, each with a key.
 *
 * @returns the keys
 */
export function addAccounts(relay: Relay, like: { readonly id: string }, count: number): string[] {
  return inTransaction(relay, (database) => {
    const account = one(database, 'accounts', 'id', like.id);
    const key = one(database, 'api_keys', 'accountId', like.id);
    return Array.from({ length: count }, () => {
      const id = randomUUID();
      insert(database, 'accounts', { ...account, id, name: `many-${id}` });
      const text = newApiKey();
      const hash = createHash('sha256').update(text).digest('hex');
      insert(database, 'api_keys', { ...key, id: randomUUID(), accountId: id, hash });
      return text;
    });
  });
}

/**
 * Adds tunnels like an existing one.
 *
 * @returns their ids
 */
export function addTunnels(relay: Relay, like: { readonly id: string }, count: number): string[] {
  return inTransaction(relay, (database) => {
    const tunnel = one(database, 'tunnels', 'id', like.id);
    return Array.from({ length: count }, () => {
      const id = randomUUID();
      insert(database, 'tunnels', { ...tunnel, id, slug: `many-${randomBytes(8).toString('hex')}` });
      return id;
    });
  });
}

/** Adds an ACME account, and certificates that need not be renewed today; all of them have the same chain and key. */
export function addCertificates(relay: Relay, names: readonly string[], chain: string, key: string): void {
  const day = Date.now() + 24 * HOUR_MS;
  inTransaction(relay, (database) => {
    const directory = `https://authority.test/${names[0]}`;
    insert(database, 'acme_accounts', { directory, key: 'key', url: null, createdAt: 1 });
    for (const name of names)
      insert(database, 'certificates', { name, chain, key, renewAt: day, notAfter: day, storedAt: 1 });
  });
}

function inTransaction<T>(relay: Relay, work: (database: DatabaseSync) => T): T {
  const database = openWaiting(databasePath(relay));
  try {
    // Not "begin": what has read cannot wait for another program's write.
    database.exec('begin immediate');
    const result = work(database);
    database.exec('commit');
    return result;
  } finally {
    database.close();
  }
}

function one(database: DatabaseSync, table: string, column: string, value: string): Row {
  const row = database.prepare(`select * from ${table} where "${column}" = ?`).get(value);
  if (row === undefined) throw new Error(`${table} has no ${column} ${value}`);
  return row;
}

function insert(database: DatabaseSync, table: string, row: Row): void {
  const places = Object.keys(row).map(() => '?');
  database.prepare(insertion(table, row, places)).run(...Object.values(row));
}

/* Access to a relay's database of either kind, as another program could have it. */

type Value = string | number | null;

/** One connection. */
export interface RelayDatabase {
  /** Runs one statement that both databases understand, without parameters. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
  insert(table: string, row: Readonly<Record<string, Value>>): Promise<void>;
  /** Blocks writes of everyone else, but not reads, until {@link release}. */
  holdWrites(): Promise<void>;
  release(): Promise<void>;
  /** The tables and their columns. */
  schema(): Promise<Record<string, unknown>[]>;
}

/** @returns a connection that ends with the scope */
export async function openRelayDatabase(scope: Scope, relay: Relay): Promise<RelayDatabase> {
  const url = relay.databaseSettings['CULVERT_DATABASE_URL'];
  if (url === undefined) return openFile(scope, join(relay.dataDirectory, 'culvert.db'));
  const client = new Client({ connectionString: url, query_timeout: 10_000 });
  client.on('error', () => {});
  await client.connect();
  scope.defer(() => client.end());
  return overPostgres(client);
}

function openFile(scope: Scope, path: string): RelayDatabase {
  const database = openWaiting(path);
  scope.defer(() => database.close());
  const rows = (sql: string) => Promise.resolve(database.prepare(sql).all());
  return {
    rows,
    async insert(table, row) {
      const places = Object.keys(row).map(() => '?');
      const values: SQLInputValue[] = Object.values(row);
      database.prepare(insertion(table, row, places)).run(...values);
      await Promise.resolve();
    },
    holdWrites: async () => void (await rows('begin immediate')),
    release: async () => void (await rows('rollback')),
    schema: () => rows('select sql from sqlite_schema'),
  };
}

function overPostgres(client: Client): RelayDatabase {
  const rows = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows;
  return {
    rows,
    async insert(table, row) {
      const places = Object.keys(row).map((_, index) => `$${index + 1}`);
      await client.query(insertion(table, row, places), Object.values(row));
    },
    holdWrites: async () => void (await rows('begin; lock table tunnels in exclusive mode')),
    release: async () => void (await rows('rollback')),
    schema: () =>
      rows(`select table_name, column_name, data_type from information_schema.columns
        where table_schema = 'public' order by 1, 2`),
  };
}

function insertion(table: string, row: object, places: readonly string[]): string {
  const columns = Object.keys(row).map((column) => `"${column}"`);
  return `insert into ${table} (${columns.join()}) values (${places.join()})`;
}

interface GivenTunnel {
  readonly slug: string;
  readonly localPort: number;
}

/** Inserts tunnels for an account, oldest first, bypassing the rate limit, while no relay has the store open. */
export async function giveTunnels(
  scope: Scope,
  relay: Relay,
  account: TestAccount,
  tunnels: readonly GivenTunnel[],
): Promise<void> {
  await relay.stop();
  const database = await openRelayDatabase(scope, relay);
  const now = Date.now();
  for (const [index, { slug, localPort }] of tunnels.entries()) {
    await database.insert('tunnels', {
      id: randomUUID(),
      accountId: account.id,
      slug,
      name: '',
      localPort,
      ttl: 3600,
      idle: 0,
      createdAt: now + index,
      expiresAt: now + index + HOUR_MS,
      termsRevision: 0,
      bytesIn: 0,
      bytesOut: 0,
      requests: 0,
      accessRevision: 0,
      revokedLinks: '[]',
      knocksRevision: 0,
      tokenUses: '[]',
      byAgent: 0,
      wildcard: 0,
      protocol: 'http',
      remotePort: null,
      linkScope: randomUUID(),
      linksSince: now,
    });
  }
  await relay.restart();
}
