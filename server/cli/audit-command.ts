/** `culvert-relay audit`: who did what, and when (README.md). */
import { timestamp, viewAct } from '../administration/views.ts';
import { AUDIT_MAX } from '../limits.ts';
import { administering, readAdministration, readCount, table } from './administration.ts';
import type { Shell } from './command.ts';

/** How many acts are shown unless more are asked for. */
const SHOWN = 100;

/** `audit`; throws CommandError. */
export async function auditCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['count']);
  const count = flags['count'] === undefined ? SHOWN : readCount(flags['count'], '--count', AUDIT_MAX);
  const acts = await administering(shell, config, (administration) => administration.audit(count));
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
}
