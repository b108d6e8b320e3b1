/** Signs in on the way to a first tunnel: `culvert http 3000 --relay ADDRESS`, with a relay or an invitation. */
import {
  DEFAULT_RELAY_FROM,
  findRelay,
  readNetwork,
  readRelayAccess,
  readSettings,
  type RelayAccess,
  type RelaySources,
} from '../client/config/relay-access.ts';
import { UsageError } from '../client/failures.ts';
import { readInvitation } from '../client/relay/invitation.ts';
import { type GivenLogin, runLogin } from './account-commands.ts';
import type { CommandContext } from './command.ts';

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
  const network = readNetwork(sources);
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
  { stored, prompt, output }: Pick<CommandContext, 'stored' | 'prompt' | 'output'>,
): Promise<T> {
  const { login, json } = given;
  if (login === undefined) return given;
  if (json || !prompt.isInteractive) throw login.why;
  const toStderr = { out: (text: string) => output.err(text), err: (text: string) => output.err(text) };
  const key = await runLogin(login.given, { stored, prompt, output: toStderr });
  return { ...given, key };
}
