/** How domains become an account's, and how they are let go: in the store first, then here, then elsewhere. */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { Clock } from '../clock.ts';
import { DOMAIN_CHECK_JITTER_MS, DOMAIN_CHECK_MS } from '../limits.ts';
import type { DomainRecord } from '../store/records.ts';
import type { DomainRelease } from '../store/parameters.ts';
import { ConflictError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { DomainNews, Peers } from '../tunnels/peers.ts';
import { proofText } from './proof.ts';
import type { VerifiedDomains } from './verified-domains.ts';

export interface HeldDomainsDeps {
  readonly store: Pick<Store, 'verifiedClaim' | 'verifyDomain' | 'removeDomain' | 'noteDomain'>;
  readonly clock: Clock;
  readonly verified: Pick<VerifiedDomains, 'follow'>;
  /** ends the tunnels of a domain that is its account's no more */
  readonly coordination: Pick<Coordination, 'displace'>;
  /** other relays on the same database, if there may be any */
  readonly peers: Peers<DomainNews> | undefined;
  /** s for which the name of an ended tunnel stays with its account */
  readonly nameHold: number;
}

export class HeldDomains {
  readonly #deps: HeldDomainsDeps;

  constructor(deps: HeldDomainsDeps) {
    this.#deps = deps;
  }

  /**
   * Makes a domain its account's own, and nobody else's.
   *
   * @param proofs all that the TXT record says, this account's proof among it
   * @throws ApiError 404; 409 if another account has it, whose proof is still there; 503
   */
  async take({ id, domain }: DomainRecord, proofs: readonly string[]): Promise<void> {
    const { store } = this.#deps;
    const holder = await orUnavailable(store.verifiedClaim(domain));
    const isOthers = holder !== undefined && holder.id !== id;
    if (isOthers && proofs.includes(proofText(holder.proof))) throw new ApiError(API_ERRORS.domainTaken);
    const verification = { id, instead: isOthers ? holder.id : null, checkAt: this.nextCheck() };
    const ended = await orUnavailable(store.verifyDomain({ ...verification, ...this.#release() })).catch(
      (error: unknown) => {
        // Somebody else has proven it at the same moment.
        throw error instanceof ConflictError ? new ApiError(API_ERRORS.domainTaken) : error;
      },
    );
    if (ended === undefined) throw new ApiError(API_ERRORS.domainNotFound);
    await this.#changed(domain, ended);
  }

  /**
   * Notes that an account found the records of its verified domain wrong. The relay's own checks stay due when they were:
   * otherwise an account could put them off for as long as it looks itself.
   *
   * @throws ApiError 503
   */
  async noteFailing({ id, failingSince }: DomainRecord): Promise<void> {
    const { store, clock } = this.#deps;
    if (failingSince === null) await orUnavailable(store.noteDomain(id, clock.now(), null));
  }

  /**
   * Removes a claim, and ends the tunnels that have the domain.
   *
   * @param only if it is still as it was read
   * @returns whether it was there
   * @throws ApiError 503
   */
  async release(
    { id, accountId, domain }: DomainRecord,
    only: { readonly failingSince?: number } = {},
  ): Promise<boolean> {
    const { store } = this.#deps;
    const ended = await orUnavailable(store.removeDomain({ id, accountId, ...only }, this.#release()));
    if (ended === undefined) return false;
    await this.#changed(domain, ended);
    return true;
  }

  /** @returns when a domain that is right now is looked at again, wall time in ms */
  nextCheck(): number {
    const jitter = (2 * Math.random() - 1) * DOMAIN_CHECK_JITTER_MS;
    return Math.round(this.#deps.clock.now() + DOMAIN_CHECK_MS + jitter);
  }

  #release(): DomainRelease {
    const { clock, nameHold } = this.#deps;
    return { now: clock.now(), nameHold: nameHold * 1000 };
  }

  /** Here at once, elsewhere soon. */
  async #changed(domain: string, ended: readonly string[]): Promise<void> {
    const { verified, coordination, peers } = this.#deps;
    coordination.displace(ended);
    peers?.tell({ kind: 'domain', domain });
    await verified.follow(domain);
  }
}
