/**
 * Whether resolvers query the relay for the challenges of a domain: they do if the zone's SOA record, requested from a
 * normal resolver, is the relay's own.
 */
import { Resolver } from 'node:dns/promises';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { ChallengeSolver, Plan } from '../challenge-solver.ts';
import { wildcardOf } from '../known-certificates.ts';
import { challengeName } from './authority.ts';

/** Maximum number of domains whose DNS delegation the relay caches; about 2 MB. */
export const DELEGATIONS_KNOWN_MAX = 10_000;
/** How long a visitor's TLS handshake may wait while the relay looks up a domain's DNS delegation. */
export const DELEGATION_LOOKUP_MS = 5000;

/** ms for each attempt of a lookup. */
const DELEGATION_TRY_MS = 2000;
/** Attempts. */
const DELEGATION_TRIES = 2;

export type Delegation =
  | { readonly kind: 'ours' }
  /** not delegated; `reason` says what was found instead */
  | { readonly kind: 'missing'; readonly reason: string }
  /** unknown, because no server answered */
  | { readonly kind: 'failed'; readonly reason: string };

/** Never rejects. */
type LookUpDelegation = (domain: string) => Promise<Delegation>;

/**
 * @param mark first label of the mailbox in the relay's SOA records
 * @param server `ADDRESS:PORT` of a resolver; `undefined` for the system's
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

/* Known delegations of domains: looked up on demand, and cached for a while. */

/** ms that a delegation is cached. */
const DELEGATION_SEEN_MS = 3600_000;
/** ms after which a missing one is looked up again. */
const DELEGATION_MISSING_MS = 60_000;

interface Known {
  readonly isOurs: boolean;
  /** when it has to be looked up again, monotonic ms */
  readonly until: number;
}

interface DelegationsOptions {
  readonly lookUp: LookUpDelegation;
  /** host name of the relay */
  readonly nameServer: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class Delegations {
  readonly #options: DelegationsOptions;
  /** by domain, least recently looked up first */
  readonly #known = new Map<string, Known>();
  readonly #lookingUp = new Map<string, Promise<boolean>>();

  constructor(options: DelegationsOptions) {
    this.#options = options;
  }

  /** Whether authorities find challenges of a domain here. Never rejects. */
  isOurs(domain: string): Promise<boolean> {
    const known = this.#known.get(domain);
    if (known !== undefined && this.#options.clock.monotonic() < known.until)
      return Promise.resolve(known.isOurs);
    const underWay = this.#lookingUp.get(domain) ?? this.#lookUp(domain, known?.isOurs);
    this.#lookingUp.set(domain, underWay);
    return underWay;
  }

  async #lookUp(domain: string, before: boolean | undefined): Promise<boolean> {
    const found = await this.#options.lookUp(domain);
    this.#lookingUp.delete(domain);
    // A wildcard in use is not abandoned because a resolver is unreachable.
    const isOurs = found.kind === 'ours' || (found.kind === 'failed' && before === true);
    this.#remember(domain, isOurs, found.kind === 'ours' ? DELEGATION_SEEN_MS : DELEGATION_MISSING_MS);
    if (isOurs !== before) this.#tell(domain, found);
    return isOurs;
  }

  #remember(domain: string, isOurs: boolean, ms: number): void {
    this.#known.delete(domain);
    this.#known.set(domain, { isOurs, until: this.#options.clock.monotonic() + ms });
    if (this.#known.size <= DELEGATIONS_KNOWN_MAX) return;
    const [oldest = domain] = this.#known.keys();
    this.#known.delete(oldest);
  }

  #tell(domain: string, found: Delegation): void {
    const { log, nameServer } = this.#options;
    const record = `${challengeName(domain)}. NS ${nameServer}.`;
    if (found.kind === 'ours') log('delegation seen', { domain });
    else log('delegation missing', { domain, record, reason: found.reason });
  }
}

/* Which certificate a host gets: a wildcard if its domain is delegated to the relay, otherwise one of its own. */

interface WildcardsOptions {
  readonly delegations: Pick<Delegations, 'isOurs'>;
  readonly dns: ChallengeSolver;
  /** for a single host */
  readonly direct: readonly ChallengeSolver[];
  readonly tunnelDomain: string;
  /** account domains are one label below it */
  readonly serviceDomain: string;
  /** whether the wildcard of a domain is verified for a user */
  readonly isUsers: (domain: string) => boolean;
}

export class Wildcards {
  readonly #options: WildcardsOptions;

  constructor(options: WildcardsOptions) {
    this.#options = options;
  }

  /** Certificates to order in advance. */
  async always(): Promise<readonly string[]> {
    const { delegations, tunnelDomain } = this.#options;
    return (await delegations.isOurs(tunnelDomain)) ? [`*.${tunnelDomain}`] : [];
  }

  /** See {@link PlanFor}. */
  async planFor(name: string): Promise<Plan> {
    const { delegations, dns, direct, tunnelDomain } = this.#options;
    const isWildcard = name.startsWith('*.');
    const subject = isWildcard ? name : wildcardOf(name);
    const domain = subject.slice(2);
    const isDelegated = this.#mayBeDelegated(domain) && (await delegations.isOurs(domain));
    if (isWildcard) return { subject, solvers: isDelegated ? [dns] : [] };
    const alone: Plan = { subject: name, solvers: direct };
    if (isDelegated) return { subject, solvers: [dns], otherwise: alone };
    // The challenge of the wildcard has the same name as that of its domain.
    const isOfDomain = name === tunnelDomain && (await delegations.isOurs(name));
    return isOfDomain ? { subject: name, solvers: [dns, ...direct] } : alone;
  }

  /** Whether this server is the authority for challenges of a domain if it is queried ({@link Zones}). */
  #mayBeDelegated(domain: string): boolean {
    const { tunnelDomain, serviceDomain, isUsers } = this.#options;
    const isRelays = domain === tunnelDomain || domain.slice(domain.indexOf('.') + 1) === serviceDomain;
    return isRelays || isUsers(domain);
  }
}
