/** `culvert login`, `logout` and `status`. */
import type { Domain } from '../../shared/domains.ts';
import type { Account } from '../../shared/tunnel.ts';
import { byteSize } from '../client/inspector/readable.ts';
import {
  checkKey,
  checkProtected,
  DEFAULT_RELAY_FROM,
  findRelay,
  type Prompt,
  readNetwork,
  readRelay,
  readSettings,
  type RelayAccess,
  type RelaySources,
} from '../client/config/relay-access.ts';
import { UsageError } from '../client/failures.ts';
import type { Network } from '../client/network/network.ts';
import { ApiClient } from '../client/relay/api-client.ts';
import { DomainUnsupported, RelayRefusal } from '../client/relay/errors.ts';
import { type InvitationAddress, readInvitation, takeInvitation } from '../client/relay/invitation.ts';
import { isProtected, type RelayAddress } from '../client/relay/relay-address.ts';
import { describeAccess } from './access-options.ts';
import { apiOf, type CommandContext, type CommandLine, defineCommand } from './command.ts';
import { domainStatus } from './domain-commands.ts';
import { jsonLine, table, timeLeft } from './format.ts';
import { COMMON } from './options.ts';
import type { Output } from './reporter.ts';

interface LoginAddress {
  readonly relay: RelayAddress;
  /** the source of the address, for messages */
  readonly relayFrom: string;
  /** gives the key; `undefined` for the address of a relay */
  readonly invitation: InvitationAddress | undefined;
}

export const loginCommand = defineCommand({
  name: 'login',
  operands: '[ADDRESS]',
  summary: 'Store an API key, or accept an invitation',
  options: COMMON,
  meanings: { key: 'API key. Default: the command asks for it and does not show what you type.' },
  examples: {
    'culvert login https://relay.example.com': "ask for this relay's API key and store it",
    'culvert login https://relay.example.com/invite/aB3_-aB3_-aB3_-aB3_-aB3_-aB3_-xy': 'accept an invitation',
    'pass show culvert | culvert login https://relay.example.com': 'read the key from standard input',
  },
  details: `
    ADDRESS is either a relay's address, as with --relay, or an invitation. An invitation works once and gives you a
    new key. In the relay's list of keys, the operator sees that key under this machine's name.

    Before storing the key, the command checks it with the relay. If it is not running in a terminal, it reads the key
    from the first line of standard input. A stored key is sent only to the relay that accepted it.`,
  read: readLogin,
  async run(given, context) {
    await runLogin(given, context);
  },
});

export const logoutCommand = defineCommand({
  name: 'logout',
  operands: '',
  summary: 'Delete the stored API key',
  options: { Output: ['json'] },
  examples: { 'culvert logout': 'delete the stored relay and API key' },
  details: `
    The key itself stays valid. The relay's operator can revoke it with "culvert-relay key revoke".`,
  read(line) {
    line.atMost(0);
    return { json: line.values.json ?? false };
  },
  async run({ json }, { stored, output }) {
    const wasSignedIn = await stored.remove();
    const text = wasSignedIn
      ? `Signed out and removed ${stored.path}. The key itself stays valid.`
      : 'You were not signed in.';
    output.out(json ? jsonLine({ signed_out: wasSignedIn }) : `${text}\n`);
  },
});

export const statusCommand = defineCommand({
  name: 'status',
  operands: '',
  summary: 'Show your account, its limits, domains and tunnels',
  options: COMMON,
  examples: { 'culvert status': 'show the account that your API key belongs to' },
  read: (line) => line.accessAlone(),
  run: (given, { output }) => runStatus(given, output, Date.now()),
});

export interface GivenLogin extends LoginAddress {
  readonly network: Network;
  /** certificates (PEM) of authorities to trust for this relay from now on */
  readonly ca: string | undefined;
  /** otherwise the user is asked for it */
  readonly key: string | undefined;
  readonly insecure: boolean;
  readonly json: boolean;
}

function readLogin(line: CommandLine): GivenLogin {
  line.atMost(1);
  const { key, json = false, insecure = false } = line.values;
  const sources = line.accessSources();
  return {
    ...readLoginAddress(line.operands[0], sources),
    network: readNetwork(sources),
    ca: readSettings(sources).ca,
    key: key === undefined ? undefined : checkKey(key),
    insecure,
    json,
  };
}

/**
 * @param given an invitation, or the address of a relay; without it, options and environment decide
 * @throws UsageError
 */
