/** `culvert-relay backup` and `restore`: copy a SQLite database, and put a copy back. */
import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync } from 'node:fs';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { describeError } from '../log.ts';
import { backUp, restore } from '../store/sqlite/backup.ts';
import type { KeptEndings } from '../store/sqlite/keep-ended.ts';
import { lockDatabase } from '../store/sqlite/sqlite-lock.ts';
import { failure, type GivenCommand } from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** @throws CommandError */
export async function runBackup({ config, operands, json }: GivenCommand, shell: Shell): Promise<void> {
  const file = readFile(operands, 'backup');
  const path = pathOf(config);
  mustBeThere(path);
  shell.err(`culvert-relay: database ${path}`);
  // A link counts, wherever it leads.
  if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
    throw failure(`${file} already exists; choose a different file name`);
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
    detail: `from ${file}`,
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
