/** Whose address is limited, and what is one address then (docs/protocol.md section 4.6). */
import { type BlockList, isIPv6 } from 'node:net';
import type { RequestHead } from '../../shared/http1/head.ts';
import { isTrusted, type Peer } from './request-head.ts';
import { visitorAddress } from './visitor-address.ts';

/** Groups of an IPv6 address that say whose network it is in: who has one has all of a /64. */
const NETWORK_GROUPS = 4;
const GROUPS = 8;

/** Where what runs on this machine comes from; and nowhere, where whoever came has left. */
const OWN_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '']);

/**
 * @param head of a request, without which nobody is known behind a trusted proxy
 * @returns the visitor's address, of IPv6 its /64; `undefined` for whom limits are not: this machine, from which a proxy comes that
 *   nobody has named, and trusted proxies, behind which is everybody
 */
export function limitedAddress(
  peer: Peer,
  head: RequestHead | undefined,
  proxies: BlockList,
): string | undefined {
  const address = visitorAddress(head?.fields ?? [], peer, proxies);
  if (OWN_ADDRESSES.has(address) || (peer.trusted && isTrusted(address, proxies))) return undefined;
  return networkOf(address);
}

/** @returns an IPv4 address as it is, the /64 of an IPv6 address */
export function networkOf(address: string): string {
  if (!isIPv6(address)) return address;
  const [front = '', back] = (address.split('%', 1)[0] ?? '').split('::');
  const before = groupsOf(front);
  const after = groupsOf(back ?? '');
  const zeros = back === undefined ? 0 : GROUPS - before.length - after.length;
  const groups = [...before, ...Array.from({ length: zeros }, () => 0), ...after];
  return `${groups
    .slice(0, NETWORK_GROUPS)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The groups of a part of an address; an IPv4 address at its end is two of them, and never among the first four. */
function groupsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => (group.includes('.') ? [0, 0] : [Number.parseInt(group, 16)]));
}
