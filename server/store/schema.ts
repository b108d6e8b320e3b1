/**
 * The tables: one definition, from which follow their creation, the types of their rows, and what moves to another
 * database. The same columns in every database. Times are ms since the epoch; JSON is text.
 */
import { type Kysely, sql } from 'kysely';
import type { Plan } from '../../shared/tunnel.ts';
import type { ChallengeType } from './records.ts';

/** A column, and the type of its values. */
class Column<Value> {
  declare readonly value: Value;
  readonly type: 'text' | 'integer' | 'bigint';
  readonly isNullable: boolean;
  /** what follows the type when the table is created */
  readonly rule: string;

  constructor(type: Column<Value>['type'], isNullable = false, rule = '') {
    this.type = type;
    this.isNullable = isNullable;
    this.rule = rule;
  }

  get orNull(): Column<Value | null> {
    return new Column<Value | null>(this.type, true, this.rule);
  }

  get primary(): Column<Value> {
    return this.#with('primary key');
  }

  get unique(): Column<Value> {
    return this.#with('unique');
  }

  /** Refers to the `id` of a table. */
  of(table: string, onDelete = ''): Column<Value> {
    return this.#with(`references ${table} (id)${onDelete}`);
  }

  #with(rule: string): Column<Value> {
    return new Column<Value>(this.type, this.isNullable, `${this.rule} ${rule}`);
  }
}

const text = <Value extends string = string>() => new Column<Value>('text');
/** A whole number below 2^31, or 0 and 1 for no and yes, which every database can store. */
const integer = <Value extends number = number>() => new Column<Value>('integer');
/** A time, or a count of bytes, seconds or requests. */
const big = () => new Column<number>('bigint');

export type EndingKind = 'account' | 'key' | 'tunnel' | 'domain';

