import type { Peer } from '../heads/request-head.ts';
import type { Plan } from '../routing/request-plan.ts';
import type { Interims } from './response-relay.ts';

/**
 * Which interim responses a visitor is sent (docs/protocol.md section 4.3). Some reverse proxies mistake them for final
 * ones, keep the connection, and give what follows to somebody else; those that nobody named do so for HEAD, where no body
 * would tell them better.
 */
export function interimsFor(
  { head, expectsContinue }: Pick<Plan, 'head' | 'expectsContinue'>,
  { trusted }: Pick<Peer, 'trusted'>,
): Interims {
  // An HTTP/1.0 visitor knows none (RFC 9110 section 15.2).
  if (head.minor === 0) return 'none';
  if (!trusted && head.method !== 'HEAD') return 'all';
  return expectsContinue ? 'continue' : 'none';
}
