/** Kysely's SQLite dialect on Node's own driver: nothing to compile, nothing to download. */
import type { DatabaseSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type DatabaseIntrospector,
  type Dialect,
  type Driver,
  type Kysely,
  type QueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { BEGIN, SqliteConnection } from './connection.ts';
import type { FileGuard } from './file-guard.ts';

export class NodeSqliteDialect implements Dialect {
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
 * Lets all migrations run in one transaction, which SQLite can undo. As it takes the write lock at its beginning, it also
 * keeps a second program from migrating at the same time.
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

  constructor(database: DatabaseSync, guard: FileGuard | undefined) {
    this.#database = database;
    this.#connection = new SqliteConnection(database, guard);
  }

  init(): Promise<void> {
    return Promise.resolve();
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
    this.#database.close();
    return Promise.resolve();
  }
}
