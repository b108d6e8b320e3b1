/** Brings a database to the schema of this version, at start. */
import { DEFAULT_MIGRATION_TABLE, type Kysely, type Migration, Migrator, sql } from 'kysely';
import type { Database } from './schema.ts';

/** The database was last used by a newer version, whose schema this one does not know. */
export class NewerSchemaError extends Error {
  constructor(migration: string) {
    super(
      `the database was made by a newer version of Culvert (it knows the change "${migration}"); install that version or restore a backup`,
    );
    this.name = 'NewerSchemaError';
  }
}

/**
 * Runs the migrations that have not run yet. Each dialect runs this under its lock, so two programs may start at once.
 *
 * @throws NewerSchemaError before anything is changed
 */
export async function migrate(
  db: Kysely<Database>,
  migrations: Readonly<Record<string, Migration>>,
): Promise<void> {
  await refuseNewer(db, migrations);
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

async function refuseNewer(
  db: Kysely<Database>,
  migrations: Readonly<Record<string, Migration>>,
): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === DEFAULT_MIGRATION_TABLE)) return;
  const table = sql.table(DEFAULT_MIGRATION_TABLE);
  const { rows } = await sql<{ name: string }>`select name from ${table} order by name`.execute(db);
  const unknown = rows.find(({ name }) => !Object.hasOwn(migrations, name));
  if (unknown !== undefined) throw new NewerSchemaError(unknown.name);
}
