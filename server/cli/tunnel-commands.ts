/** `culvert-relay tunnel …` (README.md). */
import { timestamp, viewTunnel } from '../administration/views.ts';
import { administering, readAdministration, readOptionalName, readReason, table } from './administration.ts';
import { type Shell, usageError } from './command.ts';

/** `tunnel list`; throws CommandError. */
export async function listTunnelsCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, flags, json } = readAdministration(shell, argv, ['account']);
  const account = readOptionalName(flags['account'], '--account');
  const tunnels = await administering(shell, config, (administration) => administration.listTunnels(account));
  if (json) return shell.out(JSON.stringify({ tunnels: tunnels.map(viewTunnel) }));
  if (tunnels.length === 0) return shell.out('There are no live tunnels.');
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
  shell.out(`Suspended the tunnel ${tunnel.slug} of the account "${account.name}": its visitors get 451.`);
}

/** `tunnel resume ID|SLUG`; throws CommandError. */
export async function resumeTunnelCommand(shell: Shell, argv: readonly string[]): Promise<void> {
  const { config, operands, json } = readAdministration(shell, argv, [], { operands: 1 });
  const name = readTunnel(operands, 'resume');
  const { tunnel, account } = await administering(shell, config, (administration) =>
    administration.suspendTunnel(name, null),
  );
  if (json) return shell.out(JSON.stringify(viewTunnel({ tunnel, account })));
  shell.out(`The tunnel ${tunnel.slug} of the account "${account.name}" takes visitors again.`);
}

function readTunnel([name]: readonly string[], command: string): string {
  if (name !== undefined) return name;
  throw usageError(`tunnel ${command} takes the id or the name of a tunnel; tunnel list shows them`);
}
