/** Orders certificates: one at a time for a name, a limited number per hour, and after failures only when due. */
import { randomUUID, X509Certificate } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { describeError, type Log } from '../log.ts';
import { certificateOrders } from '../observe/counters.ts';
import type { OrderBegin, OrderTurn } from '../store/queries/certificate-queries.ts';
import { type CertificateRecord, ORDER_RETRY_MAX_MS } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { ACME_ORDER_TIMEOUT_MS, type AcmeAccount, type Issued, Order, UnprovenError } from './acme/order.ts';
import { AcmeProblem, type AcmeSession, AuthorityError } from './acme/session.ts';
import type { ChallengeSolver, IsServed, Plan } from './challenge-solver.ts';
import type { KnownCertificates } from './known-certificates.ts';

/**
 * Delay before a failed ACME order is retried; doubled for each failure in a row. Authorities allow five an
 * hour.
 */
export const ORDER_RETRY_MS = 180_000;
/** Pause before the next request to a certificate authority that failed; doubled for each failure in a row. */
export const AUTHORITY_RETRY_MS = 10_000;
/** Longest pause before the next request to a certificate authority that failed. */
export const AUTHORITY_RETRY_MAX_MS = 3_600_000;
/** Number of ACME orders that a relay processes at the same time. */
export const ORDERS_AT_ONCE = 32;
/**
 * Maximum number of names that the relay remembers because ordering a certificate for them would currently fail;
 * about 2 MB.
 */
export const REFUSED_NAMES_MAX = 10_000;

/** Share of the orders that visitors cannot use, because renewals and the relay's own name need it. */
const ORDERS_RESERVED_SHARE = 0.25;

/**
 * Share of the visitors' orders that is not reserved for the first order of each account, however many accounts want
 * more.
 */
const ORDERS_BEYOND_FIRST_SHARE = 0.5;

/** ms between two checks of an order of another relay. */
const HELD_ORDER_LOOK_MS = 1000;

interface OrdersDeps {
  readonly store: Pick<Store, 'beginOrder' | 'beginFurtherOrder' | 'failOrder' | 'storeCertificate'>;
  readonly known: KnownCertificates;
  readonly session: AcmeSession;
  readonly account: AcmeAccount;
  readonly isServed: IsServed;
  /** orders per hour, of all names and relays */
  readonly perHour: number;
  readonly clock: Clock;
  readonly log: Log;
}

export class Orders {
  readonly #deps: OrdersDeps;
  /** by name, orders of this relay in progress or waiting; resolves to whether it was ordered */
  readonly #underWay = new Map<string, Promise<boolean>>();
  /** by name, the wall time in ms before which another order would fail; oldest first */
  readonly #refused = new Map<string, number>();
  readonly #pauses: Pauses;
  /** the solver that worked last, which is tried first */
  #preferred: ChallengeSolver['type'] | undefined;

  constructor(deps: OrdersDeps) {
    this.#deps = deps;
    this.#pauses = new Pauses(deps.clock);
  }

