/**
 * The tables as Kysely sees them, and how their rows become records; the same columns in every database. Times are ms
 * since the epoch. A table with a record has its fields, in snake case.
 */
import type {
  AccountRecord,
  AcmeAccountRecord,
  AuditRecord,
  CertificateRecord,
  ChallengeRecord,
  DomainRecord,
  InvitationRecord,
  KeyRecord,
  LinkRecord,
  TunnelRecord,
} from './records.ts';

export interface Database {
  accounts: ColumnsOf<AccountRecord>;
  api_keys: ApiKeysTable;
  tunnels: TunnelsTable;
  /** Signed links that were not revoked. They go with their tunnel. */
  tunnel_links: ColumnsOf<LinkRecord>;
  released_names: ReleasedNamesTable;
  endings: EndingsTable;
  access_revision: AccessRevisionTable;
  relay_secrets: RelaySecretsTable;
  relay_info: RelayInfoTable;
  relocation: RelocationTable;
  closed_tunnels: ClosedTunnelsTable;
  audit: ColumnsOf<AuditRecord>;
  invitations: InvitationsTable;
  acme_accounts: AcmeAccountsTable;
  /** The keys are in backups, protected like the secrets of relays. */
  certificates: ColumnsOf<CertificateRecord>;
  acme_orders: AcmeOrdersTable;
  acme_attempts: AcmeAttemptsTable;
  acme_challenges: ColumnsOf<ChallengeRecord>;
  domains: DomainsTable;
}

interface ApiKeysTable extends ColumnsOf<Omit<KeyRecord, 'scope'>> {
  /** A revoked key stays, so that it cannot be created again. */
  revoked_at: number | null;
  last_used_at: number | null;
  /** `all`, `owner`, `admin`, `tunnel:` and its name, or `tunnel:agent:` and the prefix of its names */
  scope: string;
}

/** Fields of a tunnel that their columns hold in another form. */
export type EncodedField =
  'ttl' | 'idle' | 'wildcard' | 'byAgent' | 'access' | 'revokedLinks' | 'knocks' | 'tokenUses';

export interface TunnelsTable extends ColumnsOf<Omit<TunnelRecord, EncodedField>> {
  ttl_seconds: number;
  /** 0 or 1, which every database can store */
  idle: number;
  /** 0 or 1 */
  wildcard: number;
  /**
   * `created_key` if that is an agent's. With another value it means nothing: relays of the previous version change only
   * `created_key` when a client takes a tunnel over.
   */
  agent_key: string | null;
  /** JSON */
  access: string | null;
  /** JSON, pairs of an id and an end; `null` for none */
  revoked_links: string | null;
  /** JSON */
  knocks: string | null;
  /** JSON, pairs of a hash and a time; `null` for none */
  token_uses: string | null;
}

/**
 * Slugs of ended tunnels, reserved for their previous account (protocol.md section 3.5), and addresses of tunnels
 * that ended while suspended, which nobody gets.
 */
interface ReleasedNamesTable {
  slug: string;
  account_id: string;
  held_until: number;
  /** the tunnel that ended while it was suspended; the next three columns are `null` unless this one is set */
  tunnel_id: string | null;
  /** its domain */
  domain: string | null;
  /** the reason of the suspension */
  suspended: string | null;
  /** what the operator suspended: resuming the account releases only what was suspended with it */
  suspended_with: 'tunnel' | 'account' | null;
}

/** What was ended before its time and no longer has a row of its own, so that a restore does not bring it back. */
export interface EndingsTable {
  /** of the account, tunnel or domain; the hash of a key */
  id: string;
  kind: EndingKind;
  account_id: string;
  ended_at: number;
  /** when it would have ended anyway */
  kept_until: number;
}

export type EndingKind = 'account' | 'key' | 'tunnel' | 'domain';

/** One row, incremented by every change that revokes or alters rights: running relays watch it. */
interface AccessRevisionTable {
  id: 1;
  revision: number;
}

/** Secrets that relays make for themselves. They are in backups, so they are protected no better than those. */
interface RelaySecretsTable {
  name: string;
  value: string;
  created_at: number;
}

/** What commands need to know of the relay that serves. The relay writes it at each start. */
interface RelayInfoTable {
  name: 'public_origin';
  value: string;
}

/** At most one row, in a database whose content was moved to another one. */
interface RelocationTable {
  id: 1;
  /** the other database, as people know it */
  target: string;
  moved_at: number;
}

interface AcmeAccountsTable extends ColumnsOf<AcmeAccountRecord> {
  created_at: number;
}

/** Names with a certificate order: which relay is ordering, and how often it has failed in a row. */
interface AcmeOrdersTable {
  name: string;
  failures: number;
  retry_at: number;
  held_until: number;
}

/** One for each order of the last hour. */
interface AcmeAttemptsTable {
  id: string;
  started_at: number;
  /** `null` if none */
  account_id: string | null;
}

/** Several accounts may claim a domain, but it is verified for one of them only. */
interface DomainsTable extends ColumnsOf<DomainRecord> {
  /** when it is checked again; `null` for one that is not verified */
  check_at: number | null;
}

/** Tunnels closed by the operator, kept until every relay must have seen it. */
interface ClosedTunnelsTable {
  id: string;
  closed_at: number;
}

interface InvitationsTable extends ColumnsOf<InvitationRecord> {
  /** A used or revoked one stays until its end, so that a restore does not open it again. */
  taken_at: number | null;
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
