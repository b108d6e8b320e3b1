/**
 * All verified domains and their owners, in memory: requests to other hosts cause no lookups. The store decides; this
 * is what was last read from it.
 */
import { baseOfWildcard, wildcardDomainOf } from '../../shared/wildcard-hosts.ts';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { Clock, Timer } from '../clock.ts';
import type { DomainOwner } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';

/** Number of domains that one query reads from the database; all of them are in memory, about 200 bytes each. */
export const DOMAINS_BATCH = 1000;
/** Delay before the relay reads the list of domains again after the database has failed. */
export const DOMAIN_RETRY_MS = 1000;

/**
 * Reads one after the other, each from a later moment than the previous one: an old answer never overrides a newer
 * one.
 */
export class VerifiedDomains {
  readonly #store: Pick<Store, 'verifiedDomains' | 'findVerifiedDomains'>;
  readonly #clock: Clock;
  /** Called with each domain that had an owner and no longer has one. */
  onGone: (domain: string) => void = () => {};
  /** ids of accounts by domain */
  #owners = new Map<string, string>();
  /** domains that have changed since they were read */
  readonly #changed = new Set<string>();
  /** Whether any may have changed since all were read. */
  #allChanged = false;
  #reading: Promise<void> | undefined;
  #retry: Timer | undefined;

  constructor(store: Pick<Store, 'verifiedDomains' | 'findVerifiedDomains'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Reads all.
   *
   * @throws StoreError
   */
  async start(): Promise<void> {
    await this.#readAll();
  }

  stop(): void {
    this.#retry?.cancel();
    this.#allChanged = false;
    this.#changed.clear();
  }

  get size(): number {
    return this.#owners.size;
  }

  has(domain: string): boolean {
    return this.#owners.has(domain);
  }

  /**
   * The verified domains that a host belongs to, in order of precedence: its own, then the wildcard domain of the same
   * account; or the wildcard domain alone.
   */
  domainsOf(host: string): string[] {
    const wildcard = wildcardDomainOf(host);
    const owner = this.#owners.get(host);
    const isCovered = wildcard !== undefined && this.#owners.has(wildcard);
    if (!isCovered) return owner === undefined ? [] : [host];
    if (owner === undefined) return [wildcard];
    return this.#owners.get(wildcard) === owner ? [host, wildcard] : [host];
  }

  /** @returns the id of the account */
  ownerOf(domain: string): string | undefined {
    return this.#owners.get(domain);
  }

  /**
   * The owner of the domain has changed, here or on another relay.
   *
   * @returns fulfilled once it is known here, or the store has failed, which is then queried again
   */
  follow(domain: string): Promise<void> {
    this.#changed.add(domain);
    return this.#read();
  }

  /** Any of them may have changed. */
  review(): void {
    this.#allChanged = true;
    void this.#read();
  }

  #read(): Promise<void> {
    return (this.#reading ??= this.#readChanged());
  }

  async #readChanged(): Promise<void> {
    try {
      while (this.#allChanged || this.#changed.size > 0) {
        if (this.#allChanged) await this.#readAll();
        else await this.#readSome([...this.#changed].slice(0, DOMAINS_BATCH));
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#retry?.cancel();
      this.#retry = this.#clock.setTimeout(() => void this.#read(), DOMAIN_RETRY_MS);
    } finally {
      // Immediately, so that the next caller starts to read again.
      this.#reading = undefined;
    }
  }

  /** Changes during the read are read again afterwards. */
  async #readAll(): Promise<void> {
    this.#allChanged = false;
    try {
      const owners = new Map<string, string>();
      for (let last = ''; ;) {
        const batch = await this.#store.verifiedDomains(last, DOMAINS_BATCH);
        for (const { domain, accountId } of batch) owners.set(domain, accountId);
        const end = batch.at(-1);
        if (end === undefined || batch.length < DOMAINS_BATCH) break;
        last = end.domain;
      }
      const before = this.#owners;
      this.#owners = owners;
      for (const domain of before.keys()) if (!owners.has(domain)) this.onGone(domain);
    } catch (error) {
      this.#allChanged = true;
      throw error;
    }
  }

  async #readSome(domains: readonly string[]): Promise<void> {
    for (const domain of domains) this.#changed.delete(domain);
    let found: readonly DomainOwner[];
    try {
      found = await this.#store.findVerifiedDomains(domains);
    } catch (error) {
      for (const domain of domains) this.#changed.add(domain);
      throw error;
    }
    const owners = new Map(found.map(({ domain, accountId }) => [domain, accountId]));
    for (const domain of domains) {
      const owner = owners.get(domain);
      if (owner !== undefined) this.#owners.set(domain, owner);
      else if (this.#owners.delete(domain)) this.onGone(domain);
    }
  }
}

/* Names of the relay itself, which no account may claim. */

export interface OwnNames {
  /** the relay's own name or address, IPv6 without brackets */
  readonly host: string;
  readonly tunnelDomain: string;
  readonly serviceDomain: string;
}

/**
 * @throws ApiError 409 for the relay's own name, any name at or below the domains of its tunnels, and a wildcard that has
 *   one of these among its hosts
 */
export function mustNotBeOwn(domain: string, { host, tunnelDomain, serviceDomain }: OwnNames): void {
  const base = baseOfWildcard(domain);
  const isBelow = [tunnelDomain, serviceDomain].some((own) => base === own || base.endsWith(`.${own}`));
  const isOwn = [tunnelDomain, serviceDomain, host].some(
    (own) => domain === own || domain === wildcardDomainOf(own),
  );
  if (isBelow || isOwn) throw new ApiError(API_ERRORS.domainTaken);
}
