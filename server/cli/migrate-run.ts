/** `culvert-relay migrate`: moves an installation from SQLite to PostgreSQL. */
import { existsSync } from 'node:fs';
import type { Kysely } from 'kysely';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { describeError } from '../log.ts';
import {
  type DatabaseAddress,
  nameOfDatabase,
  readDatabaseAddress,
  unmarkMoved,
} from '../store/database-address.ts';
import type { PostgresAddress } from '../store/postgres/open-postgres.ts';
import type { Database } from '../store/schema.ts';
import { openSqliteDatabase } from '../store/sqlite/open-sqlite.ts';
import { lockDatabase } from '../store/sqlite/sqlite-lock.ts';
import { type TableCounts, transfer } from '../store/transfer.ts';
import { failure, type GivenCommand, table } from './administration.ts';
import { type Shell, usageError } from './command.ts';

type SqliteAddress = Extract<DatabaseAddress, { kind: 'sqlite' }>;

/** @throws CommandError, and then has changed nothing in either database */
export async function runMigrate({ config, flags, json }: GivenCommand, shell: Shell): Promise<void> {
  if (flags['undo'] !== undefined) return await undo(shell, readSource(flags['undo'], '--undo'), json);
  const from = readSource(flags['from'], '--from');
  const to = readTarget(flags['to'], config);
  const counts = await move(from, to);
  const [source, target] = [nameOfDatabase(from), nameOfDatabase(to)];
  if (json) return shell.out(JSON.stringify({ from: source, to: target, rows: counts }));
  const rows = Object.entries(counts).map(([name, count]) => [name, String(count)]);
  for (const line of table([['TABLE', 'ROWS'], ...rows])) shell.out(line);
  shell.out(
    `Copied ${source} to ${target} and compared the row counts. Now start the relay with the new database.`,
  );
  shell.out(`${source} is unchanged, but relays and commands refuse to use it from now on.`);
}

/** Restores a file that was moved away: the way back as long as the other database is unused. */
async function undo(shell: Shell, file: SqliteAddress, json: boolean): Promise<void> {
  const wasMoved = await onLocked(file, 'changed', unmarkMoved);
  if (!wasMoved) throw failure(`the database ${file.path} was never moved to another one`);
  if (json) return shell.out(JSON.stringify({ database: file.path, status: 'in use again' }));
  shell.out(`A relay can use ${file.path} again. It does not contain changes made since the move:`);
  shell.out(
    'keys that have been revoked since then are valid again, and tunnels that have been closed are back.',
  );
}

async function move(from: SqliteAddress, to: PostgresAddress): Promise<TableCounts> {
  return await onLocked(from, 'moved', async (source) => {
    const { openPostgresDatabase } = await import('../store/postgres/open-postgres.ts');
    const target = await openPostgresDatabase(to);
    const name = nameOfDatabase(to);
    try {
      return await transfer(source, { db: target, name, now: systemClock.now() });
    } catch (error) {
      throw new Error(`cannot copy to ${name}`, { cause: error });
    } finally {
      await target.destroy();
    }
  });
}

/** Works on a file that must be there, while no relay uses it. */
async function onLocked<T>(
  { path }: SqliteAddress,
  what: 'moved' | 'changed',
  work: (db: Kysely<Database>) => Promise<T>,
): Promise<T> {
  // Locking would make its folder.
  if (!existsSync(path)) throw failure(`there is no database at ${path}`);
  try {
    const lock = lockDatabase(path);
    try {
      const db = await openSqliteDatabase(path, 'must-exist');
      try {
        return await work(db);
      } finally {
        await db.destroy();
      }
    } finally {
      lock.release();
    }
  } catch (error) {
    throw failure(`nothing was ${what}: ${describeError(error)}`);
  }
}

function readSource(given: unknown, flag: string): SqliteAddress {
  const address = typeof given === 'string' ? readDatabaseAddress(given) : undefined;
  if (address?.kind === 'sqlite' && address.path !== ':memory:') return address;
  throw usageError(`${flag} must be sqlite:<path of a file>`);
}

function readTarget(given: unknown, { database }: Config): PostgresAddress {
  const address = typeof given === 'string' ? readDatabaseAddress(given) : database;
  if (address?.kind === 'postgres') return address;
  throw usageError(
    '--to, or CULVERT_DATABASE_URL without it, must be postgres://[user[:password]@]host[:port]/database',
  );
}
