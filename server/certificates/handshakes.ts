/** Provides handshakes with the certificate for their host, ordered on demand if there is none yet. */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../clock.ts';
import { StoreError } from '../store/store-errors.ts';
import { Turnstile } from '../turnstile.ts';
import type { Orders } from './acme-orders.ts';
import { challengeCertificate, newKey, pemOf } from './acme/x509.ts';
import type { HolderOf, IsServed, PlanFor } from './challenge-solver.ts';
import { certifiable, type KnownCertificates, type PresentedChallenges } from './known-certificates.ts';

/** Maximum number of TLS handshakes that may wait for ACME orders. */
export const CERTIFICATE_WAITS_MAX = 512;
/** Maximum number of TLS handshakes that may wait for the same name's ACME order. */
export const CERTIFICATE_WAITS_PER_NAME_MAX = 32;
/**
 * Maximum number of TLS handshakes that may wait for one account's ACME orders, so that an owner of many names
 * cannot take the places of other people's visitors.
 */
export const CERTIFICATE_WAITS_PER_ACCOUNT_MAX = 64;
/**
 * How long a TLS handshake waits for an ACME order: as long as browsers do.
 * @limit visitor: Wait for the first certificate of an address | the TLS handshake fails; a later attempt succeeds
 */
export const CERTIFICATE_WAIT_MS = 30_000;

export interface HandshakesDeps {
  /** the relay's own name; its certificate is that of the listener itself */
  readonly own: string;
  readonly known: KnownCertificates;
  readonly orders: Pick<Orders, 'obtainFor'>;
  readonly challenges: PresentedChallenges;
  readonly planFor: PlanFor;
  readonly holderOf: HolderOf;
  readonly isServed: IsServed;
  /** whether the listener has a certificate of the relay's own name */
  readonly hasOwn: () => boolean;
  /** Gives the listener the certificate of the relay's own name, if there is a new one. */
  readonly serveOwn: () => Promise<void>;
  readonly clock: Clock;
}

export class CertifiedHandshakes {
  readonly #deps: HandshakesDeps;
  /** handshakes that wait for a certificate to be issued, by the host that they name and by its account */
  readonly #byHost = new Turnstile({
    atOnce: { all: CERTIFICATE_WAITS_MAX, group: CERTIFICATE_WAITS_PER_NAME_MAX },
  });
  readonly #byAccount = new Turnstile({
    atOnce: { all: CERTIFICATE_WAITS_MAX, group: CERTIFICATE_WAITS_PER_ACCOUNT_MAX },
  });

  constructor(deps: HandshakesDeps) {
    this.#deps = deps;
  }

  /** Handshakes that wait. */
  get waits(): number {
    return this.#byHost.underWay;
  }

  /**
   * @param serverName from the handshake
   * @returns its context; `undefined`: the listener's own
   */
  context(serverName: string): SecureContext | undefined {
    const { own, known, isServed } = this.#deps;
    const host = certifiable(serverName);
    if (host === undefined || host === own || !isServed(host)) return undefined;
    const summary = known.covering(host);
    return summary && known.context(summary);
  }

  /**
   * Before a handshake begins, makes sure that {@link context} has a certificate if one can be obtained.
   *
   * @param serverName `undefined` for a handshake that names no host
   * @returns `undefined` if there is nothing to wait for; otherwise a promise that never rejects and settles in
   *   bounded time
   */
  prepare(serverName: string | undefined): Promise<void> | undefined {
    const { own, known, isServed, hasOwn } = this.#deps;
    const host = certifiable(serverName ?? own);
    if (host === undefined || !isServed(host)) return undefined;
    // A certificate that has just been issued is known before the listener has it.
    if (host === own) return hasOwn() && known.covering(own) !== undefined ? undefined : this.#order(own);
    const summary = known.covering(host);
    if (summary === undefined) return this.#order(host);
    return known.context(summary) === undefined ? this.#load(host) : undefined;
  }

  /**
   * The certificate that proves a name to an authority (RFC 8737 section 3).
   *
   * @returns `undefined` if there is no challenge; never rejects
   */
  async challenge(serverName: string): Promise<SecureContext | undefined> {
    const { challenges, clock } = this.#deps;
    const host = certifiable(serverName);
    const [found] = host === undefined ? [] : await challenges.find('tls-alpn-01', host);
    if (found === undefined) return undefined;
    const key = await newKey();
    const cert = challengeCertificate(found.host, found.keyAuthorization, key, clock.now());
    return createSecureContext({ key: pemOf(key), cert });
  }

  async #load(host: string): Promise<void> {
    const { known } = this.#deps;
    const summary = known.covering(host);
    try {
      if (summary !== undefined) await known.load(summary);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  async #order(host: string): Promise<void> {
    const { own, holderOf, serveOwn } = this.#deps;
    await this.#byHost.runNow(host, async () => {
      if (host === own) {
        await this.#atMost(CERTIFICATE_WAIT_MS, this.#obtain(host, host, undefined));
        await serveOwn();
        return;
      }
      const holder = await holderOf(host).catch(() => undefined);
      if (holder === undefined) return;
      const { account, subject } = holder;
      await this.#byAccount.runNow(account, async () => {
        await this.#atMost(CERTIFICATE_WAIT_MS, this.#obtain(host, subject, account));
        await this.#load(host);
      });
    });
  }

  async #obtain(host: string, subject: string, account: string | undefined): Promise<void> {
    const { orders, planFor } = this.#deps;
    const plan = await planFor(subject);
    await orders.obtainFor(host, account === undefined ? plan : { ...plan, account }, 'visitor');
  }

  async #atMost(ms: number, work: Promise<void>): Promise<void> {
    const { clock } = this.#deps;
    await new Promise<void>((resolve) => {
      const timer = clock.setTimeout(resolve, ms);
      void work.finally(() => timer.cancel()).then(resolve);
    });
  }
}
