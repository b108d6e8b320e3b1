/** Which certificate a host gets: a wildcard where the DNS leads here for it, else one of its own. */
import type { Delegations } from './dns/delegations.ts';
import { wildcardOf } from './names.ts';
import type { ChallengeSolver, Plan } from './solver.ts';

export interface WildcardsOptions {
  readonly delegations: Pick<Delegations, 'isOurs'>;
  readonly dns: ChallengeSolver;
  /** for a host alone */
  readonly direct: readonly ChallengeSolver[];
  readonly tunnelDomain: string;
  /** accounts have domains one label below it */
  readonly serviceDomain: string;
}

export class Wildcards {
  readonly #options: WildcardsOptions;

  constructor(options: WildcardsOptions) {
    this.#options = options;
  }

  /** What there is to be before anybody asks for it. */
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
    // The name that challenges of the wildcard are looked for at is also that of its domain's.
    const isOfDomain = name === tunnelDomain && (await delegations.isOurs(name));
    return isOfDomain ? { subject: name, solvers: [dns, ...direct] } : alone;
  }

  /** Whether this server is the authority for challenges of a domain if it is asked ({@link Zones}). */
  #mayBeDelegated(domain: string): boolean {
    const { tunnelDomain, serviceDomain } = this.#options;
    return domain === tunnelDomain || domain.slice(domain.indexOf('.') + 1) === serviceDomain;
  }
}
