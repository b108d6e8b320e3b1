/** Things that the programs would take too long to make: rows written into a relay's database while no relay runs. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { type Relay, newApiKey } from './programs.ts';

type Row = Record<string, SQLOutputValue>;

export function databasePath(relay: Relay): string {
  return join(relay.dataDirectory, 'culvert.db');
}

/**
 * Adds accounts like an existing one, each with a key.
 *
 * @returns the keys
 */
export function addAccounts(relay: Relay, like: { readonly id: string }, count: number): string[] {
  return inTransaction(relay, (database) => {
    const account = one(database, 'accounts', 'id', like.id);
    const key = one(database, 'api_keys', 'account_id', like.id);
    return Array.from({ length: count }, () => {
      const id = randomUUID();
      insert(database, 'accounts', { ...account, id, name: `many-${id}` });
      const text = newApiKey();
      const hash = createHash('sha256').update(text).digest('hex');
      insert(database, 'api_keys', { ...key, id: randomUUID(), account_id: id, hash });
      return text;
    });
  });
}

/** Adds tunnels like an existing one. */
export function addTunnels(relay: Relay, like: { readonly id: string }, count: number): void {
  inTransaction(relay, (database) => {
    const tunnel = one(database, 'tunnels', 'id', like.id);
    for (let left = count; left > 0; left -= 1)
      insert(database, 'tunnels', {
        ...tunnel,
        id: randomUUID(),
        slug: `many-${randomBytes(8).toString('hex')}`,
      });
  });
}

/** Adds a certificate, and the account with which it was ordered. */
export function addCertificate(relay: Relay): void {
  inTransaction(relay, (database) => {
    const directory = 'https://authority.test/directory';
    insert(database, 'acme_accounts', { directory, key: 'key', url: null, created_at: 1 });
    const times = { renew_at: 1, not_after: 2, stored_at: 1 };
    insert(database, 'certificates', { name: 'a.test', chain: 'chain', key: 'key', ...times });
  });
}

function inTransaction<T>(relay: Relay, work: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(databasePath(relay));
  try {
    database.exec('begin');
    const result = work(database);
    database.exec('commit');
    return result;
  } finally {
    database.close();
  }
}

function one(database: DatabaseSync, table: string, column: string, value: string): Row {
  const row = database.prepare(`select * from ${table} where ${column} = ?`).get(value);
  if (row === undefined) throw new Error(`${table} has no ${column} ${value}`);
  return row;
}

function insert(database: DatabaseSync, table: string, row: Row): void {
  const columns = Object.keys(row);
  const places = columns.map(() => '?').join();
  database.prepare(`insert into ${table} (${columns.join()}) values (${places})`).run(...Object.values(row));
}
