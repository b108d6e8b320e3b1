/** `culvert-relay secrets …` (docs/operating.md). */
import { administering, readAdministration } from './administration.ts';
import type { Shell } from './command.ts';

/** `secrets renew`; throws CommandError. */
export async function renewSecretsCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, json } = readAdministration(shell, argv, []);
  const links = await administering(shell, config, (administration) => administration.renewSecrets());
  if (json) return shell.out(JSON.stringify({ status: 'renewed', links_ended: links }));
  shell.out(
    `Renewed the secrets of cookies, signed links and session tickets. Visitors have to log in again.`,
  );
  if (links > 0)
    shell.out(`${links} signed ${links === 1 ? 'link has' : 'links have'} ended. Create new ones.`);
}
