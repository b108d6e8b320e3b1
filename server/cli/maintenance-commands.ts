/** `culvert-relay backup`, `restore`, `audit`, `secrets`, `doctor` and `migrate` (docs/operating.md). */
import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync } from 'node:fs';
import { timestamp, viewAct } from '../administration/views.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { AUDIT_MAX } from '../limits.ts';
import { describeError } from '../log.ts';
import { backUp, restore } from '../store/sqlite/backup.ts';
import type { KeptEndings } from '../store/sqlite/keep-ended.ts';
import { lockDatabase } from '../store/sqlite/sqlite-lock.ts';
import { adminCommand, failure, readCount, table } from './administration.ts';
import { type Shell, usageError } from './command.ts';

export const backupCommand = adminCommand({
  usage: `backup FILE [--json]
    copy a SQLite database, while the relay runs`,
  async run({ config, operands, json }, shell) {
    const file = readFile(operands, 'backup');
    const path = pathOf(config);
    mustBeThere(path);
    shell.err(`culvert-relay: database ${path}`);
    // A link counts, wherever it leads.
    if (lstatSync(file, { throwIfNoEntry: false }) !== undefined)
      throw failure(`${file} is there already; choose another name`);
    const bytes = await attempt('nothing was backed up', () => Promise.resolve(backUp(path, file)));
    if (json) shell.out(JSON.stringify({ database: path, file, bytes }));
    else shell.out(`Copied ${path} to ${file} (${bytes} bytes), which only you can read.`);
  },
});

export const restoreCommand = adminCommand({
  usage: `restore FILE [--json]
    put a copy back, while no relay runs; the previous database is kept, and what was ended in it since stays ended:
    keys, links, accounts, invitations, tunnels and domains`,
  async run({ config, operands, json }, shell) {
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
    shell.out(`${path} is as it was when ${file} was made. Start the relay now.`);
    if (kept !== undefined) shell.out(`What was there before is in ${kept}.`);
    if (endedLinks > 0)
      shell.out(
        `${endedLinks} signed ${endedLinks === 1 ? 'link no longer works' : 'links no longer work'}: a copy has no keys of links. Create new ones.`,
      );
    for (const line of describeEnded(ended)) shell.out(line);
  },
});

/** Without the database that is replaced nothing is known of what has happened since. */
function warnOfRevived(shell: Shell, path: string): void {
  shell.err(`culvert-relay: there was no database ${path} to compare with`);
  shell.err(
    '  What was ended since the backup was made is in force again: revoked keys and links, removed and',
  );
  shell.err(
    '  suspended accounts, used invitations, closed and suspended tunnels, and removed domains. Before you',
  );
  shell.err('  start the relay, end them again. See: account list, key list, invite list, tunnel list');
}

/** @returns a line for each kind of thing that was ended since the backup was made, and stays so */
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
        ? `1 ${noun} that was ${end} since then stays ${end}.`
        : `${count} ${noun}s that were ${end} since then stay ${end}.`,
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

/* `culvert-relay audit`: who did what, and when (README.md). */

/** How many acts are shown unless more are asked for. */
const SHOWN = 100;

export const auditCommand = adminCommand({
  usage: `audit [--count NUMBER] [--json]
    show who did what, and when: the last 100 acts, or as many as are asked for`,
  async run({ flags, json, administer }, shell) {
    const count = flags['count'] === undefined ? SHOWN : readCount(flags['count'], '--count', AUDIT_MAX);
    const acts = await administer((administration) => administration.audit(count));
    if (json) return shell.out(JSON.stringify({ acts: acts.map(viewAct) }));
    if (acts.length === 0) return shell.out('Nobody has done anything yet.');
    const rows = acts.map(({ at, actor, action, subject, detail }) => [
      timestamp(at),
      actor,
      action,
      subject,
      detail,
    ]);
    for (const line of table([['AT', 'WHO', 'DID', 'TO', ''], ...rows])) shell.out(line);
  },
});

export const renewSecretsCommand = adminCommand({
  usage: `secrets renew [--json]
    end all cookies of visitors and all signed links, for example after a copy of the database was lost`,
  async run({ json, administer }, shell) {
    const links = await administer((administration) => administration.renewSecrets());
    if (json) return shell.out(JSON.stringify({ status: 'renewed', links_ended: links }));
    shell.out(
      `Renewed the secrets of cookies, signed links and session tickets. Visitors have to log in again.`,
    );
    if (links > 0)
      shell.out(`${links} signed ${links === 1 ? 'link has' : 'links have'} ended. Create new ones.`);
  },
});

/* Commands that load much which no other needs. */

export const doctorCommand = adminCommand({
  usage: `doctor [--idle DURATION] [--json]
    look at everything that the relay depends on, here and through its public address, with a tunnel of its own, and say
    what to do; with --idle also whether a response may be silent for that long`,
  run: async (given, shell) => (await import('./doctor-run.ts')).runDoctor(given, shell),
});

export const migrateCommand = adminCommand({
  usage: `migrate --from sqlite:FILE [--to postgres://USER:PASSWORD@HOST/NAME] [--json]
    move everything from a SQLite file to an empty PostgreSQL database, while no relay runs; without --to, to that of
    CULVERT_DATABASE_URL, which keeps its password out of the process list
migrate --undo sqlite:FILE [--json]
    use a file again from which everything was moved, as it was then`,
  run: async (given, shell) => (await import('./migrate-run.ts')).runMigrate(given, shell),
});
