/** Moves all data of a store from one database to another, as a whole or not at all. */
import type { Kysely } from 'kysely';
import { TRANSFER_BATCH } from '../limits.ts';
import { markMoved } from './database-address.ts';
import type { Database } from './schema.ts';

/** Each table after those it refers to. Pending certificate orders start again. */
const TABLES = [
  'accounts',
  'api_keys',
  'tunnels',
  'tunnel_links',
  'released_names',
  'endings',
  'relay_secrets',
  'audit',
  'invitations',
  'acme_accounts',
  'certificates',
  'domains',
] as const;
type Table = (typeof TABLES)[number];
const KEYS = {
  accounts: 'id',
  api_keys: 'id',
  tunnels: 'id',
  tunnel_links: 'id',
  released_names: 'slug',
  endings: 'id',
  relay_secrets: 'name',
  audit: 'id',
  invitations: 'id',
  acme_accounts: 'directory',
  certificates: 'name',
  domains: 'id',
} as const;

/** Rows of each table. */
export type TableCounts = Readonly<Record<Table, number>>;

/** The database that everything is moved to. */
interface TransferTarget {
  /** with the schema of this version and nothing in it */
  readonly db: Kysely<Database>;
  /** as people know it */
  readonly name: string;
  /** wall time in ms */
  readonly now: number;
}

/**
 * @param from read at one moment; it keeps its rows and records where they were moved
 * @returns how many rows each table has now, in both
 * @throws Error with a text for the operator, and nothing copied
 */
export function transfer(
  from: Kysely<Database>,
  { db: to, name, now }: TransferTarget,
): Promise<TableCounts> {
  return from.transaction().execute(async (source) => {
    const moved = await to.transaction().execute(async (target) => {
      await mustBeEmpty(target);
      for (const table of TABLES) await copy(source, target, table);
      const { revision } = await source
        .selectFrom('access_revision')
        .select('revision')
        .executeTakeFirstOrThrow();
      await target.updateTable('access_revision').set({ revision }).execute();
      const counts = await countRows(target);
      mustBeSame(await countRows(source), counts);
      return counts;
    });
    await markMoved(source, name, now);
    return moved;
  });
}

async function mustBeEmpty(target: Kysely<Database>): Promise<void> {
  const counts = await countRows(target);
  const used = TABLES.find((table) => counts[table] > 0);
  if (used === undefined) return;
  throw new Error(`it is not empty (${used} has ${counts[used]} rows); create a new database for it`);
}

async function copy(source: Kysely<Database>, target: Kysely<Database>, table: Table): Promise<void> {
  const key = KEYS[table];
  let last = '';
  for (;;) {
    const rows = await source
      .selectFrom(table)
      .selectAll()
      .where(key, '>', last)
      .orderBy(key)
      .limit(TRANSFER_BATCH)
      .execute();
    const end = rows.at(-1);
    if (end === undefined) return;
    await target.insertInto(table).values(rows).execute();
    last = Reflect.get(end, key);
  }
}

async function countRows(db: Kysely<Database>): Promise<TableCounts> {
  const counts: Record<Table, number> = {
    accounts: 0,
    api_keys: 0,
    tunnels: 0,
    tunnel_links: 0,
    released_names: 0,
    endings: 0,
    relay_secrets: 0,
    audit: 0,
    invitations: 0,
    acme_accounts: 0,
    certificates: 0,
    domains: 0,
  };
  for (const table of TABLES) {
    const { count } = await db
      .selectFrom(table)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    counts[table] = count;
  }
  return counts;
}

function mustBeSame(source: TableCounts, target: TableCounts): void {
  for (const table of TABLES) {
    if (source[table] === target[table]) continue;
    throw new Error(
      `${table} has ${source[table]} rows in one and ${target[table]} in the other; nothing was kept`,
    );
  }
}
