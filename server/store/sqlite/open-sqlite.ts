/** Opens the embedded database, with a Kysely dialect on Node's own driver: nothing to compile, nothing to download. */
import { existsSync, lstatSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type Driver,
  Kysely,
  type QueryCompiler,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Log } from '../../log.ts';
import { refuseMoved } from '../database-address.ts';
import { stored } from '../columns.ts';
import type { Database } from '../records.ts';
import { type Creation, decoded, MissingDatabaseError, prepare } from '../schema.ts';
import { kyselyStore, type Store } from '../store.ts';
import {
  createPart,
  FileGuard,
  isBusy,
  link,
  loadSqlite,
  makeFolder,
  makePrivate,
  SQLITE_BUSY_MS,
  syncFolderOf,
} from './sqlite-files.ts';

/** Milliseconds between two tries of a statement that waits for another process. */
const SQLITE_RETRY_MS = 10;
/** Milliseconds between two times that a SQLite file receives what is in its log. */
export const SQLITE_CHECKPOINT_MS = 5000;

/**
 * Opens a SQLite file, for the own user only.
 *
 * @param path of the file, or `:memory:`
 * @param log told when the database begins to fail and when it works again
 * @param creation whether missing files and folders are created
 * @throws Error with a text for the operator, also for a database that was moved away
 */
export async function openSqlite(path: string, log: Log, creation: Creation = 'make'): Promise<Store> {
  if (creation === 'make' && path !== ':memory:' && !existsSync(path)) {
    await createDatabase(path);
    log('database created', { database: path });
  }
  const db = await openSqliteDatabase(path, creation);
  try {
    await refuseMoved(db, path);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  return kyselyStore(db, log);
}

/**
 * Creates a file that has all tables when it has its name. So a file without them is not from a first start that was
 * interrupted, and a relay refuses it instead of creating new accounts in it.
 */
async function createDatabase(path: string): Promise<void> {
  try {
    makeFolder(dirname(path));
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
      throw new Error('it is a link to a file that does not exist');
    // SQLite would apply it to the new file.
    if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
      throw new Error(
        `the file is missing, but ${path}-wal is there; put the file back, or remove the other`,
      );
    const part = createPart(path);
    try {
      const db = connect(part);
      try {
        await prepare(db, 'make');
      } finally {
        await db.destroy();
      }
      place(part, path);
    } finally {
      for (const suffix of ['', '-wal', '-shm']) rmSync(part + suffix, { force: true });
    }
  } catch (error) {
    throw new Error(`cannot open the database ${path}`, { cause: error });
  }
}

/** Another program may have created the file in the meantime; its file stays. */
function place(part: string, path: string): void {
  if (!link(part, path) && !existsSync(path)) renameSync(part, path);
  syncFolderOf(path);
}

/** The same without the store around it, even if it was moved. */
export async function openSqliteDatabase(
  path: string,
  creation: Creation = 'make',
): Promise<Kysely<Database>> {
  const isFile = path !== ':memory:';
  try {
    if (isFile && !existsSync(path)) throw new MissingDatabaseError();
    const db = connect(path);
    try {
      await prepare(db, isFile ? 'must-exist' : creation);
    } catch (error) {
      await db.destroy();
      throw error instanceof MissingDatabaseError ? new EmptyDatabaseError() : error;
    }
    return db;
  } catch (error) {
    throw new Error(`cannot open the database ${path}`, { cause: error });
  }
}

/** A file without any of a relay's tables: a copy without its log, a new file on another disk, an empty file. */
class EmptyDatabaseError extends Error {
  constructor() {
    super(
      'the file is empty, so it is not what a relay has stored: restore a backup, or remove the file to begin with a new database',
    );
    this.name = 'EmptyDatabaseError';
  }
}

function connect(path: string): Kysely<Database> {
  const database = openDatabase(path);
  const guard = path === ':memory:' ? undefined : new FileGuard(path);
  return new Kysely<Database>({ dialect: new NodeSqliteDialect(database, guard) });
}

function openDatabase(path: string) {
  const { DatabaseSync } = loadSqlite();
  if (path !== ':memory:') makePrivate(path);
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

class NodeSqliteDialect implements Dialect {
  readonly #database: DatabaseSync;
  readonly #guard: FileGuard | undefined;

  /**
   * @param database open database, closed with the Kysely instance
   * @param guard called before each write, for a database in a file
   */
  constructor(database: DatabaseSync, guard: FileGuard | undefined) {
    this.#database = database;
    this.#guard = guard;
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#database, this.#guard);
  }

  createQueryCompiler(): QueryCompiler {
    return new WithoutRowLocks();
  }

  createAdapter(): SqliteAdapter {
    return new TransactionalDdlAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

/** A transaction here has the whole database to itself, and SQLite does not know `for update`. */
class WithoutRowLocks extends SqliteQueryCompiler {
  protected override visitSelectModifier(): void {}
}

/**
 * Lets all tables be created in one transaction, which SQLite can roll back. Because the transaction acquires the write
 * lock when it begins, it also keeps a second program from creating them at the same time.
 */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** One connection, taken in turns: transactions never mix. */
class NodeSqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: SqliteConnection;
  /** fulfilled when the last in the line has given the connection back */
  #free: Promise<void> = Promise.resolve();
  /** one for each in the line, in order: the first has the connection */
  readonly #line: (() => void)[] = [];
  #checkpoints: NodeJS.Timeout | undefined;

  constructor(database: DatabaseSync, guard: FileGuard | undefined) {
    this.#database = database;
    this.#connection = new SqliteConnection(database, guard);
  }

  /** From now on, the file soon gets what is in its log, so that a plain copy of the file misses only little. */
  init(): Promise<void> {
    this.#checkpoints = setInterval(() => void this.#checkpoint(), SQLITE_CHECKPOINT_MS).unref();
    return Promise.resolve();
  }

  /** In line with others, because SQLite refuses it during a transaction. */
  async #checkpoint(): Promise<void> {
    await this.acquireConnection();
    try {
      this.#database.exec('pragma wal_checkpoint(passive)');
    } catch {
      // The file is closed or its disk is full; the log has everything.
    } finally {
      await this.releaseConnection();
    }
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.#free;
    this.#free = new Promise((resolve) => {
      this.#line.push(resolve);
    });
    await before;
    return this.#connection;
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(BEGIN));
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'));
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await connection.executeQuery(CompiledQuery.raw('rollback'));
    } catch (error) {
      // Some failures, a full disk for one, have already ended the transaction.
      if (!String(error).includes('no transaction is active')) throw error;
    }
  }

  releaseConnection(): Promise<void> {
    this.#line.shift()?.();
    return Promise.resolve();
  }

  destroy(): Promise<void> {
    clearInterval(this.#checkpoints);
    this.#database.close();
    return Promise.resolve();
  }
}

