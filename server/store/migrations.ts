/** The history of the schema. A migration that was released is never changed; a new one is added after it. */
import { DEFAULT_MIGRATION_TABLE, type Kysely, type Migration, Migrator, sql } from 'kysely';
import { PASS_KEY_MS } from '../limits.ts';
import type { Database } from './schema.ts';

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001_accounts_keys_tunnels': { up: createTables },
  '0002_administration': { up: prepareAdministration },
  '0003_relay_secrets': { up: keepSecrets },
  '0004_tunnel_access': { up: keepAccess },
  '0005_tunnel_links': { up: keepLinks },
  '0006_tunnel_knocks': { up: keepKnocks },
  '0006_tunnel_terms': { up: countTerms },
  '0008_certificates': { up: keepCertificates },
  '0009_relocation': { up: keepRelocation },
  '0010_keys': { up: describeKeys },
  '0007_domains': { up: keepDomains },
  '0011_operators': { up: keepOrders },
  '0012_invitations': { up: keepInvitations },
  '0013_orders_of_accounts': { up: tellOrdersApart },
  '0014_endings': { up: keepEndings },
  '0015_link_keys': { up: renewLinkKeys },
  '0016_relay_info': { up: keepRelayInfo },
  '0017_token_uses': { up: keepTokenUses },
  '0018_teams': { up: tellMembersApart },
  '0019_wildcard_hosts': { up: markWildcards },
  '0020_agent_keys': { up: markAgentTunnels },
};

