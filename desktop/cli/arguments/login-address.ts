/** Where `culvert login` signs in: what is given behind it, or the relay that every command would use. */
import { type InvitationAddress, readInvitation } from '../../engine/relay/invitation.ts';
import type { RelayAddress } from '../../engine/relay/relay-address.ts';
import { findRelay, readRelay, type RelaySources } from '../relay-access.ts';
import { UsageError } from '../usage-error.ts';

export interface LoginAddress {
  readonly relay: RelayAddress;
  /** where it is from, for people */
  readonly relayFrom: string;
  /** `undefined` for the address of a relay */
  readonly invitation: InvitationAddress | undefined;
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
  if (other !== undefined) throw new UsageError('--relay and an address exclude each other.');
  const invitation = readInvitation(given);
  if (invitation === undefined) return { relay: readRelay(given), relayFrom: 'the address', invitation };
  if (key !== undefined) throw new UsageError('--key and an invitation exclude each other: it brings a key.');
  return { relay: invitation.relay, relayFrom: 'the address', invitation };
}
