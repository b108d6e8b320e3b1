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
import type { CallResponse, Network } from '../network/network.ts';
import { callJson, jsonOf } from './api-client.ts';
import { read } from './api-responses.ts';
import { readRefusal } from './errors.ts';
import { parseRelayAddress, type RelayAddress } from './relay-address.ts';

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
  const response = await callJson(network, relay, { method: 'GET', path: `/invite/${token}` });
  return readAnswer(response, relay, 200, OPEN_INVITE);
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
  const wanted = { method: 'POST', path: `/v1/invites/${token}`, body: { machine: machineName() } };
  return readAnswer(await callJson(network, relay, wanted), relay, 201, TAKEN_INVITE);
}

/** What this computer calls itself, as the label of a key. */
export function machineName(): string {
  return replaceUnprintable(hostname(), ' ').slice(0, MACHINE_MAX_LENGTH);
}

function readAnswer<O extends ObjectField<Fields>>(
  response: CallResponse,
  relay: RelayAddress,
  expected: number,
  object: O,
): TypeOf<O> {
  const { status, headers, text } = response;
  if (status !== expected) throw readRefusal(status, headers, text, Date.now());
  return read(object, jsonOf(response, relay));
}
