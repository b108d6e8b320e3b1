/** Gets a key for a person who signs in at the relay's identity provider (protocol.md section 13.1). */
import { createHash, randomBytes } from 'node:crypto';
import { LOGIN, type Login, loginCode } from '../../../shared/logins.ts';
import type { TakenInvite } from '../../../shared/team.ts';
import { type Clock, pause, systemClock } from '../clock.ts';
import type { Network } from '../network/network.ts';
import { callJson, jsonOf } from './api-client.ts';
import { read } from './api-responses.ts';
import { RelayRefusal } from './errors.ts';
import { machineName, takeInvitation } from './invitation.ts';
import type { RelayAddress } from './relay-address.ts';

/** Time between two questions whether the person has approved. */
const POLL_MS = 2000;
/** @limit How long `culvert login` waits for a person to sign in, whatever the relay allows. */
const WAIT_MAX_SECONDS = 900;
const TOKEN_BYTES = 24;
const NEVER = new AbortController().signal;
/** Nobody has approved yet, or the relay is busy. */
const NOT_YET: ReadonlySet<number> = new Set([404, 429, 503]);

/** A request for a key that a person may approve. */
export interface KeyRequest extends Pick<Login, 'url' | 'provider'> {
  /** also shown on the page */
  readonly code: string;
  /** @throws Error when nobody has approved in time; RelayUnreachable */
  readonly key: () => Promise<TakenInvite>;
}

/** @returns `undefined` if the relay gives nobody a key this way, or cannot be asked */
export async function requestKey(
  relay: RelayAddress,
  network: Network,
  clock: Clock = systemClock,
): Promise<KeyRequest | undefined> {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const digest = createHash('sha256').update(token).digest('hex');
  const body = { digest, machine: machineName() };
  const response = await callJson(network, relay, { method: 'POST', path: '/v1/logins', body }).catch(
    () => undefined,
  );
  if (response?.status !== 201) return undefined;
  const { url, provider, expires_in } = read(LOGIN, jsonOf(response, relay));
  const end = clock.now() + Math.min(expires_in, WAIT_MAX_SECONDS) * 1000;
  const key = async (): Promise<TakenInvite> => {
    for (;;) {
      try {
        return await takeInvitation({ relay, token }, network);
      } catch (error) {
        if (!(error instanceof RelayRefusal) || !NOT_YET.has(error.status)) throw error;
      }
      if (clock.now() >= end)
        throw new Error('Nobody has approved the request in time. Run the command again.');
      await pause(clock, POLL_MS, NEVER);
    }
  };
  return { url, provider, code: loginCode(digest), key };
}
