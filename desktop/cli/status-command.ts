/** `culvert status`: the account, its limits, and its live tunnels. */
import type { Account } from '../../shared/tunnel.ts';
import { ApiClient } from '../engine/relay/api-client.ts';
import type { RelayAccess } from './relay-access.ts';
import type { StatusCommand } from './arguments.ts';
import { byteSize, table, timeLeft } from './format.ts';
import { jsonLine } from './json-line.ts';
import type { Output } from './reporter.ts';

/** @param now ms since the epoch */
export async function runStatus(command: StatusCommand, output: Output, now: number): Promise<void> {
  const api = new ApiClient(command.relay, command.key, command.network);
  const [account, tunnels] = await Promise.all([api.getAccount(), api.listTunnels()]);
  if (command.json) {
    output.out(jsonLine({ relay: command.relay.origin, account, tunnels }));
    return;
  }
  output.out(accountLines(command, account, tunnels.length));
  if (tunnels.length === 0) return;
  const rows = tunnels.map((tunnel) => [
    tunnel.slug,
    String(tunnel.local_port),
    timeLeft(Date.parse(tunnel.expires_at) - now) + (tunnel.idle_ttl ? ' idle' : ''),
    String(tunnel.requests),
    byteSize(tunnel.bytes_in),
    byteSize(tunnel.bytes_out),
    tunnel.public_url,
  ]);
  output.out(`\n${table([['TUNNEL', 'PORT', 'TIME LEFT', 'REQUESTS', 'IN', 'OUT', 'ADDRESS'], ...rows])}`);
}

function accountLines(
  { relay }: RelayAccess,
  { name, plan, subdomain, limits }: Account,
  live: number,
): string {
  const { default_ttl, max_ttl, creates_per_minute, create_burst, max_tunnels, max_connections } = limits;
  return table([
    ['Relay', relay.origin],
    ['Account', `${name} (${plan} plan)${subdomain === null ? '' : `, subdomain ${subdomain}`}`],
    ['Tunnels', `${live} live, ${max_tunnels === null ? 'without a limit' : `at most ${max_tunnels}`}`],
    ['Time to live', `${default_ttl} unless asked for, at most ${max_ttl}`],
    ['Creates', `${creates_per_minute} a minute, ${create_burst} at once`],
    [
      'Connections',
      max_connections === null ? 'without a limit' : `at most ${max_connections} of each tunnel`,
    ],
  ]);
}