/** Each table after those it refers to. */
const TABLES = {
  accounts: {
    id: text().primary,
    name: text().unique,
    plan: text<Plan>(),
    subdomain: text().orNull.unique,
    created_at: big(),
    suspended: text().orNull,
  },
  /** A revoked key stays, so that it cannot be created again. */
  api_keys: {
    id: text().primary,
    account_id: text().of('accounts'),
    hash: text().unique,
    hint: text(),
    created_at: big(),
    label: text(),
    expires_at: big().orNull,
    /** `all`, `owner`, `admin`, `tunnel:` and its name, or `agent:` and the prefix of its names */
    scope: text(),
    revoked_at: big().orNull,
    last_used_at: big().orNull,
  },
  tunnels: {
    id: text().primary,
    account_id: text().of('accounts'),
    slug: text().unique,
    name: text(),
    local_port: integer(),
    ttl_seconds: big(),
    /** 0 or 1 */
    idle: integer(),
    created_at: big(),
    expires_at: big(),
    terms_revision: integer(),
    bytes_in: big(),
    bytes_out: big(),
    requests: big(),
    /** JSON */
    access: text().orNull,
    access_revision: integer(),
    /** JSON, pairs of an id and an end; `null` for none */
    revoked_links: text().orNull,
    /** JSON */
    knocks: text().orNull,
    knocks_revision: integer(),
    /** JSON, pairs of a hash and a time; `null` for none */
    token_uses: text().orNull,
    domain: text().orNull.unique,
    created_key: text().orNull,
    created_by: text().orNull,
    /** 0 or 1 */
    by_agent: integer(),
    /** 0 or 1 */
    wildcard: integer(),
    suspended: text().orNull,
  },
  /** Signed links that were not revoked. They go with their tunnel. */
  tunnel_links: {
    id: text().primary,
    tunnel_id: text().of('tunnels', ' on delete cascade'),
    note: text(),
    path: text().orNull,
    created_at: big(),
    expires_at: big(),
  },
  /**
   * Slugs of ended tunnels, reserved for their previous account (protocol.md section 3.5), and addresses of tunnels
   * that ended while suspended, which nobody gets.
   */
  released_names: {
    slug: text().primary,
    account_id: text(),
    held_until: big(),
    /** the tunnel that ended while it was suspended; the next three columns are `null` unless this one is set */
    tunnel_id: text().orNull,
    /** its domain */
    domain: text().orNull,
    /** the reason of the suspension */
    suspended: text().orNull,
    /** what the operator suspended: resuming the account releases only what was suspended with it */
    suspended_with: text<'tunnel' | 'account'>().orNull,
  },
  /** What was ended before its time and no longer has a row of its own, so that a restore does not bring it back. */
  endings: {
    /** of the account, tunnel or domain; the hash of a key */
    id: text().primary,
    kind: text<EndingKind>(),
    account_id: text(),
    ended_at: big(),
    /** when it would have ended anyway */
    kept_until: big(),
  },
  /** One row, incremented by every change that revokes or alters rights: running relays watch it. */
  access_revision: { id: integer<1>().primary, revision: big() },
  /** Secrets that relays make for themselves. They are in backups, so they are protected no better than those. */
  relay_secrets: { name: text().primary, value: text(), created_at: big() },
  /** What commands need to know of the relay that serves. The relay writes it at each start. */
  relay_info: { name: text<'public_origin'>().primary, value: text() },
  /** At most one row, in a database whose content was moved to another one. */
  relocation: {
    id: integer<1>().primary,
    /** the other database, as people know it */
    target: text(),
    moved_at: big(),
  },
  /** Tunnels closed by the operator, kept until every relay must have seen it. */
  closed_tunnels: { id: text().primary, closed_at: big() },
  audit: {
    id: text().primary,
    at: big(),
    actor: text(),
    action: text(),
    subject: text(),
    detail: text(),
    account_id: text().orNull,
  },
  invitations: {
    id: text().primary,
    account_id: text().of('accounts'),
    hash: text().unique,
    label: text(),
    created_at: big(),
    expires_at: big(),
    /** A used or revoked one stays until its end, so that a restore does not open it again. */
    taken_at: big().orNull,
  },
  acme_accounts: { directory: text().primary, key: text(), url: text().orNull, created_at: big() },
  /** The keys are in backups, protected like the secrets of relays. */
  certificates: {
    name: text().primary,
    chain: text(),
    key: text(),
    renew_at: big(),
    not_after: big(),
    stored_at: big(),
  },
  /** Names with a certificate order: which relay is ordering, and how often it has failed in a row. */
  acme_orders: { name: text().primary, failures: integer(), retry_at: big(), held_until: big() },
  /** One for each order of the last hour. */
  acme_attempts: { id: text().primary, started_at: big(), account_id: text().orNull },
  acme_challenges: {
    token: text().primary,
    type: text<ChallengeType>(),
    host: text(),
    key_authorization: text(),
    expires_at: big(),
  },
  /** Several accounts may claim a domain, but it is verified for one of them only. */
  domains: {
    id: text().primary,
    account_id: text().of('accounts'),
    domain: text(),
    proof: text(),
    created_at: big(),
    verified_at: big().orNull,
    failing_since: big().orNull,
    /** when it is checked again; `null` for one that is not verified */
    check_at: big().orNull,
  },
  schema_version: { id: integer<1>().primary, version: integer() },
} as const;

const INDEXES = [
  'index api_keys_by_account on api_keys (account_id)',
  'index api_keys_by_end on api_keys (expires_at)',
  'index tunnels_by_account on tunnels (account_id)',
  // Names of the form of a wildcard tunnel's hosts are rare, and are searched by their ends.
  "index tunnels_like_hosts on tunnels (slug) where slug like '%--%'",
  'index tunnel_links_by_tunnel on tunnel_links (tunnel_id)',
  'index released_names_by_end on released_names (held_until)',
  'index released_names_by_domain on released_names (domain)',
  'index endings_by_end on endings (kept_until)',
  'index endings_by_account on endings (account_id, kind, ended_at)',
  'index audit_by_time on audit (at)',
  'index audit_by_account on audit (account_id, at)',
  'index audit_by_subject on audit (subject, at)',
  'index invitations_by_end on invitations (expires_at)',
  'index certificates_by_time on certificates (stored_at)',
  'index acme_challenges_by_host on acme_challenges (host)',
  'unique index domains_of_account on domains (account_id, domain)',
  'unique index domains_verified on domains (domain) where verified_at is not null',
  'index domains_by_check on domains (check_at)',
];

