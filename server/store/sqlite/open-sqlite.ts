/** Opens the embedded database. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { Kysely } from 'kysely';
import { SQLITE_BUSY_MS } from '../../limits.ts';
import type { Log } from '../../log.ts';
import { refuseMoved } from '../database-address.ts';
import { type Creation, migrate, MIGRATIONS, MissingDatabaseError } from '../migrations.ts';
import type { Database } from '../schema.ts';
import { kyselyStore, type Store } from '../store.ts';
import { NodeSqliteDialect } from './dialect.ts';
import { FileGuard, loadSqlite, makeFolder, makePrivate } from './sqlite-files.ts';

/**
 * Opens a SQLite file, for the own user only, and brings it up to date.
 *
 * @param path of the file, or `:memory:`
 * @param log told when the database begins to fail and when it works again
 * @param creation whether missing files and folders are created
 * @throws Error with a text for the operator, also for a database that was moved away
 */
export async function openSqlite(path: string, log: Log, creation: Creation = 'make'): Promise<Store> {
  const db = await openSqliteDatabase(path, creation);
  try {
    await refuseMoved(db, path);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return kyselyStore(db, log);
}

/** The same without the store around it, even if it was moved. */
export async function openSqliteDatabase(
  path: string,
  creation: Creation = 'make',
): Promise<Kysely<Database>> {
  try {
    if (creation !== 'make' && !existsSync(path)) throw new MissingDatabaseError();
    const database = openDatabase(path);
    const guard = path === ':memory:' ? undefined : new FileGuard(path);
    const db = new Kysely<Database>({ dialect: new NodeSqliteDialect(database, guard) });
    try {
      await migrate(db, MIGRATIONS, creation);
    } catch (error) {
      await db.destroy();
      throw error;
    }
    return db;
  } catch (error) {
    throw new Error(`cannot open the database ${path}`, { cause: error });
  }
}

function openDatabase(path: string) {
  const { DatabaseSync } = loadSqlite();
  if (path !== ':memory:') {
    makeFolder(dirname(path));
    makePrivate(path);
  }
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true });
  // While opening, before there is anybody to delay, SQLite may wait for another program itself.
  database.exec(`pragma busy_timeout = ${SQLITE_BUSY_MS}`);
  // WAL: readers and the writer do not wait for each other. FULL: a commit is on the disk when it returns.
  database.exec('pragma journal_mode = wal');
  database.exec('pragma synchronous = full');
  // The first read creates the log, which is watched from now on.
  database.prepare('pragma user_version').get();
  database.exec('pragma busy_timeout = 0');
  return database;
}