/* A SQLite file as the connection through which Kysely sends its queries. */

/** A transaction that first reads and then writes could not get the lock in between without a restart. */
export const BEGIN = 'begin immediate';

class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #guard: FileGuard | undefined;
  /** Since when every write has found the file locked by another process, monotonic ms. */
  #lockedSince: number | undefined;

  /** @param guard called before each write, for a database in a file */
  constructor(database: DatabaseSync, guard: FileGuard | undefined) {
    this.#database = database;
    this.#guard = guard;
  }

  /**
   * Runs one statement. SQLite's own wait for a locked file would stop the whole process, so a busy statement is
   * retried here, for at most {@link SQLITE_BUSY_MS}. If a file stays locked for longer, every further write fails at
   * its first attempt, because reads wait in line behind it.
   */
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const writes = isWrite(query) || query.sql === BEGIN;
    if (writes) this.#guard?.check();
    let since: number | undefined;
    for (;;) {
      try {
        const result = this.#execute<R>(query);
        if (writes) this.#lockedSince = undefined;
        return result;
      } catch (error) {
        if (!isBusy(error)) throw error;
        since ??= performance.now();
        if (writes) since = this.#lockedSince ??= since;
        if (performance.now() >= since + SQLITE_BUSY_MS) throw error;
      }
      await sleep(SQLITE_RETRY_MS);
    }
  }

  streamQuery(): never {
    throw new Error('streaming is not supported');
  }

  #execute<R>(query: CompiledQuery): QueryResult<R> {
    const statement = this.#database.prepare(query.sql);
    const parameters = query.parameters.map(stored) as SQLInputValue[];
    if (!isWrite(query) || returnsRows(query)) return { rows: decoded<R>(statement.all(...parameters)) };
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }
}

function returnsRows({ query }: CompiledQuery): boolean {
  return 'returning' in query && query.returning !== undefined;
}

/** Whether it changes the database. */
function isWrite({ query: { kind } }: CompiledQuery): boolean {
  return kind === 'InsertQueryNode' || kind === 'UpdateQueryNode' || kind === 'DeleteQueryNode';
}
