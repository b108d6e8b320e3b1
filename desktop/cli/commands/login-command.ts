/** `culvert login` and `culvert logout`. */
import type { StoredLogin } from '../../config/stored-login.ts';
import { ApiClient } from '../../engine/relay/api-client.ts';
import { takeInvitation } from '../../engine/relay/invitation.ts';
import { isProtected, type RelayAddress } from '../../engine/relay/relay-address.ts';
import { checkKey, checkProtected, DEFAULT_RELAY_FROM, readRelay } from '../relay-access.ts';
import type { LoginCommand, LogoutCommand } from '../arguments/commands.ts';
import { jsonLine } from '../json-line.ts';
import type { Prompt } from '../prompt.ts';
import type { Output } from '../reporter.ts';

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
