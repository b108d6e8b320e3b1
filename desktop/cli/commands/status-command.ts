/** `culvert status`: the account, its limits and domains, and its live tunnels. */
import type { Account } from '../../../shared/tunnel.ts';
import type { Domain } from '../../../shared/domains.ts';
import { describeAccess } from '../access-text.ts';
import { domainStatus } from './domain-commands.ts';
import { DomainUnsupported, RelayRefusal } from '../../engine/relay/errors.ts';
import { ApiClient } from '../../engine/relay/api-client.ts';
import type { RelayAccess } from '../relay-access.ts';
import type { StatusCommand } from '../arguments/commands.ts';
import { byteSize, table, timeLeft } from '../format.ts';
import { jsonLine } from '../json-line.ts';
import type { Output } from '../reporter.ts';

/** @param now ms since the epoch */
export async function runStatus(command: StatusCommand, output: Output, now: number): Promise<void> {
  const api = new ApiClient(command.relay, command.key, command.network);
  const [account, tunnels, domains] = await Promise.all([
    api.getAccount(),
    api.listTunnels(),
    domainsOf(api),
  ]);
  if (command.json) {
    output.out(jsonLine({ relay: command.relay.origin, account, tunnels, domains }));
    return;
  }
  output.out(accountLines(command, account, tunnels.length, domains));
  if (tunnels.length === 0) return;
  const rows = tunnels.map((tunnel) => [
    tunnel.slug,
    tunnel.online ? 'online' : 'offline',
    String(tunnel.local_port),
    timeLeft(Date.parse(tunnel.expires_at) - now) + (tunnel.idle_ttl ? ' idle' : ''),
    String(tunnel.requests),
    byteSize(tunnel.bytes_in),
    byteSize(tunnel.bytes_out),
    describeAccess(tunnel.access) ?? 'everybody',
    tunnel.public_url,
  ]);
  output.out(
    `\n${table([['TUNNEL', 'STATE', 'PORT', 'TIME LEFT', 'REQUESTS', 'IN', 'OUT', 'LETS IN', 'ADDRESS'], ...rows])}`,
  );
}

/** None where the relay is too old for domains, or the key is for one tunnel alone. */
async function domainsOf(api: ApiClient): Promise<readonly Domain[]> {
  try {
    return await api.listDomains();
  } catch (error) {
    const isForbidden = error instanceof RelayRefusal && error.status === 403;
    if (isForbidden || error instanceof DomainUnsupported) return [];
    throw error;
  }
}

function domainText(one: Domain): string {
  return `${one.domain} (${domainStatus(one)})`;
}

function accountLines(
  { relay }: RelayAccess,
  { name, plan, subdomain, limits }: Account,
  live: number,
  domains: readonly Domain[],
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
    ...(domains.length === 0 ? [] : [['Domains', domains.map(domainText).join(', ')]]),
  ]);
}