type Rows<Columns> = {
  -readonly [Name in keyof Columns]: Columns[Name] extends Column<infer Value> ? Value : never;
};

export type Database = { [Table in keyof typeof TABLES]: Rows<(typeof TABLES)[Table]> };
export type TunnelsTable = Database['tunnels'];
export type EndingsTable = Database['endings'];

/** What belongs to one running relay or one database, and starts again in another one. */
const STAYING: ReadonlySet<string> = new Set([
  'access_revision',
  'relay_info',
  'relocation',
  'closed_tunnels',
  'acme_orders',
  'acme_attempts',
  'acme_challenges',
  'schema_version',
]);

/** The tables whose rows move to another database, each after those it refers to, and their keys. */
export const MOVING: readonly { readonly table: keyof Database; readonly key: string }[] = Object.entries(
  TABLES,
).flatMap(([table, columns]) => {
  const [key = ''] =
    Object.entries(columns as Record<string, Column<unknown>>).find(([, { rule }]) =>
      rule.includes('primary key'),
    ) ?? [];
  return STAYING.has(table) ? [] : [{ table: table as keyof Database, key }];
});

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
  for (const [table, columns] of Object.entries(TABLES)) {
    const lines = Object.entries(columns as Record<string, Column<unknown>>).map(
      ([name, { type, isNullable, rule }]) => `${name} ${type}${isNullable ? '' : ' not null'}${rule}`,
    );
    await sql.raw(`create table ${table} (${lines.join(', ')})`).execute(db);
  }
  for (const index of INDEXES) await sql.raw(`create ${index}`).execute(db);
  await db.insertInto('access_revision').values({ id: 1, revision: 0 }).execute();
  await db.insertInto('schema_version').values({ id: 1, version: VERSION }).execute();
}

/* Rows and records. */

type ColumnOf<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${ColumnOf<Rest>}`
  : '';

/** The columns that hold the fields of a record. */
export type ColumnsOf<Fields> = {
  -readonly [Field in keyof Fields & string as ColumnOf<Field>]: Fields[Field];
};

type Prefixed<Prefix extends string, Columns> = {
  readonly [Column in keyof Columns & string as `${Prefix}${Column}`]: Columns[Column];
};

/**
 * Makes a function that reads rows as records. Columns with a dot belong to a joined record, whose reader has their
 * prefix. Kysely's CamelCasePlugin does the same for whole queries; the lookup of a key took 30% longer with it.
 *
 * @param without columns of the row that the record does not have
 */
export function reader<Fields, Prefix extends string = ''>({
  prefix = '',
  without = [],
}: { readonly prefix?: Prefix | ''; readonly without?: readonly string[] } = {}): (
  row: Prefixed<Prefix, ColumnsOf<Fields>>,
) => Fields {
  /** Learned from the first row: the others have the same columns. */
  let names: (readonly [column: string, field: string])[] | undefined;
  return (row) => {
    names ??= Object.keys(row)
      .filter((column) => column.startsWith(prefix) && !column.includes('.', prefix.length))
      .filter((column) => !without.includes(column))
      .map((column) => [column, fieldOf(column.slice(prefix.length))]);
    const values: Readonly<Record<string, unknown>> = row;
    const record: Record<string, unknown> = {};
    for (const [column, field] of names) record[field] = values[column];
    return record as Fields;
  };
}

function fieldOf(column: string): string {
  return column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The row of a record whose fields all have a column of the same name. */
export function rowOf<Fields>(record: Readonly<Fields>): ColumnsOf<Fields> {
  const columns = Object.entries({ ...record }).map(([field, value]) => [
    field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(columns) as ColumnsOf<Fields>;
}