export function readLoginAddress(given: string | undefined, sources: RelaySources): LoginAddress {
  if (given === undefined) {
    const { relay, relayFrom } = findRelay(sources);
    return { relay, relayFrom, invitation: undefined };
  }
  const { relay: other, key } = sources.options;
  if (other !== undefined) throw new UsageError('--relay and an address cannot be combined.');
  const invitation = readInvitation(given);
  if (invitation === undefined) return { relay: readRelay(given), relayFrom: 'the address', invitation };
  if (key !== undefined)
    throw new UsageError(
      '--key and an invitation cannot be combined, because the invitation gives you a key.',
    );
  return { relay: invitation.relay, relayFrom: 'the address', invitation };
}

/**
 * Checks a key with the relay, or gets one for an invitation, and stores both.
 *
 * @returns the key
 * @throws what {@link ApiClient.getAccount} and {@link takeInvitation} throw, and UsageError
 */
export async function runLogin(
  command: GivenLogin,
  { stored, prompt, output }: Pick<CommandContext, 'stored' | 'prompt' | 'output'>,
): Promise<string> {
  const relay = await chooseRelay(command, prompt);
  checkProtected(relay, command.relayFrom, command.insecure);
  const { key, isFromInvitation } = await findKey(command, relay, prompt);
  // An invitation works once, so its key is stored before anything else can fail.
  if (isFromInvitation) await stored.write({ relay, key, ca: command.ca });
  const account = await new ApiClient(relay, key, command.network).getAccount();
  await stored.write({ relay, key, ca: command.ca });
  if (command.json) {
    output.out(jsonLine({ relay: relay.origin, account: account.name, plan: account.plan }));
  } else {
    const where = `The key is stored in ${stored.path}, which only you can read.`;
    output.out(`Signed in to ${relay.origin} as ${account.name} (${account.plan} plan).\n${where}\n`);
  }
  if (!isProtected(relay)) {
    output.err(`culvert: The connection to ${relay.origin} is not encrypted, so others can read the key.\n`);
  }
  return key;
}

async function findKey(
  { key, invitation, network }: GivenLogin,
  relay: RelayAddress,
  prompt: Prompt,
): Promise<{ readonly key: string; readonly isFromInvitation: boolean }> {
  if (key !== undefined) return { key, isFromInvitation: false };
  const answer =
    invitation === undefined ? (await prompt.askSecret(`API key for ${relay.origin}: `)).trim() : undefined;
  const accepted = invitation ?? readInvitation(answer ?? '');
  if (accepted === undefined) return { key: checkKey(answer ?? ''), isFromInvitation: false };
  if (accepted.relay.origin !== relay.origin)
    throw new UsageError(`The invitation is for ${accepted.relay.origin}, not for ${relay.origin}.`);
  return { key: (await takeInvitation(accepted, network)).key, isFromInvitation: true };
}

async function chooseRelay(command: GivenLogin, prompt: Prompt): Promise<RelayAddress> {
  const { relay, relayFrom } = command;
  if (relayFrom !== DEFAULT_RELAY_FROM || !prompt.isInteractive) return relay;
  const answer = (await prompt.ask(`Relay [${relay.origin}]: `)).trim();
  return answer === '' ? relay : readRelay(answer.includes('://') ? answer : `https://${answer}`);
}

/* `culvert status`: the account, its limits and domains, and its live tunnels. */

/** @param now ms since the epoch */
export async function runStatus(command: RelayAccess, output: Output, now: number): Promise<void> {
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
    timeLeft(Date.parse(tunnel.expires_at) - now) + (tunnel.idle_ttl ? ' idle' : ''),
    String(tunnel.requests),
    byteSize(tunnel.bytes_in),
    byteSize(tunnel.bytes_out),
    describeAccess(tunnel.access) ?? 'everyone',
    tunnel.public_url,
  ]);
  output.out(
    `\n${table([['TUNNEL', 'STATE', 'PORT', 'TIME LEFT', 'REQUESTS', 'IN', 'OUT', 'ACCESS', 'ADDRESS'], ...rows])}`,
  );
}

/** Empty if the relay is too old for domains, or the key is scoped to one tunnel. */
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
    ['Time to live', `${default_ttl} by default, at most ${max_ttl}`],
    ['Creates', `${creates_per_minute} per minute, with bursts of up to ${create_burst}`],
    ['Connections', max_connections === null ? 'no limit' : `at most ${max_connections} per tunnel`],
    ...(domains.length === 0 ? [] : [['Domains', domains.map(domainText).join(', ')]]),
  ]);
}
