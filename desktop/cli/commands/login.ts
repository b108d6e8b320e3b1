/** `culvert login`. */
import {
  checkKey,
  checkProtected,
  DEFAULT_RELAY_FROM,
  findRelay,
  type Prompt,
  readNetwork,
  readRelay,
  readRelayAccess,
  readSettings,
  type RelayAccess,
  type RelaySources,
} from '../../client/config/relay-access.ts';
import { UsageError } from '../../client/failures.ts';
import type { Network } from '../../client/network/network.ts';
import { ApiClient } from '../../client/relay/api-client.ts';
import { requestKey } from '../../client/relay/key-by-sign-in.ts';
import { type InvitationAddress, readInvitation, takeInvitation } from '../../client/relay/invitation.ts';
import { isProtected, type RelayAddress } from '../../client/relay/relay-address.ts';
import { type AnyLine, type CommandSurroundings, defineCommand, toStderr } from '../command-line/command.ts';
import { jsonLine } from '../output/format.ts';
import { hasBrowser, openAddress } from '../output/prompt.ts';
import type { Output } from '../output/reporter.ts';
import { COMMON } from '../command-line/options.ts';

interface LoginAddress {
  readonly relay: RelayAddress;
  /** the source of the address, for messages */
  readonly relayFrom: string;
  /** gives the key; `undefined` for the address of a relay */
  readonly invitation: InvitationAddress | undefined;
}

export const loginCommand = defineCommand({
  name: 'login',
  operands: { address: { shown: '[ADDRESS]', count: 'optional' } },
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

    If the relay gives keys to people who sign in, press Enter instead of typing a key. The command opens a page in the
    browser, or prints its address for a browser on another computer. Approve there only if the page shows the code
    that the command shows.

    Before storing the key, the command checks it with the relay. If it is not running in a terminal, it reads the key
    from the first line of standard input. A stored key is sent only to the relay that accepted it.`,
  read: (line) => readLogin(line, line.operands.address),
  async run(given, context) {
    await runLogin(given, context);
  },
});

interface GivenLogin extends LoginAddress {
  readonly network: Network;
  /** certificates (PEM) of authorities to trust for this relay from now on */
  readonly ca: string | undefined;
  /** otherwise the user is asked for it */
  readonly key: string | undefined;
  readonly insecure: boolean;
  readonly json: boolean;
}

function readLogin(line: AnyLine, given: string | undefined): GivenLogin {
  const { key, json = false, insecure = false } = line.values;
  const sources = line.accessSources();
  const address = readLoginAddress(given, sources);
  return {
    ...address,
    network: readNetwork(sources, address.relay),
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
  { stored, prompt, output }: Pick<CommandSurroundings, 'stored' | 'prompt' | 'output'>,
): Promise<string> {
  const relay = await chooseRelay(command, prompt);
  checkProtected(relay, command.relayFrom, command.insecure);
  const { key, isFromInvitation } = await findKey(command, relay, prompt, output);
  // It is given once, so it is stored before anything else can fail.
  if (isFromInvitation)
    await stored.write({ relay, key, ca: command.ca }).catch((error: unknown) => {
      output.err(`culvert: The key is given only once. Keep it, because it could not be stored: ${key}\n`);
      throw error;
    });
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
  output: Output,
): Promise<{ readonly key: string; readonly isFromInvitation: boolean }> {
  if (key !== undefined) return { key, isFromInvitation: false };
  const request =
    invitation === undefined && prompt.isInteractive ? await requestKey(relay, network) : undefined;
  const question =
    request === undefined
      ? `API key for ${relay.origin}: `
      : `Press Enter to sign in with ${request.provider}, or paste an API key for ${relay.origin}: `;
  const answer = invitation === undefined ? (await prompt.askSecret(question)).trim() : undefined;
  if (answer === '' && request !== undefined) {
    const { url, code } = request;
    output.err(`Open this page, sign in, and approve if it shows the code ${code}:\n${url}\n`);
    if (hasBrowser(process.env)) openAddress(url, () => {});
    return { key: (await request.key()).key, isFromInvitation: true };
  }
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

/* Signs in on the way to a first tunnel: `culvert http 3000 --relay ADDRESS`, with a relay or an invitation. */

/** How to reach a relay; the key is empty until the login is complete. */
export interface AccessOrLogin extends RelayAccess {
  /** the login that has to come first */
  readonly login?: PendingLogin;
}

interface PendingLogin {
  readonly given: GivenLogin;
  /** thrown if nobody can be asked */
  readonly why: UsageError;
}

/**
 * Accepts a relay without a key if it was named, and an invitation instead of a relay. An invitation to the relay that
 * this machine is signed in to was used before, and stands for the relay.
 *
 * @throws UsageError
 */
export function readAccessOrLogin(sources: RelaySources): AccessOrLogin {
  const { options, env } = sources;
  const invitation = readInvitation(options.relay ?? env['CULVERT_RELAY'] ?? '');
  const named =
    invitation === undefined
      ? sources
      : { ...sources, options: { ...options, relay: invitation.relay.origin } };
  const { relay, relayFrom, key } = findRelay(named);
  if (key !== undefined || relayFrom === DEFAULT_RELAY_FROM) return readRelayAccess(named);
  const why =
    invitation === undefined
      ? missingKey(named)
      : new UsageError(
          'An invitation can be accepted only in a terminal here. Run "culvert login" with its address first.',
        );
  const network = readNetwork(sources, relay);
  const { insecure = false, json = false } = options;
  const ca = readSettings(sources).ca;
  const given = { relay, relayFrom, invitation, network, ca, key: undefined, insecure, json: false };
  return { relay, key: '', network, json, login: { given, why } };
}

function missingKey(sources: RelaySources): UsageError {
  try {
    readRelayAccess(sources);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error('there is a key');
}

/**
 * Asks for the key, or accepts the invitation, and stores it as `culvert login` does. Says so on standard error.
 *
 * @throws UsageError without a terminal, and what {@link runLogin} throws
 */
export async function completeLogin<T extends AccessOrLogin>(
  given: T,
  { stored, prompt, output }: Pick<CommandSurroundings, 'stored' | 'prompt' | 'output'>,
): Promise<T> {
  const { login, json } = given;
  if (login === undefined) return given;
  if (json || !prompt.isInteractive) throw login.why;
  const key = await runLogin(login.given, { stored, prompt, output: toStderr(output) });
  return { ...given, key };
}
