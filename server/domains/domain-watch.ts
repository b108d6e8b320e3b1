/** Looks at verified domains again, each about once a day, and lets go of what nobody has looked after. */
import type { Clock, Timer } from '../clock.ts';
import { batches } from '../batches.ts';
import { ApiError } from '../../shared/errors.ts';
import {
  DOMAIN_CLAIM_MS,
  DOMAIN_GRACE_MS,
  DOMAIN_SWEEP_AT_ONCE,
  DOMAIN_SWEEP_BATCH,
  DOMAIN_SWEEP_LEASE_MS,
  DOMAIN_SWEEP_MS,
} from '../limits.ts';
import type { Log } from '../log.ts';
import type { DomainRecord } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { DnsLookup } from './dns-lookup.ts';
import { lookAt, verdictOf } from './domain-look.ts';
import type { HeldDomains } from './held-domains.ts';

export interface DomainWatchDeps {
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

  /** Looks every {@link DOMAIN_SWEEP_MS} from now on, until {@link stop}. */
  start(): void {
    this.#isStopped = false;
    this.#goOn();
  }

  /** Fulfilled when nothing of it is under way any more: nothing is stored from then on. Whoever waits for it pauses the DNS. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#running;
  }

  #goOn(): void {
    this.#timer = this.#deps.clock.setTimeout(() => {
      this.#running = this.#sweepAndGoOn();
    }, DOMAIN_SWEEP_MS);
  }

  async #sweepAndGoOn(): Promise<void> {
    try {
      await this.#sweep();
    } catch (error) {
      // Next time, then: what was taken is due again by itself.
      if (!(error instanceof StoreError) && !(error instanceof ApiError)) throw error;
    }
    if (!this.#isStopped) this.#goOn();
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
    // Whoever takes over from this relay looks an hour later.
    if (this.#isStopped) return;
    const { id, domain, accountId } = claim;
    // A DNS that says nothing is no reason to take a domain away, nor to forget since when it has been wrong.
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
