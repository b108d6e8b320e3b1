/** Whose address is limited (docs/protocol.md section 4.6). */
import type { BlockList } from 'node:net';
import type { RequestHead } from '../../../shared/http1/head.ts';
import { networkOf } from '../../address-network.ts';
import { isTrusted, type Peer } from '../heads/request-head.ts';
import { visitorAddress } from './visitor-address.ts';

/** The addresses of this machine; the empty one is that of a peer who has already left. */
const OWN_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '']);

/**
 * @param head of a request, without which nobody is known behind a trusted proxy
 * @returns the visitor's address, for IPv6 its /64; `undefined` for those who have no limits: this machine, where a proxy
 *   may run that nobody has named, and trusted proxies, which everybody comes through
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
