/** The store for tests that run on every database: in memory, or on the PostgreSQL server of `npm test -- cluster`. */
import { randomUUID } from 'node:crypto';
import type { Log } from '../log.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import type { Store } from '../store/store.ts';

const POSTGRES_URL = process.env['TEST_POSTGRES_URL'];

/** Disconnects everybody else, and empties all tables. */
const CLEAR = `
  select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid();
  truncate audit, invitations, closed_tunnels, accounts, api_keys, tunnels, tunnel_links, released_names, endings, relay_secrets, domains,
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
