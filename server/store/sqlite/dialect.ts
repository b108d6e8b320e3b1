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
import { SqliteConnection } from './connection.ts';

export class NodeSqliteDialect implements Dialect {
  readonly #database: DatabaseSync;

  /** @param database open database, closed with the Kysely instance */
  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  createDriver(): Driver {
    return new NodeSqliteDriver(this.#database);
  }

  createQueryCompiler(): QueryCompiler {
    return new SqliteQueryCompiler();
  }

  createAdapter(): SqliteAdapter {
    return new TransactionalDdlAdapter();
  }

  createIntrospector(db: Kysely<unknown>): DatabaseIntrospector {
    return new SqliteIntrospector(db);
  }
}

/**
 * Lets all migrations run in one transaction, which SQLite can undo. As it takes the write lock at its beginning, it is
 * also what keeps a second program from migrating at the same time.
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

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#connection = new SqliteConnection(database);
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
    // A transaction that reads first and writes later could not get the lock in between without starting over.
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
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
