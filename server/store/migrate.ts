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

/** There is nothing of a relay's, and it is not for this program to make it. */
export class MissingDatabaseError extends Error {
  constructor() {
    super('there is no database of a relay; "culvert-relay serve" makes one');
    this.name = 'MissingDatabaseError';
  }
}

/** The database was last used by an older version, and it is not for this program to bring it up to date. */
export class OlderSchemaError extends Error {
  /** @param missing how many changes have not been made */
  constructor(missing: number) {
    super(`the database is that of an older version, ${missing} changes behind this one`);
    this.name = 'OlderSchemaError';
  }
}

/** Whether a database that is not there is made, and whether one of an older version is brought up to date. */
export type Creation = 'make' | 'must-exist' | 'as-it-is';

/**
 * Runs the migrations that have not run yet. Each dialect runs this under its lock, so two programs may start at once.
 *
 * @throws NewerSchemaError, OlderSchemaError, MissingDatabaseError before anything is changed
 */
export async function migrate(
  db: Kysely<Database>,
  migrations: Readonly<Record<string, Migration>>,
  creation: Creation,
): Promise<void> {
  const known = await migrationsOf(db);
  if (known === undefined && creation !== 'make') throw new MissingDatabaseError();
  const unknown = known?.find((name) => !Object.hasOwn(migrations, name));
  if (unknown !== undefined) throw new NewerSchemaError(unknown);
  if (creation === 'as-it-is') {
    const missing = Object.keys(migrations).length - (known?.length ?? 0);
    if (missing > 0) throw new OlderSchemaError(missing);
    return;
  }
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

/** @returns the names of those that have run; `undefined` for a database that none was ever run on */
async function migrationsOf(db: Kysely<Database>): Promise<string[] | undefined> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === DEFAULT_MIGRATION_TABLE)) return undefined;
  const table = sql.table(DEFAULT_MIGRATION_TABLE);
  const { rows } = await sql<{ name: string }>`select name from ${table} order by name`.execute(db);
  return rows.map(({ name }) => name);
}