  /** Fulfilled when nothing is in progress. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }

  /**
   * Orders a certificate, unless there is a reason not to. Never rejects.
   *
   * @param ignoreWait whether to ignore earlier failures
   * @returns fulfilled when the certificate exists, or cannot be obtained for now
   */
  async obtain(plan: Plan, cause: Cause, ignoreWait = false): Promise<void> {
    const { subject, solvers } = plan;
    const known = this.#underWay.get(subject);
    if (known !== undefined) {
      // The order in progress may have failed only because it respects earlier failures.
      const isOver = (await known) || !ignoreWait;
      return isOver ? undefined : await this.obtain(plan, cause, true);
    }
    const isInVain = solvers.length === 0 || this.#isInVain(subject, cause, ignoreWait);
    if (isInVain || this.#underWay.size >= ORDERS_AT_ONCE) return;
    const underWay = this.#obtain(plan, cause, ignoreWait).finally(() => this.#underWay.delete(subject));
    this.#underWay.set(subject, underWay);
    await underWay;
  }

  /** The same for a host: orders the plan's certificate, or its alternative if that fails. Never rejects. */
  async obtainFor(host: string, plan: Plan, cause: Cause, ignoreWait = false): Promise<void> {
    await this.obtain(plan, cause, ignoreWait);
    const { otherwise, account } = plan;
    if (otherwise !== undefined && this.#deps.known.covering(host) === undefined)
      await this.obtainFor(
        host,
        account === undefined ? otherwise : { ...otherwise, account },
        cause,
        ignoreWait,
      );
  }

  #isInVain(subject: string, cause: Cause, ignoreWait: boolean): boolean {
    const { clock, known } = this.#deps;
    const now = clock.now();
    // Also one that is not stored yet.
    if ((known.get(subject)?.renewAt ?? 0) > now || this.#pauses.isOn(cause)) return true;
    const until = ignoreWait ? undefined : this.#refused.get(subject);
    // A later time was set before the clock was set back; longer pauses for an authority use the monotonic clock.
    if (until !== undefined && now < until && until - now <= ORDER_RETRY_MAX_MS) return true;
    this.#refused.delete(subject);
    return false;
  }

  /** @returns whether it was ordered, with whatever result, or already exists */
  async #obtain(plan: Plan, cause: Cause, ignoreWait: boolean): Promise<boolean> {
    try {
      const turn = await this.#begin(plan, cause, ignoreWait);
      if (turn.kind === 'begun') await this.#order(plan, cause, turn.failures);
      else if (turn.kind === 'wait') this.#refuse(plan.subject, turn.until, turn.cause === 'limit');
      else await this.#deps.known.refresh();
      return turn.kind !== 'wait';
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // The store itself reports the failure; without it nothing is ordered.
      this.#refuse(plan.subject, this.#deps.clock.now() + ORDER_RETRY_MS, false);
      return true;
    }
  }

  /** Waits while another relay orders, until the certificate is known here. */
  async #begin(plan: Plan, cause: Cause, ignoreWait: boolean): Promise<OrderTurn> {
    const { store, known, clock } = this.#deps;
    for (;;) {
      const turn = await store.beginOrder({ ...this.#attempt(plan, cause), ignoreWait });
      if (turn.kind !== 'held') return turn;
      await new Promise<void>((resolve) => {
        clock.setTimeout(resolve, HELD_ORDER_LOOK_MS);
      });
      if ((known.get(plan.subject)?.renewAt ?? 0) > clock.now()) return { kind: 'stored' };
    }
  }

  #attempt({ subject: name, account }: Plan, cause: Cause): OrderBegin {
    const { clock, perHour } = this.#deps;
    const now = clock.now();
    // Visitors cannot use up the orders that renewals need.
    const reserved = cause === 'visitor' ? Math.floor(perHour * ORDERS_RESERVED_SHARE) : 0;
    const heldUntil = now + 2 * ACME_ORDER_TIMEOUT_MS;
    const most = perHour - reserved;
    const beyondFirst = Math.ceil(most * ORDERS_BEYOND_FIRST_SHARE);
    const limits = { perHour: most, account: account ?? null, beyondFirst };
    return { name, attempt: randomUUID(), now, heldUntil, ...limits, ignoreWait: false };
  }

  async #order(plan: Plan, cause: Cause, failures: number): Promise<void> {
    const { account, isServed, clock, log } = this.#deps;
    const { subject } = plan;
    const begin = clock.monotonic();
    try {
      log('certificate ordered', { name: subject, cause });
      const issued = await account.with((signer) => this.#issue(plan, cause, signer));
      this.#pauses.over(cause);
      // No key may be stored for a domain that was removed while its certificate was issued.
      if (!isServed(subject)) throw new Error('the domain is no longer verified');
      certificateOrders.issued += 1;
      await this.#keep(subject, issued, failures, Math.round(clock.monotonic() - begin));
    } catch (error) {
      await this.#failed(subject, cause, failures, error);
    }
  }

  /** Tries one solver after the other. */
  async #issue(plan: Plan, cause: Cause, signer: ConstructorParameters<typeof Order>[1]): Promise<Issued> {
    const { session, store, clock } = this.#deps;
    const { subject, solvers } = plan;
    const ways = solvers.toSorted(
      (one, other) => Number(other.type === this.#preferred) - Number(one.type === this.#preferred),
    );
    const failed: unknown[] = [];
    for (const solver of ways) {
      if (failed.length > 0) {
        const turn = await store.beginFurtherOrder(this.#attempt(plan, cause));
        if (turn.kind !== 'begun') break;
      }
      try {
        const issued = await new Order(session, signer, clock).run([subject], solver);
        this.#preferred = solver.type;
        return issued;
      } catch (error) {
        if (!(error instanceof UnprovenError)) throw error;
        failed.push(error);
      }
    }
    throw new Error(failed.map(describeError).join('; '));
  }

  /** A certificate that the store rejects is used anyway: ordering it again would cost the authority more. */
  async #keep(name: string, issued: Issued, failures: number, ms: number): Promise<void> {
    const { known, log, clock } = this.#deps;
    const now = clock.now();
    const certificate = certificateOf(name, issued, now, Math.random());
    const isToBeRenewed = certificate.renewAt <= now;
    // With a wrong clock, it would be renewed again and again.
    const retryAt = isToBeRenewed ? now + waitAfter(failures + 1) : 0;
    if (isToBeRenewed || isTooEarly(issued, now))
      log('clock off', { name, valid_to: new Date(certificate.notAfter).toISOString() });
    this.#refuse(name, retryAt, false);
    known.add(certificate, false);
    log('certificate issued', { name, valid_to: new Date(certificate.notAfter).toISOString(), ms });
    await this.store(certificate, retryAt);
  }

  /** Stores a certificate. Never rejects; {@link KnownCertificates.unstored} has those that were rejected. */
  async store(certificate: CertificateRecord, retryAt: number): Promise<void> {
    const { store, known, log } = this.#deps;
    try {
      await store.storeCertificate(certificate, retryAt);
      known.add(certificate, true);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log('certificate not stored', { name: certificate.name, error: describeError(error) });
    }
  }

  async #failed(name: string, cause: Cause, failures: number, error: unknown): Promise<void> {
    const { store, clock, log } = this.#deps;
    const isOutage = error instanceof AuthorityError;
    const now = clock.now();
    const until = now + (isOutage ? this.#pauses.begin(cause, error) : waitAfter(failures + 1));
    certificateOrders[isOutage ? 'authority' : 'failed'] += 1;
    this.#refuse(name, until, false);
    log('certificate order failed', {
      name,
      error: describeError(error),
      retry_at: new Date(until).toISOString(),
    });
    try {
      await store.failOrder(name, isOutage ? failures : failures + 1, isOutage ? 0 : until);
    } catch (failure) {
      if (!(failure instanceof StoreError)) throw failure;
    }
  }

  /** @param isLimit whether to log it, once */
  #refuse(name: string, until: number, isLimit: boolean): void {
    if (isLimit) {
      certificateOrders.limited += 1;
      this.#deps.log('certificate order limit', { name, retry_at: new Date(until).toISOString() });
    }
    this.#refused.delete(name);
    this.#refused.set(name, until);
    if (this.#refused.size <= REFUSED_NAMES_MAX) return;
    const [oldest = name] = this.#refused.keys();
    this.#refused.delete(oldest);
  }
}

/** ms to wait after this many failures. */
function waitAfter(failures: number): number {
  return Math.min(ORDER_RETRY_MS * 2 ** (failures - 1), ORDER_RETRY_MAX_MS);
}

/* Certificates as stored, with values derived from their dates. */

/** A certificate is renewed after this share of its life, or up to {@link JITTER} of it earlier. */
const RENEW_AFTER = 2 / 3;
/** So that certificates that were issued together are not renewed together: 1.8 days of 90. */
const JITTER = 1 / 50;
/** ms that a clock may be behind that of an authority. */
const BEHIND_MS = 60_000;

/**
 * @param now wall time in ms
 * @param random from 0 to 1
 */
export function certificateOf(
  name: string,
  { chain, key }: Issued,
  now: number,
  random: number,
): CertificateRecord {
  const own = new X509Certificate(chain);
  const [from, until] = [Date.parse(own.validFrom), Date.parse(own.validTo)];
  const renewAt = Math.floor(from + (until - from) * (RENEW_AFTER - JITTER * random));
  return { name, chain, key, renewAt, notAfter: until, storedAt: now };
}

/** @returns whether its life begins only later, which means that the clock is behind */
function isTooEarly({ chain }: Issued, now: number): boolean {
  return Date.parse(new X509Certificate(chain).validFrom) > now + BEHIND_MS;
}

/* Pauses for an authority that does not work. */

/** Why a certificate is ordered: a visitor waits for it, or the relay renews or prepares it. */
export type Cause = 'visitor' | 'upkeep';

interface Pause {
  /** monotonic ms */
  until: number;
  /** failures of the authority in a row */
  outages: number;
}

/** Longer each time. Limits that visitors have exhausted only delay further visitors, not renewals. */
class Pauses {
  readonly #clock: Clock;
  readonly #of: Readonly<Record<Cause, Pause>> = {
    visitor: { until: 0, outages: 0 },
    upkeep: { until: 0, outages: 0 },
  };

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether nothing may be ordered now. */
  isOn(cause: Cause): boolean {
    return this.#clock.monotonic() < this.#of[cause].until;
  }

  /**
   * An order could not be placed.
   *
   * @returns ms until the next may
   */
  begin(cause: Cause, error: AuthorityError): number {
    const isLimit = error.cause instanceof AcmeProblem && error.cause.type === 'rateLimited';
    const wait = Math.max(this.#growing(cause), error.retryAfterMs ?? 0);
    const concerned = isLimit && cause === 'visitor' ? [this.#of.visitor] : Object.values(this.#of);
    for (const pause of concerned) {
      pause.outages += 1;
      pause.until = this.#clock.monotonic() + wait;
    }
    return wait;
  }

  /** An order was placed. */
  over(cause: Cause): void {
    this.#of[cause].outages = 0;
  }

  #growing(cause: Cause): number {
    return Math.min(AUTHORITY_RETRY_MS * 2 ** this.#of[cause].outages, AUTHORITY_RETRY_MAX_MS);
  }
}
