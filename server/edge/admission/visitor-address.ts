import { type BlockList, isIP } from 'node:net';
import type { Field } from '../../../shared/http1/fields.ts';
import { isTrusted, type Peer, plainAddress } from '../heads/request-head.ts';

/**
 * Where a request came from: among the peer and the list that it handed on, the last address that is not a trusted proxy's
 * (docs/protocol.md section 4.6). The visitor may have made up whatever comes before it.
 */
export function visitorAddress(fields: readonly Field[], peer: Peer, proxies: BlockList): string {
  let { address } = peer;
  if (!peer.trusted) return address;
  const list = fields.filter((field) => field.is('x-forwarded-for')).flatMap(({ value }) => value.split(','));
  for (const entry of list.toReversed()) {
    const next = plainAddress(entry.trim());
    if (isIP(next) === 0) break;
    address = next;
    if (!isTrusted(next, proxies)) break;
  }
  return address;
}
