/** Sees to it that certificates are there, are renewed in time, and go when nobody needs them. */
import type { Clock, Timer } from '../clock.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Orders } from './acme-orders.ts';
import type { MayHave, PlanFor, Planning } from './challenge-solver.ts';
import type { KnownCertificates } from './known-certificates.ts';

/** ms until it is asked again whether a name for which nothing is renewed has come back. */
const NAME_GONE_LOOK_MS = 3_600_000;

/** ms until a certificate that the store did not take is given to it again. */
const CERTIFICATE_STORE_RETRY_MS = 60_000;

/** ms between two looks at which certificates are to be renewed, and what other relays have stored. */
const CERTIFICATE_LOOK_MS = 10_000;

export interface CertificateRenewalDeps {
  /** the relay's own name, which always has a certificate */
  readonly own: string;
  /** see {@link Planning} */
  readonly always: () => ReturnType<Planning['always']>;
  readonly known: KnownCertificates;
  readonly orders: Pick<Orders, 'obtain' | 'obtainFor' | 'store'>;
  readonly planFor: PlanFor;
  readonly mayHave: MayHave;
  /** called after each look: certificates may be others than before */
  readonly looked: () => Promise<void>;
  readonly clock: Clock;
}

export class CertificateRenewal {
  readonly #deps: CertificateRenewalDeps;
  #timer: Timer | undefined;
  #stopped = false;
  /** by name, the wall time in ms until which nobody has needed a renewal */
  readonly #unneeded = new Map<string, number>();
  #storeAt = 0;

  constructor(deps: CertificateRenewalDeps) {
    this.#deps = deps;
  }

  /** @returns fulfilled after the first look; orders that it has begun go on */
  async start(): Promise<void> {
    await this.#look(true);
    this.#goOn();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #goOn(): void {
    if (this.#stopped) return;
    this.#timer = this.#deps.clock.setTimeout(
      () => void this.#look(false).then(() => this.#goOn()),
      CERTIFICATE_LOOK_MS,
    );
  }

  /** @param isFirst whether earlier failures of what is always needed do not matter: what caused them may have been mended */
  async #look(isFirst: boolean): Promise<void> {
    const { known, looked } = this.#deps;
    try {
      await known.refresh();
      await known.removeEnded();
      await this.#storeAgain();
      await this.#renew();
    } catch (error) {
      // The store tells the operator itself. What is in use stays so.
      if (!(error instanceof StoreError)) throw error;
    }
    void this.#ensure(isFirst);
    await looked();
  }

  /** Orders what is always needed. Never rejects; the DNS may be slow to say what that is. */
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
      // Another one may do for it by now.
      const isNeeded = plan.subject === name && (await mayHave(name));
      if (isNeeded) void orders.obtain(plan, 'upkeep');
      else this.#unneeded.set(name, now + NAME_GONE_LOOK_MS);
    }
    for (const [name, until] of this.#unneeded) if (until <= now) this.#unneeded.delete(name);
  }
}
