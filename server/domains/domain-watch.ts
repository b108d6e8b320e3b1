/** Checks verified domains again, each about once a day, and releases neglected ones. */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import type { DomainRelease } from '../store/queries/tunnel-queries.ts';
import { batches, type DomainRecord } from '../store/records.ts';
import { ConflictError, orUnavailable, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { Coordination } from '../tunnels/coordination.ts';
import type { DomainNews, TellPeers } from '../tunnels/lifecycle.ts';
import { type DnsLookup, lookAt, proofText, verdictOf } from './domain-check.ts';
import type { VerifiedDomains } from './verified-domains.ts';

/** Milliseconds between two checks of a verified domain. */
export const DOMAIN_CHECK_MS = 24 * 3600_000;
/**
 * Random variation in the interval between two checks of the same domain, so that domains that were verified
 * together are not always checked together.
 */
export const DOMAIN_CHECK_JITTER_MS = 2 * 3600_000;
/**
 * How long the DNS records of a verified domain may be wrong before the domain is released.
 * @limit owner: Time with wrong DNS records for a verified domain | the domain is released
 */
export const DOMAIN_GRACE_MS = 7 * 24 * 3600_000;
/**
 * How long an unverified domain stays reserved for the account that added it.
 * @limit owner: Time to verify a domain | the domain is no longer reserved
 */
export const DOMAIN_CLAIM_MS = 30 * 24 * 3600_000;
/** Milliseconds between two searches for domains that are due for a check. */
export const DOMAIN_SWEEP_MS = 60_000;
/** Number of domains that a relay reserves for checking at a time: 70,000 a day. */
export const DOMAIN_SWEEP_BATCH = 50;
/** Number of reserved domains that a relay checks at the same time. */
export const DOMAIN_SWEEP_AT_ONCE = 8;
/**
 * How long a domain that a relay has reserved for checking stays reserved if no result is reported: the relay
 * that reserved it has died.
 */
export const DOMAIN_SWEEP_LEASE_MS = 3600_000;

interface DomainWatchDeps {
  readonly store: Pick<Store, 'takeDueDomains' | 'noteDomain' | 'forgetClaims'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly lookup: DnsLookup;
  /** the relay's own name or address, IPv6 without brackets */
  readonly host: string;
  readonly held: Pick<HeldDomains, 'release' | 'nextCheck'>;
}

export class DomainWatch {
  readonly #deps: DomainWatchDeps;
  #timer: Timer | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();

  constructor(deps: DomainWatchDeps) {
    this.#deps = deps;
  }

  /** Checks every {@link DOMAIN_SWEEP_MS} from now on, until {@link stop}. */
  start(): void {
    this.#isStopped = false;
    this.#scheduleNext();
  }

  /**
   * Fulfilled when nothing is in progress: nothing is stored from then on. The caller pauses the DNS first, so that
   * this is soon.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #scheduleNext(): void {
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#running = this.#sweepAndGoOn();
    }, DOMAIN_SWEEP_MS);
  }

  async #sweepAndGoOn(): Promise<void> {
    try {
      await this.#sweep();
    } catch (error) {
      // Retried the next time: reserved domains become due again by themselves.
      if (!(error instanceof StoreError) && !(error instanceof ApiError)) throw error;
    }
    if (!this.#isStopped) this.#scheduleNext();
  }

  async #sweep(): Promise<void> {
    const { store, clock } = this.#deps;
    await store.forgetClaims(clock.now() - DOMAIN_CLAIM_MS);
    for (let taken = DOMAIN_SWEEP_BATCH; taken === DOMAIN_SWEEP_BATCH && !this.#isStopped;) {
      const now = clock.now();
      const due = await store.takeDueDomains(now, now + DOMAIN_SWEEP_LEASE_MS, DOMAIN_SWEEP_BATCH);
      for (const some of batches(due, DOMAIN_SWEEP_AT_ONCE)) {
        if (this.#isStopped) return;
        await Promise.all(some.map((claim) => this.#look(claim)));
      }
      taken = due.length;
    }
  }

  async #look(claim: DomainRecord): Promise<void> {
    const { store, clock, lookup, host, held, log } = this.#deps;
    const isRight = verdictOf(await lookAt(claim, host, lookup));
    // A relay that takes over from this one checks it an hour later.
    if (this.#isStopped) return;
    const { id, domain, accountId } = claim;
    // A DNS failure is no reason to release a domain, or to forget since when it has been wrong.
    if (isRight === undefined) return await store.noteDomain(id, claim.failingSince, held.nextCheck());
    if (isRight) return await store.noteDomain(id, null, held.nextCheck());
    const since = claim.failingSince ?? clock.now();
    const ends = since + DOMAIN_GRACE_MS;
    if (clock.now() < ends) {
      if (claim.failingSince === null)
        log('domain failing', { domain, account: accountId, ends_at: new Date(ends).toISOString() });
      return await store.noteDomain(id, since, Math.min(held.nextCheck(), ends));
    }
    if (await held.release(claim, { failingSince: since }))
      log('domain let go', { domain, account: accountId });
  }
}

/* How domains are assigned to accounts and released: in the store first, then here, then on other relays. */

interface HeldDomainsDeps {
  readonly store: Pick<Store, 'verifiedClaim' | 'verifyDomain' | 'removeDomain' | 'noteDomain'>;
  readonly clock: Clock;
  readonly verified: Pick<VerifiedDomains, 'follow'>;
  /** ends the tunnels of a domain that no longer belongs to its account */
  readonly coordination: Pick<Coordination, 'displace'>;
  /** notifies other relays on the same database, if there may be any */
  readonly tellPeers: TellPeers<DomainNews> | undefined;
  /** seconds that the name of an ended tunnel is reserved for its account */
  readonly nameHold: number;
}

export class HeldDomains {
  readonly #deps: HeldDomainsDeps;

  constructor(deps: HeldDomainsDeps) {
    this.#deps = deps;
  }

  /**
   * Assigns a domain to an account, and removes it from any other.
   *
   * @param proofs all values of the TXT record, including this account's proof
   * @throws ApiError 404; 409 if another account has it, whose proof is still published; 503
   */
  async take({ id, domain }: DomainRecord, proofs: readonly string[]): Promise<void> {
    const { store } = this.#deps;
    const holder = await orUnavailable(store.verifiedClaim(domain));
    const isOthers = holder !== undefined && holder.id !== id;
    if (isOthers && proofs.includes(proofText(holder.proof))) throw new ApiError(API_ERRORS.domainTaken);
    const verification = { id, instead: isOthers ? holder.id : null, checkAt: this.nextCheck() };
    const ended = await orUnavailable(store.verifyDomain({ ...verification, ...this.#release() })).catch(
      (error: unknown) => {
        // Another account has proven it at the same moment.
        throw error instanceof ConflictError ? new ApiError(API_ERRORS.domainTaken) : error;
      },
    );
    if (ended === undefined) throw new ApiError(API_ERRORS.domainNotFound);
    await this.#changed(domain, ended);
  }

  /**
   * Records that an account found the records of its verified domain wrong. The relay's own checks stay due when they
   * were: otherwise an account could postpone them by checking repeatedly.
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
   * @param only if the claim has not changed since it was read
   * @returns whether it existed
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

  /** @returns when a domain with correct records is checked again, wall time in ms */
  nextCheck(): number {
    const jitter = (2 * Math.random() - 1) * DOMAIN_CHECK_JITTER_MS;
    return Math.round(this.#deps.clock.now() + DOMAIN_CHECK_MS + jitter);
  }

  #release(): DomainRelease {
    const { clock, nameHold } = this.#deps;
    return { now: clock.now(), nameHold: nameHold * 1000 };
  }

  /** Immediately on this relay, soon on others. */
  async #changed(domain: string, ended: readonly string[]): Promise<void> {
    const { verified, coordination, tellPeers } = this.#deps;
    coordination.displace(ended);
    tellPeers?.({ kind: 'domain', domain });
    await verified.follow(domain);
  }
}
