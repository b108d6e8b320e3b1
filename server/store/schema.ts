/** Creates the tables, and reads their rows. */
import { type AliasedExpression, type Kysely, sql } from 'kysely';
import type { Column } from './columns.ts';
import { type Database, TABLES } from './records.ts';

/** Each table with its columns. */
const DEFINITIONS = Object.entries(TABLES).map(([table, columns]) => ({
  table: table as keyof Database,
  columns: Object.entries(columns as Record<string, Column<unknown>>),
}));

const INDEXES = [
  'index api_keys_by_account on api_keys ("accountId")',
  'index api_keys_by_end on api_keys ("expiresAt")',
  'index tunnels_by_account on tunnels ("accountId")',
  // Names of the form of a wildcard tunnel's hosts are rare, and are searched by their ends.
  `index tunnels_like_hosts on tunnels (slug) where slug like '%--%'`,
  'index tunnels_by_link_scope on tunnels ("linkScope")',
  'index tunnel_links_by_scope on tunnel_links ("linkScope")',
  'index agents_by_slug on agents (slug)',
  'index agents_by_end on agents ("endsAt")',
  'index released_names_by_end on released_names ("heldUntil")',
  'index released_names_by_domain on released_names (domain)',
  'index tcp_ports_by_account on tcp_ports ("accountId", "givenAt")',
  'index kept_names_by_account on kept_names ("accountId", "createdAt")',
  'index endings_by_end on endings ("keptUntil")',
  'index endings_by_account on endings ("accountId", kind, "endedAt")',
  'index audit_by_time on audit (at)',
  'index audit_by_account on audit ("accountId", at)',
  'index audit_by_subject on audit (subject, at)',
  'index invitations_by_end on invitations ("expiresAt")',
  'index certificates_by_time on certificates ("storedAt")',
  'index acme_challenges_by_host on acme_challenges (host)',
  'unique index domains_of_account on domains ("accountId", domain)',
  'unique index domains_verified on domains (domain) where "verifiedAt" is not null',
  'index domains_by_check on domains ("checkAt")',
];

/** What belongs to one running relay or one database, and starts again in another one. */
const STAYING: readonly (keyof Database)[] = [
  'access_revision',
  'relay_info',
  'relocation',
  'closed_tunnels',
  'acme_orders',
  'acme_attempts',
  'acme_challenges',
  'schema_version',
];

/** The tables whose rows move to another database, each after those it refers to, and their keys: the first columns. */
export const MOVING = DEFINITIONS.filter(({ table }) => !STAYING.includes(table)).map(
  ({ table, columns: [[key] = ['']] }) => ({ table, key }),
);

const DECODERS = new Map(
  DEFINITIONS.flatMap(({ columns }) =>
    columns.flatMap(([name, { decode }]) => (decode === undefined ? [] : [[name, decode] as const])),
  ),
);

/** A column of the result of a query. */
interface Selected {
  readonly column: string;
  /** of the field */
  readonly name: string;
  readonly decode: Column<unknown>['decode'];
}

/**
 * The rows of a query as the program has them: see {@link stored}. A column with a dot belongs to a record within its row,
 * see {@link recordIn}. What has to be decoded is known by its column's name, so it is selected under that.
 */
export function decoded<Row>(rows: readonly object[]): Row[] {
  const own: Selected[] = [];
  const within = new Map<string, Selected[]>();
  for (const column of Object.keys(rows[0] ?? {})) {
    const [outer = '', name = outer] = column.split('.');
    const selected = { column, name, decode: DECODERS.get(name) };
    if (column === name) own.push(selected);
    else within.set(outer, [...(within.get(outer) ?? []), selected]);
  }
  return (rows as readonly Record<string, unknown>[]).map((row) => {
    const record = recordOf(row, own);
    for (const [name, columns] of within) record[name] = recordOf(row, columns);
    return record as Row;
  });
}

function recordOf(
  row: Readonly<Record<string, unknown>>,
  columns: readonly Selected[],
): Record<string, unknown> {
  const record: Record<string, unknown> = {};
  for (const { column, name, decode } of columns) {
    const value = row[column];
    record[name] = decode === undefined || value === null ? value : decode(value as never);
  }
  return record;
}

/** The columns of a table in a join, which {@link decoded} makes a record of this name in the row. */
export function recordIn<Table extends keyof Database, Name extends string>(
  table: Table,
  name: Name,
): readonly AliasedExpression<Database[Table], Name>[] {
  const columns = Object.keys(TABLES[table]).map((column) => `${table}.${column} as ${name}.${column}`);
  return columns as unknown as AliasedExpression<Database[Table], Name>[];
}

/* The tables are created as a whole, or not at all. */

const VERSION = 1;

/** There is nothing of a relay's, and it is not for this program to make it. */
export class MissingDatabaseError extends Error {
  constructor() {
    super('there is no relay database; "culvert-relay serve" creates one');
    this.name = 'MissingDatabaseError';
  }
}

/** Whether a missing database is created. */
export type Creation = 'make' | 'must-exist';

/**
 * Makes sure that a database has the tables of this program.
 *
 * @param lock held until the end of the transaction, so that two programs may start at the same time
 * @returns whether it had none
 * @throws MissingDatabaseError, or Error if another version of Culvert has created it; nothing is changed then
 */
export async function prepare(
  db: Kysely<Database>,
  creation: Creation,
  lock: (transaction: Kysely<Database>) => Promise<unknown> = () => Promise.resolve(),
): Promise<boolean> {
  const isNew = !(await exists(db));
  if (isNew) {
    if (creation !== 'make') throw new MissingDatabaseError();
    await db.transaction().execute(async (transaction) => {
      await lock(transaction);
      if (!(await exists(transaction))) await create(transaction);
    });
  }
  const { version } = await db.selectFrom('schema_version').select('version').executeTakeFirstOrThrow();
  if (version === VERSION) return isNew;
  throw new Error(
    `another version of Culvert has created the database (its schema is ${version}, this program's is ${VERSION}); install that version or restore a backup`,
  );
}

async function exists(db: Kysely<Database>): Promise<boolean> {
  const tables = await db.introspection.getTables();
  return tables.some(({ name }) => name === 'schema_version');
}

async function create(db: Kysely<Database>): Promise<void> {
  for (const { table, columns } of DEFINITIONS) {
    const lines = columns.map(
      ([name, { type, isNullable, rule }]) => `"${name}" ${type}${isNullable ? '' : ' not null'}${rule}`,
    );
    await sql.raw(`create table ${table} (${lines.join(', ')})`).execute(db);
  }
  for (const index of INDEXES) await sql.raw(`create ${index}`).execute(db);
  await db.insertInto('access_revision').values({ id: 1, revision: 0 }).execute();
  await db.insertInto('schema_version').values({ id: 1, version: VERSION }).execute();
}
