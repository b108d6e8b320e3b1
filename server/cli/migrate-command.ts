/** `culvert-relay migrate`: moves an installation from SQLite to PostgreSQL. */
import { existsSync } from 'node:fs';
import type { Config } from '../config.ts';
import { describeError } from '../log.ts';
import { type DatabaseAddress, nameOfDatabase, readDatabaseAddress } from '../store/address.ts';
import type { PostgresAddress } from '../store/postgres/connection.ts';
import { openSqliteDatabase } from '../store/sqlite/open-sqlite.ts';
import { lockDatabase } from '../store/sqlite/relay-lock.ts';
import { type TableCounts, transfer } from '../store/transfer.ts';
import { failure, readAdministration, table } from './administration.ts';
import { type Shell, usageError } from './command.ts';

type SqliteAddress = Extract<DatabaseAddress, { kind: 'sqlite' }>;

/** `migrate`; throws CommandError, and then has changed nothing in either database. */
export async function migrateCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['from', 'to']);
  const from = readSource(flags['from']);
  const to = readTarget(flags['to'], config);
  const counts = await move(from, to);
  const [source, target] = [nameOfDatabase(from), nameOfDatabase(to)];
  if (json) return shell.out(JSON.stringify({ from: source, to: target, rows: counts }));
  const rows = Object.entries(counts).map(([name, count]) => [name, String(count)]);
  for (const line of table([['TABLE', 'ROWS'], ...rows])) shell.out(line);
  shell.out(`Copied ${source} to ${target} and counted both. Start the relay with that database now;`);
  shell.out(`${source} is as it was.`);
}

async function move(from: SqliteAddress, to: PostgresAddress): Promise<TableCounts> {
  // Opening it would create it.
  if (!existsSync(from.path)) throw failure(`there is no database ${from.path}`);
  try {
    const lock = lockDatabase(from.path);
    try {
      return await moveLocked(from, to);
    } finally {
      lock.release();
    }
  } catch (error) {
    throw failure(`nothing was moved: ${describeError(error)}`);
  }
}

async function moveLocked(from: SqliteAddress, to: PostgresAddress): Promise<TableCounts> {
  const source = await openSqliteDatabase(from.path);
  try {
    const { openPostgresDatabase } = await import('../store/postgres/open-postgres.ts');
    const target = await openPostgresDatabase(to);
    try {
      return await transfer(source, target);
    } catch (error) {
      throw new Error(`cannot copy to ${nameOfDatabase(to)}`, { cause: error });
    } finally {
      await target.destroy();
    }
  } finally {
    await source.destroy();
  }
}

function readSource(given: unknown): SqliteAddress {
  const address = typeof given === 'string' ? readDatabaseAddress(given) : undefined;
  if (address?.kind === 'sqlite' && address.path !== ':memory:') return address;
  throw usageError('--from takes sqlite:<path of a file>');
}

function readTarget(given: unknown, { database }: Config): PostgresAddress {
  const address = typeof given === 'string' ? readDatabaseAddress(given) : database;
  if (address?.kind === 'postgres') return address;
  throw usageError(
    '--to takes postgres://[user[:password]@]host[:port]/database; without it, CULVERT_DATABASE_URL has to',
  );
}