async function createTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('plan', 'text', (column) => column.notNull())
    .addColumn('subdomain', 'text', (column) => column.unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('hint', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('tunnels')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('slug', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('local_port', 'integer', (column) => column.notNull())
    .addColumn('ttl_seconds', 'bigint', (column) => column.notNull())
    .addColumn('idle', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('bytes_in', 'bigint', (column) => column.notNull())
    .addColumn('bytes_out', 'bigint', (column) => column.notNull())
    .addColumn('requests', 'bigint', (column) => column.notNull())
    .execute();
}

/** Keys can be revoked, names held, and running relays notice that something was changed by another program. */
async function prepareAdministration(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('api_keys').addColumn('revoked_at', 'bigint').execute();
  await db.schema.createIndex('api_keys_by_account').on('api_keys').column('account_id').execute();
  await db.schema.createIndex('tunnels_by_account').on('tunnels').column('account_id').execute();
  await db.schema
    .createTable('released_names')
    .addColumn('slug', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('held_until', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('released_names_by_end').on('released_names').column('held_until').execute();
  await db.schema
    .createTable('access_revision')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .execute();
  await sql`insert into access_revision (id, revision) values (1, 0)`.execute(db);
}

/** What only the relays on a database know, together: keys of cookies. */
async function keepSecrets(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('relay_secrets')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}

/** Adds the access policies of tunnels. */
async function keepAccess(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tunnels').addColumn('access', 'text').execute();
  await db.schema
    .alterTable('tunnels')
    .addColumn('access_revision', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** Signed links to tunnels, and which of them were revoked before their end. */
async function keepLinks(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tunnels').addColumn('revoked_links', 'text').execute();
  await db.schema
    .createTable('tunnel_links')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tunnel_id', 'text', (column) => column.notNull().references('tunnels.id').onDelete('cascade'))
    .addColumn('note', 'text', (column) => column.notNull())
    .addColumn('path', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('tunnel_links_by_tunnel').on('tunnel_links').column('tunnel_id').execute();
}

/** Adds the approval requests of tunnels. */
async function keepKnocks(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tunnels').addColumn('knocks', 'text').execute();
  await db.schema
    .alterTable('tunnels')
    .addColumn('knocks_revision', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** Whether everything was moved to another database. */
async function keepRelocation(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('relocation')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('moved_at', 'bigint', (column) => column.notNull())
    .execute();
}

/** Certificates that the relay has ordered itself, and what it has to remember of its orders. */
async function keepCertificates(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('acme_accounts')
    .addColumn('directory', 'text', (column) => column.primaryKey())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('url', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('certificates')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('chain', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('renew_at', 'bigint', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .addColumn('stored_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('certificates_by_time').on('certificates').column('stored_at').execute();
  await db.schema
    .createTable('acme_orders')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('retry_at', 'bigint', (column) => column.notNull())
    .addColumn('held_until', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('acme_attempts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('acme_challenges')
    .addColumn('token', 'text', (column) => column.primaryKey())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('host', 'text', (column) => column.notNull())
    .addColumn('key_authorization', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('acme_challenges_by_host').on('acme_challenges').column('host').execute();
}

/** A client may come back to a tunnel of its account with another port and another time to live. */
async function countTerms(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tunnels')
    .addColumn('terms_revision', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}

/** Keys have a label, an end, a scope, and it is known when they were used last. */
async function describeKeys(db: Kysely<unknown>): Promise<void> {
  const keys = () => db.schema.alterTable('api_keys');
  await keys()
    .addColumn('label', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await keys().addColumn('expires_at', 'bigint').execute();
  await keys().addColumn('last_used_at', 'bigint').execute();
  await keys()
    .addColumn('scope', 'text', (column) => column.notNull().defaultTo('all'))
    .execute();
  await db.schema.createIndex('api_keys_by_end').on('api_keys').column('expires_at').execute();
}

/** Domains that users bring, and which tunnel has one of them. */
async function keepDomains(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('domains')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('domain', 'text', (column) => column.notNull())
    .addColumn('proof', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('verified_at', 'bigint')
    .addColumn('failing_since', 'bigint')
    .addColumn('check_at', 'bigint')
    .addUniqueConstraint('domains_of_account', ['account_id', 'domain'])
    .execute();
  await db.schema
    .createIndex('domains_verified')
    .on('domains')
    .column('domain')
    .unique()
    .where(sql.ref('verified_at'), 'is not', null)
    .execute();
  await db.schema.createIndex('domains_by_check').on('domains').column('check_at').execute();
  await db.schema.alterTable('tunnels').addColumn('domain', 'text').execute();
  await db.schema.createIndex('tunnels_by_domain').on('tunnels').column('domain').unique().execute();
}

/** Adds suspension of accounts and tunnels, closing of tunnels by the operator, and the audit log. */
async function keepOrders(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('accounts').addColumn('suspended', 'text').execute();
  await db.schema.alterTable('tunnels').addColumn('suspended', 'text').execute();
  await db.schema
    .createTable('closed_tunnels')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('closed_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('audit')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('detail', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('audit_by_time').on('audit').column('at').execute();
}

/** Addresses with which people get a key of an account themselves. */
async function keepInvitations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('invitations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('taken_at', 'bigint')
    .execute();
  await db.schema.createIndex('invitations_by_end').on('invitations').column('expires_at').execute();
}

/** Orders of certificates are counted for each account. */
async function tellOrdersApart(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('acme_attempts').addColumn('account_id', 'text').execute();
}

/**
 * What has ended stays ended: after a restore, and at the address of a suspended tunnel. Acts are counted for each
 * account.
 */
async function keepEndings(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('endings')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('ended_at', 'bigint', (column) => column.notNull())
    .addColumn('kept_until', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('endings_by_end').on('endings').column('kept_until').execute();
  await db.schema
    .createIndex('endings_by_account')
    .on('endings')
    .columns(['account_id', 'kind', 'ended_at'])
    .execute();
  for (const column of ['tunnel_id', 'domain', 'suspended', 'suspended_with'])
    await db.schema.alterTable('released_names').addColumn(column, 'text').execute();
  await db.schema.createIndex('released_names_by_domain').on('released_names').column('domain').execute();
  await db.schema.alterTable('audit').addColumn('account_id', 'text').execute();
  await db.schema.createIndex('audit_by_account').on('audit').columns(['account_id', 'at']).execute();
}

/**
 * Signed links had one secret that never changed. It becomes the key of this week (server/access/passes.ts), so that
 * links stay valid until their ends.
 */
async function renewLinkKeys(db: Kysely<unknown>): Promise<void> {
  const now = Date.now();
  const name = `links ${Math.floor(now / PASS_KEY_MS)}`;
  await sql`update relay_secrets set name = ${name}, created_at = ${now} where name = 'links'`.execute(db);
}

/** Commands print addresses of the relay, whose settings they may not have. */
async function keepRelayInfo(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('relay_info')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();
}

/** When the tokens of tunnels were last used. */
async function keepTokenUses(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tunnels').addColumn('token_uses', 'text').execute();
}

/** Which key a tunnel is from, and whom an invitation is for. Relays of the previous version leave the columns alone. */
async function tellMembersApart(db: Kysely<unknown>): Promise<void> {
  for (const column of ['created_key', 'created_by'])
    await db.schema.alterTable('tunnels').addColumn(column, 'text').execute();
  await db.schema
    .alterTable('invitations')
    .addColumn('label', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema.createIndex('audit_by_subject').on('audit').columns(['subject', 'at']).execute();
}

/**
 * Tunnels may answer at every host `{any}--{slug}`. Names of that form are rare, and are searched by their ends. Relays
 * of an older version store tunnels without the column, so it has a default.
 */
async function markWildcards(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('tunnels')
    .addColumn('wildcard', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`create index tunnels_like_hosts on tunnels (slug) where slug like '%--%'`.execute(db);
}

/** Which tunnels are from agents' keys. Relays of the previous version leave the column alone. */
async function markAgentTunnels(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tunnels').addColumn('agent_key', 'text').execute();
}

/* Brings a database to the schema of this version, at start. */

/** The database was last used by a newer version, whose schema this one does not know. */
class NewerSchemaError extends Error {
  constructor(migration: string) {
    super(
      `the database was created or upgraded by a newer version of Culvert (it has the change "${migration}"); install that version or restore a backup`,
    );
    this.name = 'NewerSchemaError';
  }
}

/** There is nothing of a relay's, and it is not for this program to make it. */
export class MissingDatabaseError extends Error {
  constructor() {
    super('there is no relay database; "culvert-relay serve" creates one');
    this.name = 'MissingDatabaseError';
  }
}

/** The database was last used by an older version, and it is not for this program to bring it up to date. */
export class OlderSchemaError extends Error {
  /** @param missing number of migrations that have not run */
  constructor(missing: number) {
    super(`the database is from an older version and lacks ${missing} of this version's changes`);
    this.name = 'OlderSchemaError';
  }
}

/** Whether a missing database is created, and whether one of an older version is migrated. */
export type Creation = 'make' | 'must-exist' | 'as-it-is';

/**
 * Runs pending migrations. Each dialect runs this under its lock, so two programs may start at the same time.
 *
 * @returns whether there was nothing, and it was created
 * @throws NewerSchemaError, OlderSchemaError, MissingDatabaseError before anything is changed
 */
export async function migrate(
  db: Kysely<Database>,
  migrations: Readonly<Record<string, Migration>>,
  creation: Creation,
): Promise<boolean> {
  const known = await migrationsOf(db);
  if (known === undefined && creation !== 'make') throw new MissingDatabaseError();
  const unknown = known?.find((name) => !Object.hasOwn(migrations, name));
  if (unknown !== undefined) throw new NewerSchemaError(unknown);
  if (creation === 'as-it-is') {
    const missing = Object.keys(migrations).length - (known?.length ?? 0);
    if (missing > 0) throw new OlderSchemaError(missing);
    return false;
  }
  // Kysely's migrator reads the whole schema several times before it finds that there is nothing to do.
  if (known !== undefined && Object.keys(migrations).every((name) => known.includes(name))) return false;
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
  return known === undefined;
}

/** @returns the names of those that have run; `undefined` for a database that none was ever run on */
async function migrationsOf(db: Kysely<Database>): Promise<string[] | undefined> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === DEFAULT_MIGRATION_TABLE)) return undefined;
  const table = sql.table(DEFAULT_MIGRATION_TABLE);
  const { rows } = await sql<{ name: string }>`select name from ${table} order by name`.execute(db);
  return rows.map(({ name }) => name);
}
