/** The history of the schema. A migration that was released is never changed; a new one is added after it. */
import { type Kysely, type Migration, sql } from 'kysely';

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001_accounts_keys_tunnels': { up: createTables },
  '0002_administration': { up: prepareAdministration },
  '0003_relay_secrets': { up: keepSecrets },
  '0004_tunnel_access': { up: keepAccess },
  '0005_tunnel_links': { up: keepLinks },
  '0006_tunnel_knocks': { up: keepKnocks },
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

/** Who may come into a tunnel. */
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

/** Who has asked to come into a tunnel. */
async function keepKnocks(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('tunnels').addColumn('knocks', 'text').execute();
  await db.schema
    .alterTable('tunnels')
    .addColumn('knocks_revision', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
}
