/** A relay's database from outside, whichever it is: things that another program could do that has it open. */
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { Client } from 'pg';
import type { Relay } from './programs.ts';
import type { Scope } from './scope.ts';

export type Value = string | number | null;

/** One connection. */
export interface RelayDatabase {
  /** Runs one statement that both databases understand, without parameters. */
  rows(sql: string): Promise<Record<string, unknown>[]>;
  insert(table: string, row: Readonly<Record<string, Value>>): Promise<void>;
  /** Keeps everybody from writing, but not from reading, until {@link release}. */
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
  const database = new DatabaseSync(path);
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
  return `insert into ${table} (${Object.keys(row).join()}) values (${places.join()})`;
}
