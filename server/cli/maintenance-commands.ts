/** `culvert-relay backup`, `restore`, `doctor` and `migrate` (docs/operating). */
import { adminCommand } from './admin-command.ts';

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
