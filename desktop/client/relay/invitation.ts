/** Reads and accepts an invitation to a relay (protocol.md section 13). */
import { hostname } from 'node:os';
import type { Fields, ObjectField, TypeOf } from '../../../shared/fields.ts';
import {
  invitationToken,
  MACHINE_MAX_LENGTH,
  OPEN_INVITE,
  type OpenInvite,
  TAKEN_INVITE,
  type TakenInvite,
} from '../../../shared/team.ts';
import { replaceUnprintable } from '../../../shared/unprintable.ts';
import { toMessage } from '../messages.ts';
import { type Call, call, type CallResponse, type Network } from '../network/network.ts';
import { read } from './api-responses.ts';
import { readRefusal, RelayUnreachable, unreachable } from './errors.ts';
import { parseRelayAddress, type RelayAddress } from './relay-address.ts';
import { API_BODY_MAX_BYTES, API_TIMEOUT_MS } from './api-client.ts';

/** The address of an invitation. */
export interface InvitationAddress {
  readonly relay: RelayAddress;
  readonly token: string;
}

/** @returns `undefined` for a text that is not the address of an invitation */
export function readInvitation(address: string): InvitationAddress | undefined {
  const url = URL.parse(address);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return undefined;
  const token = invitationToken(url);
  return token === undefined ? undefined : { relay: parseRelayAddress(url.origin), token };
}

/**
 * Returns whom an invitation is for, without using it.
 *
 * @throws RelayRefusal if it was used, has expired or never existed; RelayUnreachable for everything else
 */
export async function lookAtInvitation(
  { relay, token }: InvitationAddress,
  network: Network,
): Promise<OpenInvite> {
  const wanted = { method: 'GET', path: `/invite/${token}`, body: undefined };
  return ask(relay, network, wanted, 200, OPEN_INVITE);
}

/**
 * Exchanges an invitation for a key, which the relay lists under the name of this machine. It works once, so this is
 * not retried.
 *
 * @throws RelayRefusal if it was used, has expired or never existed; RelayUnreachable for everything else
 */
export async function takeInvitation(
  { relay, token }: InvitationAddress,
  network: Network,
): Promise<TakenInvite> {
  const machine = replaceUnprintable(hostname(), ' ').slice(0, MACHINE_MAX_LENGTH);
  const wanted = { method: 'POST', path: `/v1/invites/${token}`, body: JSON.stringify({ machine }) };
  return ask(relay, network, wanted, 201, TAKEN_INVITE);
}

async function ask<O extends ObjectField<Fields>>(
  relay: RelayAddress,
  network: Network,
  wanted: Pick<Call, 'method' | 'path' | 'body'>,
  expected: number,
  object: O,
): Promise<TypeOf<O>> {
  const { status, headers, text: body } = await send(relay, network, wanted);
  if (status !== expected) throw readRefusal(status, headers, body, Date.now());
  try {
    return read(object, JSON.parse(body));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new RelayUnreachable(toMessage('relay.notRelay', { origin: relay.origin }));
  }
}

async function send(
  relay: RelayAddress,
  network: Network,
  wanted: Pick<Call, 'method' | 'path' | 'body'>,
): Promise<CallResponse> {
  const type: Record<string, string> =
    wanted.body === undefined ? {} : { 'content-type': 'application/json' };
  try {
    return await call(network, relay, {
      ...wanted,
      headers: { accept: 'application/json', ...type },
      maxBytes: API_BODY_MAX_BYTES,
      timeoutMs: API_TIMEOUT_MS,
    });
  } catch (error) {
    throw await unreachable(error, network, relay);
  }
}
