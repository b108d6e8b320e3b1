/** The store of tests that go for every database: in memory, or on the PostgreSQL server of `npm run test:cluster`. */
import { randomUUID } from 'node:crypto';
import type { Log } from '../log.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import type { Store } from '../store/store.ts';

const POSTGRES_URL = process.env['TEST_POSTGRES_URL'];

/** @returns a new, empty store */
export async function openTestStore(log: Log): Promise<Store> {
  if (POSTGRES_URL === undefined) return await openSqlite(':memory:', log);
  const { openPostgres } = await import('../store/postgres/open-postgres.ts');
  return await openPostgres({ kind: 'postgres', url: await newDatabase(POSTGRES_URL) }, log);
}

async function newDatabase(url: string): Promise<string> {
  const { Client } = await import('pg');
  const name = `unit_${randomUUID().replaceAll('-', '')}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const made = new URL(url);
  made.pathname = name;
  return made.href;
}
