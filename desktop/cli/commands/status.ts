/** `culvert status`: the account that an API key belongs to. */
import type { Domain } from '../../../shared/domains.ts';
import type { Account } from '../../../shared/tunnel.ts';
import type { RelayAccess } from '../../client/config/relay-access.ts';
import { byteSize } from '../../client/inspector/readable.ts';
import type { ApiClient } from '../../client/relay/api-client.ts';
import { DomainUnsupported, RelayRefusal } from '../../client/relay/errors.ts';
import { accessText } from '../command-line/access-options.ts';
import { apiOf, defineCommand } from '../command-line/command.ts';
import { COMMON } from '../command-line/options.ts';
import { fittingTable, jsonLine, lifetimeText, table, timeLeft } from '../output/format.ts';
import type { Output } from '../output/reporter.ts';
import { domainStatus } from './domain.ts';

export const statusCommand = defineCommand({
  name: 'status',
  summary: 'Show your account, its limits, domains and tunnels',
  options: COMMON,
  examples: { 'culvert status': 'show the account that your API key belongs to' },
  read: (line) => line.access(),
  run: (given, { output }) => runStatus(given, output),
});

async function runStatus(command: RelayAccess, output: Output): Promise<void> {
  const api = apiOf(command);
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
    timeLeft(Date.parse(tunnel.expires_at) - api.now()) + (tunnel.idle_ttl ? ' idle' : ''),
    String(tunnel.requests),
    byteSize(tunnel.bytes_in),
    byteSize(tunnel.bytes_out),
    accessText(tunnel.access),
    tunnel.public_url,
  ]);
  output.out(`\n${fittingTable(HEADING, rows, LEAST, output.columns)}`);
}

const HEADING = ['TUNNEL', 'STATE', 'PORT', 'TIME LEFT', 'REQUESTS', 'IN', 'OUT', 'ACCESS', 'ADDRESS'];
/** What is left out first where a terminal has no room. */
const LEAST = ['OUT', 'IN', 'REQUESTS', 'ACCESS', 'TIME LEFT', 'PORT'];

/** Empty if the relay does not support domains, or the key is scoped to one tunnel. */
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
  { name, plan, subdomain, limits, agent_key }: Account,
  live: number,
  domains: readonly Domain[],
): string {
  const { default_ttl, max_ttl, creates_per_minute, create_burst, max_tunnels, max_connections } = limits;
  return table([
    ['Relay', relay.origin],
    ['Account', `${name} (${plan} plan)${subdomain === null ? '' : `, subdomain ${subdomain}`}`],
    ...(agent_key === null
      ? []
      : [
          ['Key', `an agent's: names begin with ${agent_key.name_prefix}, and tunnels need an access policy`],
        ]),
    ['Tunnels', `${live} live, ${max_tunnels === null ? 'no limit' : `at most ${max_tunnels}`}`],
    ['Time to live', `${lifetimeText(default_ttl)} by default, at most ${lifetimeText(max_ttl)}`],
    ['Creates', `${creates_per_minute} per minute, with bursts of up to ${create_burst}`],
    ['Connections', max_connections === null ? 'no limit' : `at most ${max_connections} per tunnel`],
    ...(domains.length === 0 ? [] : [['Domains', domains.map(domainText).join(', ')]]),
  ]);
}
