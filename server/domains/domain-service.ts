/** Operations on domains (protocol.md section 12): the store is updated first. */
import { randomBytes, randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { parse } from 'tldts';
import type { DnsRecord } from '../../shared/domains.ts';
import { API_ERRORS, ApiError, withValues, type Clause } from '../../shared/errors.ts';
import { baseOfWildcard, isWildcardDomain } from '../../shared/wildcard-hosts.ts';
import { PLAN_RULES } from '../accounts/accounts.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { CreateLimiter } from '../rate-limiter.ts';
import type { AccountRecord, DomainRecord } from '../store/records.ts';
import { FullError, orUnavailable } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { mapBusyError, Turnstile } from '../turnstile.ts';
import {
  addressesOf,
  DNS_ANSWER_MS,
  type DnsLookup,
  type DomainLook,
  lookAt,
  proofName,
  proofsOf,
  proofText,
  verdictOf,
} from './domain-check.ts';
import { DOMAIN_GRACE_MS, type HeldDomains } from './domain-watch.ts';
import { mustNotBeOwn, type OwnNames } from './verified-domains.ts';

/** Maximum number of concurrent domain checks requested by users; each takes six DNS queries. */
export const DOMAIN_LOOKS_MAX = 32;
/**
 * Maximum number of concurrent domain checks requested by one account; its calls per minute keep few of them
 * busy for long.
 */
export const DOMAIN_LOOKS_OF_ONE_MAX = 8;
/** How long the relay caches its own IP addresses, which are shown as records for some domains. */
export const OWN_ADDRESSES_MS = 5 * 60_000;

const PUBLIC_SUFFIX: Clause = {
  code: 'public_suffix',
  text: 'must be a registered domain or below one: this is a public suffix',
};

/** Too many to guess, but short enough to be typed. */
const PROOF_BYTES = 16;

interface DomainServiceDeps {
  readonly store: Pick<Store, 'insertDomain' | 'domainsOf' | 'verifiedClaim'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly lookup: DnsLookup;
  readonly own: OwnNames;
  /** whether this relay answers DNS queries for challenges, which wildcard certificates need */
  readonly answersDns: boolean;
  readonly held: HeldDomains;
  /** limits the rate of an account's checks */
  readonly calls: CreateLimiter;
  /** Performs a write in one of the account's write slots; none is occupied during DNS lookups. */
  readonly writes: { run<T>(account: string, work: () => Promise<T>): Promise<T> };
}

/** A claim, and the result of checking its domain. */
interface LookedAt {
  readonly claim: DomainRecord;
  readonly look: DomainLook;
}

export class DomainService {
  readonly #deps: DomainServiceDeps;
  readonly #ownAddresses: OwnAddresses;
  /** checks, by account */
  readonly #looks = new Turnstile({
    atOnce: { all: DOMAIN_LOOKS_MAX, group: DOMAIN_LOOKS_OF_ONE_MAX },
    waiting: { all: 0 },
  });

  constructor(deps: DomainServiceDeps) {
    this.#deps = deps;
    this.#ownAddresses = new OwnAddresses(deps.own.host, deps.lookup, deps.clock);
  }

  /**
   * Claims a domain.
   *
   * @param domain normalized
   * @returns the account's current claim, which may be an earlier one
   * @throws ApiError 400 for a public suffix; 403; 409 for a domain of the relay or of another account; 429; 503
   */
  async add(account: AccountRecord, domain: string): Promise<DomainRecord> {
    const { own, log } = this.#deps;
    if (isPublicSuffix(baseOfWildcard(domain)))
      throw new ApiError(withValues(API_ERRORS.invalidDomain, { problem: PUBLIC_SUFFIX }));
    const claims = await this.list(account);
    const earlier = claims.find((claim) => claim.domain === domain);
    if (earlier !== undefined) return earlier;
    const { maxDomains } = PLAN_RULES[account.plan];
    // Before the DNS is asked; the store decides.
    if (maxDomains !== null && claims.length >= maxDomains) throw noRoom(account);
    await this.#takeCall(account);
    mustNotBeOwn(domain, own);
    await this.#mustBeFree(account, domain);
    const claim = await this.#deps.writes.run(account.id, () => this.#insert(account, domain));
    log('domain added', { domain, account: account.id });
    return claim;
  }

  /** @returns the account's domains, oldest first */
  list(account: AccountRecord): Promise<DomainRecord[]> {
    return orUnavailable(this.#deps.store.domainsOf(account.id));
  }

  /** @throws ApiError 404, the same for another account's domain; 503 */
  async get(account: AccountRecord, id: string): Promise<DomainRecord> {
    const claim = (await this.list(account)).find((one) => one.id === id);
    if (claim === undefined) throw new ApiError(API_ERRORS.domainNotFound);
    return claim;
  }

  /** The records that are required for a domain. */
  async recordsOf(claim: DomainRecord): Promise<DnsRecord[]> {
    const { own, answersDns } = this.#deps;
    const records = recordsOf(claim, own.host, await this.#ownAddresses.get());
    return answersDns && isWildcardDomain(claim.domain)
      ? [...records, delegationRecord(claim.domain, own.host)]
      : records;
  }

  /**
   * Checks the records of a domain, and assigns it to the account if they are correct.
   *
   * @throws ApiError 404; 409 if another account has it, whose proof is still published; 429; 503
   */
  async verify(account: AccountRecord, id: string): Promise<LookedAt> {
    const { lookup, own, held, clock, log } = this.#deps;
    const claim = await this.get(account, id);
    await this.#takeCall(account);
    const look = await this.#bounded(account, () => lookAt(claim, own.host, lookup));
    const isRight = verdictOf(look);
    if (isRight === true) {
      await held.take(claim, look.proofs ?? []);
      if (claim.verifiedAt === null) log('domain verified', { domain: claim.domain, account: account.id });
    } else if (isRight === false && claim.verifiedAt !== null) {
      await held.noteFailing(claim);
      const ends_at = new Date(clock.now() + DOMAIN_GRACE_MS).toISOString();
      if (claim.failingSince === null)
        log('domain failing', { domain: claim.domain, account: account.id, ends_at });
    }
    return { claim: await this.get(account, id), look };
  }

  /**
   * Releases a domain; its tunnels end.
   *
   * @throws ApiError 404; 503
   */
  async remove(account: AccountRecord, id: string): Promise<void> {
    const { held, log } = this.#deps;
    const claim = await this.get(account, id);
    if (!(await held.release(claim))) throw new ApiError(API_ERRORS.domainNotFound);
    log('domain removed', { domain: claim.domain, account: account.id });
  }

  async #insert(account: AccountRecord, domain: string): Promise<DomainRecord> {
    const { store, clock } = this.#deps;
    const wanted: DomainRecord = {
      id: randomUUID(),
      accountId: account.id,
      domain,
      proof: randomBytes(PROOF_BYTES).toString('hex'),
      createdAt: clock.now(),
      verifiedAt: null,
      failingSince: null,
      checkAt: null,
    };
    try {
      return await orUnavailable(store.insertDomain(wanted, PLAN_RULES[account.plan].maxDomains));
    } catch (error) {
      throw error instanceof FullError ? noRoom(account) : error;
    }
  }

  /** An account that has proven that it owns a domain keeps it as long as its proof is published. */
  async #mustBeFree(account: AccountRecord, domain: string): Promise<void> {
    const { store, lookup } = this.#deps;
    const holder = await orUnavailable(store.verifiedClaim(domain));
    if (holder === undefined) return;
    const proofs = await this.#bounded(account, () => proofsOf(domain, lookup));
    if (proofs === undefined || proofs.includes(proofText(holder.proof)))
      throw new ApiError(API_ERRORS.domainTaken);
  }

  async #takeCall({ id }: AccountRecord): Promise<void> {
    const wait = await this.#deps.calls.take(`domains:${id}`);
    if (wait > 0) throw new ApiError(API_ERRORS.rateLimited, { 'Retry-After': String(wait) });
  }

  /** @throws ApiError 503 if too many checks of the account, or of all accounts, are in progress */
  #bounded<T>({ id }: AccountRecord, look: () => Promise<T>): Promise<T> {
    return mapBusyError(this.#looks.run(id, look));
  }
}

