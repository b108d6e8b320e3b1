/** Makes sure that required certificates exist, are renewed in time, and are removed when no longer needed. */
import type { Clock, Timer } from '../clock.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Orders } from './acme-orders.ts';
import type { MayHave, PlanFor, Planning } from './challenge-solver.ts';
import type { KnownCertificates } from './known-certificates.ts';

/** ms until it is checked again whether a name without a renewal has returned. */
const NAME_GONE_LOOK_MS = 3_600_000;

/** ms until a certificate that the store rejected is stored again. */
const CERTIFICATE_STORE_RETRY_MS = 60_000;

/** ms between two checks for due renewals and for certificates stored by other relays. */
const CERTIFICATE_LOOK_MS = 10_000;

export interface CertificateRenewalDeps {
  /** the relay's own name, which is always required */
  readonly own: string;
  /** see {@link Planning} */
  readonly always: () => ReturnType<Planning['always']>;
  readonly known: KnownCertificates;
  readonly orders: Pick<Orders, 'obtain' | 'obtainFor' | 'store'>;
  readonly planFor: PlanFor;
  readonly mayHave: MayHave;
  /** called after each check: certificates may have changed */
  readonly looked: () => Promise<void>;
  readonly clock: Clock;
}

export class CertificateRenewal {
  readonly #deps: CertificateRenewalDeps;
  #timer: Timer | undefined;
  #stopped = false;
  /** by name, until when its renewal counts as not needed, wall time in ms */
  readonly #unneeded = new Map<string, number>();
  #storeAt = 0;

  constructor(deps: CertificateRenewalDeps) {
    this.#deps = deps;
  }

  /** @returns fulfilled after the first check; orders that it has started continue */
  async start(): Promise<void> {
    await this.#look(true);
    this.#scheduleNext();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #scheduleNext(): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.setTimeout(
      () => void this.#look(false).then(() => this.#scheduleNext()),
      CERTIFICATE_LOOK_MS,
    );
  }

  /**
   * @param isFirst whether to ignore earlier failures of required certificates, because their cause may have been
   *   fixed
   */
  async #look(isFirst: boolean): Promise<void> {
    const { known, looked } = this.#deps;
    try {
      await known.refresh();
      await known.removeEnded();
      await this.#storeAgain();
      await this.#renew();
    } catch (error) {
      // The store itself reports the failure. Certificates in use stay in use.
      if (!(error instanceof StoreError)) throw error;
    }
    void this.#ensure(isFirst);
    await looked();
  }

  /** Orders required certificates. Never rejects; the DNS may be slow to determine them. */
  async #ensure(isFirst: boolean): Promise<void> {
    const { own, always, known, orders, planFor, looked, clock } = this.#deps;
    for (const host of [own, ...(await always())]) {
      const summary = known.covering(host);
      if (summary === undefined || summary.renewAt <= clock.now())
        void orders.obtainFor(host, await planFor(host), 'upkeep', isFirst).then(looked);
    }
  }

  async #storeAgain(): Promise<void> {
    const { known, orders, clock } = this.#deps;
    if (clock.monotonic() < this.#storeAt) return;
    this.#storeAt = clock.monotonic() + CERTIFICATE_STORE_RETRY_MS;
    for (const certificate of known.unstored) await orders.store(certificate, 0);
  }

  async #renew(): Promise<void> {
    const { known, orders, planFor, mayHave, clock } = this.#deps;
    const now = clock.now();
    for (const { name, renewAt } of known.all()) {
      if (renewAt > now || (this.#unneeded.get(name) ?? 0) > now) continue;
      const plan = await planFor(name);
      // A different certificate may cover it by now.
      const isNeeded = plan.subject === name && (await mayHave(name));
      if (isNeeded) void orders.obtain(plan, 'upkeep');
      else this.#unneeded.set(name, now + NAME_GONE_LOOK_MS);
    }
    for (const [name, until] of this.#unneeded) if (until <= now) this.#unneeded.delete(name);
  }
}
