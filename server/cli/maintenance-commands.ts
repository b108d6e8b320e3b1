/** `culvert-relay backup`, `restore`, `audit`, `secrets`, `doctor` and `migrate` (docs/operating). */
import { timestamp, viewAct } from '../administration/views.ts';
import { AUDIT_MAX } from '../limits.ts';
import { adminCommand, readCount, table } from './administration.ts';

/* The runner of a command is a file of its own if it loads much that no other command needs. */

export const backupCommand = adminCommand({
  usage: `backup FILE [--json]
    copy a SQLite database, while the relay runs`,
  run: async (given, shell) => (await import('./backup-run.ts')).runBackup(given, shell),
});

export const restoreCommand = adminCommand({
  usage: `restore FILE [--json]
    put a copy back, while no relay runs; the previous database is kept, and what was ended in it since stays ended:
    keys, links, accounts, invitations, tunnels and domains`,
  run: async (given, shell) => (await import('./backup-run.ts')).runRestore(given, shell),
});

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
