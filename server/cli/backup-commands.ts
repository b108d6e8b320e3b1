/** `culvert-relay backup` and `restore` (docs/operating.md). */
import { existsSync } from 'node:fs';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { describeError } from '../log.ts';
import { backUp, restore } from '../store/sqlite/backup.ts';
import { lockDatabase } from '../store/sqlite/relay-lock.ts';
import { failure, readAdministration } from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** `backup FILE`; throws CommandError. */
export async function backupCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], { operands: 1 });
  const file = readFile(operands, 'backup');
  const path = pathOf(config);
  mustBeThere(path);
  shell.err(`culvert-relay: database ${path}`);
  if (existsSync(file)) throw failure(`${file} is there already; choose another name`);
  const bytes = await attempt('nothing was backed up', () => Promise.resolve(backUp(path, file)));
  if (json) shell.out(JSON.stringify({ database: path, file, bytes }));
  else shell.out(`Copied ${path} to ${file} (${bytes} bytes), which only you can read.`);
}

/** `restore FILE`; throws CommandError, with nothing changed. */
export async function restoreCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], { operands: 1 });
  const file = readFile(operands, 'restore');
  const path = pathOf(config);
  mustBeThere(file);
  shell.err(`culvert-relay: database ${path}`);
  const name = `${path}.${new Date(systemClock.now()).toISOString().replaceAll(/[:.]/g, '-')}`;
  const { kept, revoked, endedLinks } = await attempt('nothing was restored', async () => {
    const lock = lockDatabase(path);
    try {
      return await restore(path, file, name);
    } finally {
      lock.release();
    }
  });
  if (json)
    return shell.out(JSON.stringify({ database: path, file, kept: kept ?? null, keys_revoked: revoked }));
  shell.out(`${path} is as it was when ${file} was made. Start the relay now.`);
  if (kept !== undefined) shell.out(`What was there before is in ${kept}.`);
  if (revoked > 0) shell.out(`${revoked} keys that were revoked since then stay revoked.`);
  if (endedLinks > 0)
    shell.out(
      `${endedLinks} signed ${endedLinks === 1 ? 'link no longer works' : 'links no longer work'}: a copy has no keys of links. Create new ones.`,
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
  if (!existsSync(path)) throw failure(`there is no database ${path}`);
}

function readFile([file]: readonly string[], command: string): string {
  if (file !== undefined && file !== '') return file;
  throw usageError(`${command} takes the name of a file`);
}

function pathOf({ database }: Config): string {
  if (database.kind === 'sqlite' && database.path !== ':memory:') return database.path;
  throw usageError('backup and restore are for a database in a SQLite file; for PostgreSQL there is pg_dump');
}
