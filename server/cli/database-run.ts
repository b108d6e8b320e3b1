/** The commands that copy a whole database: `culvert-relay backup` and `restore` for SQLite, and `migrate` from SQLite to PostgreSQL. */
import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, statSync } from 'node:fs';
import { quoted } from '../../shared/unprintable.ts';
import type { Kysely } from 'kysely';
import { table } from '../../shared/help-text.ts';
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
import type { Database } from '../store/records.ts';
import { backUp, restore } from '../store/sqlite/backup.ts';
import type { KeptEndings } from '../store/sqlite/keep-ended.ts';
import { openSqliteDatabase } from '../store/sqlite/open-sqlite.ts';
import { lockDatabase } from '../store/sqlite/sqlite-files.ts';
import { type TableCounts, transfer } from '../store/transfer.ts';
import { failure, type GivenCommand } from './admin-command.ts';
import { type Shell, usageError } from './command.ts';

/** @throws CommandError */
export async function runBackup(
  { config, flags, operands, json }: GivenCommand,
  shell: Shell,
): Promise<void> {
  const file = readFile(operands, 'backup');
  const path = pathOf(config);
  mustBeThere(path);
  shell.err(`culvert-relay: database ${path}`);
  // A link counts, wherever it leads.
  const existing = lstatSync(file, { throwIfNoEntry: false });
  if (existing !== undefined && flags['overwrite'] !== true)
    throw failure(`${file} already exists; choose a different file name, or use --overwrite`);
  const own = ['', '-wal', '-shm'].map((suffix) => statSync(path + suffix, { throwIfNoEntry: false })?.ino);
  if (existing !== undefined && (!existing.isFile() || own.includes(existing.ino)))
    throw failure(`${file} is not a backup; choose a different file name`);
  const bytes = await attempt('nothing was backed up', () => Promise.resolve(backUp(path, file)));
  if (json) shell.out(JSON.stringify({ database: path, file, bytes }));
  else shell.out(`Copied ${path} to ${file} (${bytes} bytes), which only you can read.`);
}

/** @throws CommandError, with nothing changed */
export async function runRestore({ config, operands, json }: GivenCommand, shell: Shell): Promise<void> {
  const file = readFile(operands, 'restore');
  const path = pathOf(config);
  mustBeThere(file);
  shell.err(`culvert-relay: database ${path}`);
  const now = systemClock.now();
  const name = `${path}.${new Date(now).toISOString().replaceAll(/[:.]/g, '-')}`;
  const entry = {
    id: randomUUID(),
    at: now,
    actor: `shell:${shell.user}`,
    action: 'restore',
    subject: path,
    detail: `from ${quoted(file)}`,
    accountId: null,
  };
  const { kept, ended, endedLinks } = await attempt('nothing was restored', async () => {
    const lock = lockDatabase(path);
    try {
      return await restore(path, file, name, entry);
    } finally {
      lock.release();
    }
  });
  if (kept === undefined) warnOfRevived(shell, path);
  if (json)
    return shell.out(
      JSON.stringify({ database: path, file, kept: kept ?? null, keys_revoked: ended.keysRevoked }),
    );
  shell.out(`Restored ${path} from ${file}. You can start the relay now.`);
  if (kept !== undefined) shell.out(`The previous database is in ${kept}.`);
  if (endedLinks > 0)
    shell.out(
      `${endedLinks} signed ${endedLinks === 1 ? 'link no longer works' : 'links no longer work'}: a backup does not contain the keys of links. Create new links.`,
    );
  for (const line of describeEnded(ended)) shell.out(line);
}

/** Without the database that is replaced nothing is known of what has happened since. */
function warnOfRevived(shell: Shell, path: string): void {
  shell.err(`culvert-relay: there was no database at ${path} to compare the backup with`);
  shell.err(
    '  Everything that ended after the backup was made is valid again: revoked keys and links, removed and',
  );
  shell.err(
    '  suspended accounts, used invitations, closed and suspended tunnels, and removed domains. Before you',
  );
  shell.err(
    '  start the relay, end them again. To list them, run: account list, key list, invite list, tunnel list',
  );
}

/** @returns a line for each kind of object that has ended since the backup was made, and stays so */
function describeEnded(ended: KeptEndings): string[] {
  const kinds: readonly (readonly [count: number, noun: string, end: string])[] = [
    [ended.keysRevoked, 'key', 'revoked'],
    [ended.accountsRemoved, 'account', 'removed'],
    [ended.accountsSuspended, 'account', 'suspended'],
    [ended.invitationsEnded, 'invitation', 'used or revoked'],
    [ended.tunnelsClosed, 'tunnel', 'closed'],
    [ended.tunnelsSuspended, 'tunnel', 'suspended'],
    [ended.domainsRemoved, 'domain', 'removed'],
    [ended.linksRevoked, 'link', 'revoked'],
    [ended.agentsRevoked, 'agent', 'revoked'],
    [ended.namesReleased, 'name', 'released'],
  ];
  return kinds
    .filter(([count]) => count > 0)
    .map(([count, noun, end]) =>
      count === 1
        ? `1 ${noun} that was ${end} after the backup stays ${end}.`
        : `${count} ${noun}s that were ${end} after the backup stay ${end}.`,
    );
}

async function attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failure(`${what}: ${describeError(error)}`);
  }
}

function mustBeThere(path: string): void {
  if (!existsSync(path)) throw failure(`there is no database at ${path}`);
}

function readFile([file]: readonly string[], command: string): string {
  if (file !== undefined && file !== '') return file;
  throw usageError(`${command} needs a file name`);
}

function pathOf({ database }: Config): string {
  if (database.kind === 'sqlite' && database.path !== ':memory:') return database.path;
  throw usageError('backup and restore work only with SQLite databases; for PostgreSQL, use pg_dump');
}

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
