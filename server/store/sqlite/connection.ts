/** A SQLite file as the connection Kysely sends its queries through. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import { SQLITE_BUSY_MS, SQLITE_RETRY_MS } from '../../limits.ts';

/** https://www.sqlite.org/rescode.html#busy; the low byte, the rest tells the kind */
const SQLITE_BUSY = 5;

export class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /**
   * Runs one statement. SQLite's own wait for a locked file would stop the whole process, so a busy statement is
   * tried again from here, for at most {@link SQLITE_BUSY_MS}.
   */
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const deadline = performance.now() + SQLITE_BUSY_MS;
    for (;;) {
      try {
        return this.#execute(query);
      } catch (error) {
        if (!isBusy(error) || performance.now() >= deadline) throw error;
      }
      await sleep(SQLITE_RETRY_MS);
    }
  }

  streamQuery(): never {
    throw new Error('streaming is not supported');
  }

  #execute<R>(query: CompiledQuery): QueryResult<R> {
    const statement = this.#database.prepare(query.sql);
    const parameters = query.parameters as readonly SQLInputValue[];
    if (!isWrite(query)) return { rows: statement.all(...parameters) as R[] };
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }
}

/** Whether rows are counted rather than read; no query here asks a write for rows. */
function isWrite({ query: { kind } }: CompiledQuery): boolean {
  return kind === 'InsertQueryNode' || kind === 'UpdateQueryNode' || kind === 'DeleteQueryNode';
}

function isBusy(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  return (code & 0xff) === SQLITE_BUSY;
}
