/** `culvert-relay tunnel …` (README.md). */
import { timestamp, viewResumed, viewSuspendedName, viewTunnel } from '../administration/views.ts';
import type { OwnedTunnel } from '../store/records.ts';
import { administering, readAdministration, readOptionalName, readReason, table } from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** `tunnel list`; throws CommandError. */
export async function listTunnelsCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['account']);
  const account = readOptionalName(flags['account'], '--account');
  const { tunnels, names } = await administering(shell, config, async (administration) => ({
    tunnels: await administration.listTunnels(account),
    names: await administration.listSuspendedNames(account),
  }));
  if (json) {
    const views = { tunnels: tunnels.map(viewTunnel), suspended_names: names.map(viewSuspendedName) };
    return shell.out(JSON.stringify(views));
  }
  if (tunnels.length === 0) shell.out('There are no live tunnels.');
  else showTunnels(shell, tunnels);
  if (names.length === 0) return;
  shell.out('');
  shell.out('Addresses of tunnels that ended while suspended. Nobody can use them until tunnel resume:');
  const rows = names.map((name) => [
    name.slug,
    name.account ?? '-',
    name.domain ?? '-',
    name.tunnelId,
    name.reason,
  ]);
  for (const line of table([['ADDRESS', 'ACCOUNT', 'DOMAIN', 'ID', 'SUSPENDED'], ...rows])) shell.out(line);
}

function showTunnels(shell: Shell, tunnels: readonly OwnedTunnel[]): void {
  const rows = tunnels.map(({ tunnel, account: owner }) => [
    tunnel.slug,
    owner.name,
    String(tunnel.requests),
    String(tunnel.bytesIn + tunnel.bytesOut),
    timestamp(tunnel.expiresAt),
    tunnel.id,
    tunnel.suspended === null ? '' : `suspended: ${tunnel.suspended}`,
  ]);
  const titles = ['TUNNEL', 'ACCOUNT', 'REQUESTS', 'BYTES', 'EXPIRES', 'ID', ''];
  for (const line of table([titles, ...rows])) shell.out(line);
}

/** `tunnel close ID|SLUG`; throws CommandError. */
export async function closeTunnelCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], { operands: 1 });
  const name = readTunnel(operands, 'close');
  const closed = await administering(shell, config, (administration) => administration.closeTunnel(name));
  if (json) shell.out(JSON.stringify({ ...viewTunnel(closed), status: 'closed' }));
  else shell.out(`Closed the tunnel ${closed.tunnel.slug} of the account "${closed.account.name}".`);
}

/** `tunnel suspend ID|SLUG`; throws CommandError. */
export async function suspendTunnelCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, flags, json } = readAdministration(shell, argv, ['reason'], { operands: 1 });
  const name = readTunnel(operands, 'suspend');
  const reason = readReason(flags['reason']);
  const { tunnel, account } = await administering(shell, config, (administration) =>
    administration.suspendTunnel(name, reason),
  );
  if (json) return shell.out(JSON.stringify(viewTunnel({ tunnel, account })));
  shell.out(
    `Suspended the tunnel ${tunnel.slug} of the account "${account.name}": its visitors get 451. If it ends, nobody gets its name.`,
  );
}

/** `tunnel resume ID|SLUG`; throws CommandError. */
export async function resumeTunnelCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], { operands: 1 });
  const name = readTunnel(operands, 'resume');
  const resumed = await administering(shell, config, (administration) => administration.resumeTunnel(name));
  if (json) return shell.out(JSON.stringify(viewResumed(resumed)));
  if ('tunnel' in resumed)
    shell.out(
      `The tunnel ${resumed.tunnel.slug} of the account "${resumed.account.name}" takes visitors again.`,
    );
  else shell.out(`The tunnel has ended. Its name ${resumed.slug} can be used again.`);
}

function readTunnel([name]: readonly string[], command: string): string {
  if (name !== undefined) return name;
  throw usageError(`tunnel ${command} takes the id or the name of a tunnel; tunnel list shows them`);
}
