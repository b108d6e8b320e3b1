/** `culvert login` and `culvert logout`. */
import type { Domain } from '../../shared/domains.ts';
import type { Account } from '../../shared/tunnel.ts';
import {
  checkKey,
  checkProtected,
  DEFAULT_RELAY_FROM,
  type Prompt,
  readRelay,
  type RelayAccess,
} from '../client/config/relay-access.ts';
import type { StoredLogin } from '../client/config/stored-login.ts';
import { ApiClient } from '../client/relay/api-client.ts';
import { DomainUnsupported, RelayRefusal } from '../client/relay/errors.ts';
import { takeInvitation } from '../client/relay/invitation.ts';
import { isProtected, type RelayAddress } from '../client/relay/relay-address.ts';
import { describeAccess } from './access-options.ts';
import type { LoginCommand, LogoutCommand, StatusCommand } from './commands.ts';
import { domainStatus } from './domain-commands.ts';
import { byteSize, jsonLine, table, timeLeft } from './format.ts';
import type { Output } from './reporter.ts';

/**
 * Checks a key with the relay, or gets one for an invitation, and stores both.
 *
 * @throws what {@link ApiClient.getAccount} and {@link takeInvitation} throw, and UsageError
 */
export async function runLogin(
  command: LoginCommand,
  stored: StoredLogin,
  prompt: Prompt,
  output: Output,
): Promise<void> {
  const relay = await chooseRelay(command, prompt);
  checkProtected(relay, command.relayFrom, command.insecure);
  const key = await findKey(command, relay, prompt);
  // An invitation is good once: what it gave is kept, whatever comes next.
  if (command.invitation !== undefined) await stored.write({ relay, key, ca: command.ca });
  const account = await new ApiClient(relay, key, command.network).getAccount();
  await stored.write({ relay, key, ca: command.ca });
  if (command.json) {
    output.out(jsonLine({ relay: relay.origin, account: account.name, plan: account.plan }));
  } else {
    const where = `The key is kept in ${stored.path}, which only you can read.`;
    output.out(`Signed in to ${relay.origin} as ${account.name} (${account.plan} plan).\n${where}\n`);
  }
  if (!isProtected(relay)) {
    output.err(`The way to ${relay.origin} is not encrypted: others on it can read the key.\n`);
  }
}

async function findKey(
  { key, invitation, network }: LoginCommand,
  relay: RelayAddress,
  prompt: Prompt,
): Promise<string> {
  if (invitation !== undefined) return (await takeInvitation(invitation, network)).key;
  return key ?? checkKey((await prompt.askSecret(`API key for ${relay.origin}: `)).trim());
}

async function chooseRelay(command: LoginCommand, prompt: Prompt): Promise<RelayAddress> {
  const { relay, relayFrom } = command;
  if (relayFrom !== DEFAULT_RELAY_FROM || !prompt.isInteractive) return relay;
  const answer = (await prompt.ask(`Relay [${relay.origin}]: `)).trim();
  return answer === '' ? relay : readRelay(answer.includes('://') ? answer : `https://${answer}`);
}

export async function runLogout(command: LogoutCommand, stored: StoredLogin, output: Output): Promise<void> {
  const wasSignedIn = await stored.remove();
  const text = wasSignedIn
    ? `Signed out: ${stored.path} is removed. The key itself stays valid.`
    : 'Nobody was signed in.';
  output.out(command.json ? jsonLine({ signed_out: wasSignedIn }) : `${text}\n`);
}

/* `culvert status`: the account, its limits and domains, and its live tunnels. */

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