function noRoom({ plan }: AccountRecord): ApiError {
  const { title, maxDomains } = PLAN_RULES[plan];
  return new ApiError(withValues(API_ERRORS.tooManyDomains, { plan: title, number: maxDomains ?? 0 }));
}

/* The addresses of the relay in the DNS, shown to owners of domains that cannot have a CNAME. */

export class OwnAddresses {
  readonly #host: string;
  readonly #lookup: DnsLookup;
  readonly #clock: Clock;
  #known: Promise<readonly string[]> | undefined;
  /** monotonic ms until which that is cached */
  #until = 0;

  /** @param host the relay's own name or address, IPv6 without brackets */
  constructor(host: string, lookup: DnsLookup, clock: Clock) {
    this.#host = host;
    this.#lookup = lookup;
    this.#clock = clock;
  }

  /** @returns empty if the DNS has none, or does not answer; never rejects */
  get(): Promise<readonly string[]> {
    const now = this.#clock.monotonic();
    if (this.#known === undefined || now >= this.#until) {
      this.#until = now + OWN_ADDRESSES_MS;
      this.#known = this.#ask();
    }
    return this.#known;
  }

  async #ask(): Promise<readonly string[]> {
    const found = await addressesOf(this.#host, this.#lookup);
    // A DNS server that was briefly unavailable may be back.
    if (found.length === 0) this.#until = this.#clock.monotonic() + DNS_ANSWER_MS;
    return found;
  }
}

/* The records that the owner of a domain has to create (protocol.md section 12.2). */

/**
 * A registered name has other records, which cannot coexist with a CNAME (RFC 1034 section 3.6.2).
 *
 * @param host the relay's own name or address, IPv6 without brackets
 * @param addresses of the relay, for domains that cannot have a CNAME; empty if they are unknown
 */
export function recordsOf(
  { domain, proof }: Pick<DomainRecord, 'domain' | 'proof'>,
  host: string,
  addresses: readonly string[],
): DnsRecord[] {
  const txt: DnsRecord = { type: 'TXT', name: proofName(domain), value: proofText(proof) };
  const leadsTo = isApex(domain) && addresses.length > 0 ? addresses : [host];
  return [...leadsTo.map((value) => addressRecord(domain, value)), txt];
}

/** With it, the relay itself proves to a certificate authority that a wildcard certificate is for its owner. */
function delegationRecord(domain: string, host: string): DnsRecord {
  return { type: 'NS', name: `_acme-challenge.${baseOfWildcard(domain)}`, value: host };
}

function addressRecord(name: string, value: string): DnsRecord {
  const family = isIP(value);
  return { type: family === 4 ? 'A' : family === 6 ? 'AAAA' : 'CNAME', name, value };
}

/* The list of public suffixes (https://publicsuffix.org): loaded together with the API. */

/** Whether the public can register names below the domain: `com`, `co.uk`, `github.io`. */
function isPublicSuffix(domain: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(domain, { allowPrivateDomains: true });
  return publicSuffix === domain && (isIcann === true || isPrivate === true);
}

/** Whether a domain is a registered name: it has its own records, so it cannot have a CNAME. */
function isApex(domain: string): boolean {
  return parse(domain).domain === domain;
}
