/**
 * Whether resolvers come to the relay for the challenges of a domain: they do if the zone's SOA record, asked for as everybody
 * asks, is the relay's own.
 */
import { Resolver } from 'node:dns/promises';
import { DELEGATION_LOOKUP_MS } from '../../limits.ts';
import { challengeName } from './zones.ts';

/** ms for each of the tries of a lookup. */
const DELEGATION_TRY_MS = 2000;
/** Tries. */
const DELEGATION_TRIES = 2;

export type Delegation =
  | { readonly kind: 'ours' }
  /** they do not; `reason` says what was found instead */
  | { readonly kind: 'missing'; readonly reason: string }
  /** nobody could find out */
  | { readonly kind: 'failed'; readonly reason: string };

/** Never rejects. */
export type LookUpDelegation = (domain: string) => Promise<Delegation>;

/**
 * @param mark first label of the mailbox in the relay's SOA records
 * @param server `ADDRESS:PORT` of a resolver; `undefined` for those of the system
 */
export function delegationLookup(mark: string, server: string | undefined): LookUpDelegation {
  return async (domain) => {
    const resolver = new Resolver({ timeout: DELEGATION_TRY_MS, tries: DELEGATION_TRIES });
    if (server !== undefined) resolver.setServers([server]);
    const timer = setTimeout(() => resolver.cancel(), DELEGATION_LOOKUP_MS);
    try {
      const { hostmaster } = await resolver.resolveSoa(challengeName(domain));
      if (hostmaster.startsWith(`${mark}.`)) return { kind: 'ours' };
      return { kind: 'missing', reason: 'another server answers for it' };
    } catch (error) {
      return failureOf(error instanceof Error && 'code' in error ? String(error.code) : String(error));
    } finally {
      clearTimeout(timer);
    }
  };
}

function failureOf(code: string): Delegation {
  if (code === 'ENOTFOUND' || code === 'ENODATA')
    return { kind: 'missing', reason: 'there is no such record' };
  if (code === 'ESERVFAIL' || code === 'EREFUSED')
    return { kind: 'failed', reason: 'the DNS port of the relay does not answer for it' };
  if (code === 'ETIMEOUT' || code === 'ECANCELLED') return { kind: 'failed', reason: 'no resolver answers' };
  return { kind: 'failed', reason: `the resolver cannot be asked (${code})` };
}
