/** `culvert-relay backup`, `restore`, `audit`, `secrets`, `doctor` and `migrate` (docs/operating). */
import { timestamp, viewAct } from '../administration/views.ts';
import { AUDIT_MAX } from '../store/records.ts';
import { adminCommand, readCount, table } from './administration.ts';

/* The runner of a command is a file of its own if it loads much that no other command needs. */

export const backupCommand = adminCommand({
  words: 'backup',
  forms: ['FILE [options]'],
  summary: 'Copy the SQLite database while the relay runs',
  options: {
    overwrite: { text: 'Replace FILE if it exists. It stays as it is until the new copy is complete.' },
  },
  examples: {
    'culvert-relay backup /var/backups/culvert.db': 'write a copy that only you can read',
    'culvert-relay backup --overwrite /var/backups/culvert.db': 'replace the copy of yesterday',
  },
  run: async (given, shell) => (await import('./database-run.ts')).runBackup(given, shell),
});

export const restoreCommand = adminCommand({
  words: 'restore',
  forms: ['FILE [options]'],
  summary: 'Restore a copy of the SQLite database',
  options: {},
  examples: { 'culvert-relay restore /var/backups/culvert.db': 'restore a backup' },
  details: `
    Stop the relay first. The previous database is kept. Anything that was revoked, removed or closed after the
    backup stays that way: keys, links, accounts, invitations, tunnels and domains.`,
  run: async (given, shell) => (await import('./database-run.ts')).runRestore(given, shell),
});

/* `culvert-relay audit`: who did what, and when. */

/** How many acts are shown unless more are asked for. */
const SHOWN = 100;

export const auditCommand = adminCommand({
  words: 'audit',
  forms: ['[options]'],
  summary: 'Show the audit log',
  options: { count: { value: 'NUMBER', text: 'How many entries to show, up to 10000. Default: 100.' } },
  examples: { 'culvert-relay audit': 'show who changed what, and when' },
  async run({ flags, json, administer }, shell) {
    const count = flags['count'] === undefined ? SHOWN : readCount(flags['count'], '--count', AUDIT_MAX);
    const acts = await administer((administration) => administration.audit(count));
    if (json) return shell.out(JSON.stringify({ acts: acts.map(viewAct) }));
    if (acts.length === 0) return shell.out('The audit log is empty.');
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
  words: 'secrets renew',
  forms: ['[options]'],
  summary: 'Invalidate all access cookies and signed links',
  options: {},
  examples: { 'culvert-relay secrets renew': 'use this, for example, after the database was stolen' },
  details: `Visitors to protected tunnels will have to authenticate again, and owners will have to create new links.`,
  async run({ json, administer }, shell) {
    const links = await administer((administration) => administration.renewSecrets());
    if (json) return shell.out(JSON.stringify({ status: 'renewed', links_ended: links }));
    shell.out(
      `Renewed the secrets that protect cookies, signed links and TLS session tickets. Visitors have to log in again.`,
    );
    if (links > 0)
      shell.out(
        `${links} signed ${links === 1 ? 'link has' : 'links have'} stopped working. Create new ones.`,
      );
  },
});

export const doctorCommand = adminCommand({
  words: 'doctor',
  forms: ['[options]'],
  summary: 'Check everything that the relay depends on',
  options: {
    idle: {
      value: 'DURATION',
      text: 'Also check that no proxy closes connections that are idle for this long, for example 5m.',
    },
  },
  examples: {
    'culvert-relay doctor': 'check the database, DNS, certificates, proxy and public address',
    'culvert-relay doctor --idle 5m': 'also find proxies that close idle connections',
  },
  details: `
    Run this command on the relay's machine with the same settings as the relay. It opens a test tunnel
    through the public address, and explains how to fix everything that fails.`,
  run: async (given, shell) => (await import('./doctor-run.ts')).runDoctor(given, shell),
});

export const migrateCommand = adminCommand({
  words: 'migrate',
  forms: ['--from sqlite:FILE [options]', '--undo sqlite:FILE [options]'],
  summary: 'Move from SQLite to PostgreSQL',
  options: {
    from: { value: 'sqlite:FILE', text: 'The SQLite database to move.' },
    to: {
      value: 'postgres://USER:PASSWORD@HOST/NAME',
      text: 'The empty database to move to. Default: CULVERT_DATABASE_URL, which keeps the password out of the process list.',
    },
    undo: {
      value: 'sqlite:FILE',
      text: 'Make a moved SQLite database usable again, as it was before the move.',
    },
  },
  examples: {
    'culvert-relay migrate --from sqlite:/var/lib/culvert/culvert.db':
      'move to the database in CULVERT_DATABASE_URL',
    'culvert-relay migrate --undo sqlite:/var/lib/culvert/culvert.db': 'go back to the SQLite file',
  },
  details: `Stop all relays that use either database first.`,
  run: async (given, shell) => (await import('./database-run.ts')).runMigrate(given, shell),
});
