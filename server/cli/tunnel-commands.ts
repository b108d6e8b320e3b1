/** `culvert-relay tunnel …`. */
import { timestamp, viewResumed, viewSuspendedName, viewTunnel } from '../administration/views.ts';
import type { OwnedTunnel } from '../store/records.ts';
import { adminCommand, readOptionalName, readReason, table } from './administration.ts';
import { type Shell, usageError } from './command.ts';

export const listTunnelsCommand = adminCommand({
  words: 'tunnel list',
  forms: ['[options]'],
  summary: 'List live tunnels and suspended addresses',
  options: { account: { value: 'NAME', text: "List only this account's tunnels and addresses." } },
  examples: { 'culvert-relay tunnel list': "show each tunnel's account, traffic and expiry" },
  async run({ flags, json, administer }, shell) {
    const account = readOptionalName(flags['account'], '--account');
    const { tunnels, names } = await administer(async (administration) => ({
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
    shell.out(
      'These addresses belonged to tunnels that closed or expired while suspended. They stay blocked until you run "culvert-relay tunnel resume":',
    );
    const rows = names.map((name) => [
      name.slug,
      name.account ?? '-',
      name.domain ?? '-',
      name.tunnelId,
      name.reason,
    ]);
    for (const line of table([['ADDRESS', 'ACCOUNT', 'DOMAIN', 'ID', 'SUSPENDED'], ...rows])) shell.out(line);
  },
});

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

export const closeTunnelCommand = adminCommand({
  words: 'tunnel close',
  forms: ['ID|SLUG [options]'],
  summary: 'Close a tunnel',
  options: {},
  examples: { 'culvert-relay tunnel close my-app': 'close the tunnel and disconnect its client' },
  async run({ operands, json, administer }, shell) {
    const name = readTunnel(operands, 'close');
    const closed = await administer((administration) => administration.closeTunnel(name));
    if (json) shell.out(JSON.stringify({ ...viewTunnel(closed), status: 'closed' }));
    else shell.out(`Closed the tunnel ${closed.tunnel.slug} of the account "${closed.account.name}".`);
  },
});

export const suspendTunnelCommand = adminCommand({
  words: 'tunnel suspend',
  forms: ['ID|SLUG --reason TEXT [options]'],
  summary: 'Suspend a tunnel',
  options: {
    reason: { value: 'TEXT', text: "The reason, which is shown to the account's owner." },
  },
  examples: { "culvert-relay tunnel suspend my-app --reason 'reported as phishing'": 'block its visitors' },
  details: `Visitors get status 451. If the tunnel closes or expires, nobody can use its name or domain until you resume it.`,
  async run({ operands, flags, json, administer }, shell) {
    const name = readTunnel(operands, 'suspend');
    const reason = readReason(flags['reason']);
    const { tunnel, account } = await administer((administration) =>
      administration.suspendTunnel(name, reason),
    );
    if (json) return shell.out(JSON.stringify(viewTunnel({ tunnel, account })));
    shell.out(
      `Suspended the tunnel ${tunnel.slug} of the account "${account.name}": its visitors get status 451. If the tunnel closes or expires, its name stays blocked.`,
    );
  },
});

export const resumeTunnelCommand = adminCommand({
  words: 'tunnel resume',
  forms: ['ID|SLUG [options]'],
  summary: 'Resume a suspended tunnel, or free its name',
  options: {},
  examples: { 'culvert-relay tunnel resume my-app': 'let its visitors in again' },
  async run({ operands, json, administer }, shell) {
    const name = readTunnel(operands, 'resume');
    const resumed = await administer((administration) => administration.resumeTunnel(name));
    if (json) return shell.out(JSON.stringify(viewResumed(resumed)));
    if ('tunnel' in resumed)
      shell.out(
        `The tunnel ${resumed.tunnel.slug} of the account "${resumed.account.name}" accepts visitors again.`,
      );
    else shell.out(`The tunnel has ended. Its name ${resumed.slug} can be used again.`);
  },
});

function readTunnel([name]: readonly string[], command: string): string {
  if (name !== undefined) return name;
  throw usageError(`tunnel ${command} needs a tunnel's id or name; "culvert-relay tunnel list" shows them`);
}
