/** The certificates there are: all of them by name, those that are in use ready for handshakes. */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../clock.ts';
import { SESSIONS } from '../edge/listener/session-options.ts';
import { CERTIFICATE_READS_MAX, CONTEXTS_MAX } from '../limits.ts';
import type { CertificateRecord, CertificateSummary } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { wildcardOf } from './names.ts';

/** ms by which the clocks of relays may differ: what others have stored is asked for so much further back. */
const CLOCK_SLACK_MS = 3_600_000;

interface Ready {
  readonly storedAt: number;
  readonly context: SecureContext;
}

export class KnownCertificates {
  readonly #store: Pick<Store, 'certificateSummaries' | 'findCertificate' | 'removeCertificates'>;
  readonly #clock: Clock;
  readonly #summaries = new Map<string, CertificateSummary>();
  /** by name, used longest ago first */
  readonly #ready = new Map<string, Ready>();
  readonly #reading = new Map<string, Promise<SecureContext | undefined>>();
  /** those that the store has not taken yet */
  readonly #unstored = new Map<string, CertificateRecord>();
  /** the latest of those that were read from the store */
  #newest = 0;

  constructor(
    store: Pick<Store, 'certificateSummaries' | 'findCertificate' | 'removeCertificates'>,
    clock: Clock,
  ) {
    this.#store = store;
    this.#clock = clock;
  }

  get size(): number {
    return this.#summaries.size;
  }

  all(): Iterable<CertificateSummary> {
    return this.#summaries.values();
  }

  /** Those that the store is to take. */
  get unstored(): Iterable<CertificateRecord> {
    return this.#unstored.values();
  }

  /** @returns the certificate of a name or wildcard, if it has not ended */
  get(name: string): CertificateSummary | undefined {
    const summary = this.#summaries.get(name);
    return summary !== undefined && summary.notAfter > this.#clock.now() ? summary : undefined;
  }

  /** @returns the certificate that a host can be visited with: its own, else a wildcard */
  covering(host: string): CertificateSummary | undefined {
    return this.get(host) ?? this.get(wildcardOf(host));
  }

  /** Learns what other relays have stored. */
  async refresh(): Promise<void> {
    // A clock that was set back stores with earlier times than before.
    const since = Math.min(this.#newest, this.#clock.now()) - CLOCK_SLACK_MS;
    for (const summary of await this.#store.certificateSummaries(since)) {
      this.#newest = Math.max(this.#newest, summary.storedAt);
      if (!this.#unstored.has(summary.name)) this.#learn(summary);
    }
  }

  /** Uses a certificate that was just issued. */
  add(certificate: CertificateRecord, isStored: boolean): void {
    const { name, renewAt, notAfter, storedAt } = certificate;
    if (isStored) this.#unstored.delete(name);
    else this.#unstored.set(name, certificate);
    this.#learn({ name, renewAt, notAfter, storedAt });
  }

  /** What a handshake needs, if it is at hand. */
  context({ name, storedAt }: CertificateSummary): SecureContext | undefined {
    const ready = this.#ready.get(name);
    if (ready?.storedAt !== storedAt) return undefined;
    this.#ready.delete(name);
    this.#ready.set(name, ready);
    return ready.context;
  }

  /**
   * Gets what a handshake needs from the store. Whoever asks for the same one meanwhile gets the same.
   *
   * @returns `undefined` if it is gone or not usable, or too many are read
   * @throws StoreError
   */
  async load(summary: CertificateSummary): Promise<SecureContext | undefined> {
    const known = this.#reading.get(summary.name);
    if (known !== undefined) return await known;
    if (this.#reading.size >= CERTIFICATE_READS_MAX) return undefined;
    const reading = this.#read(summary.name);
    this.#reading.set(summary.name, reading);
    try {
      return await reading;
    } finally {
      this.#reading.delete(summary.name);
    }
  }

  /** The certificate itself. */
  async find(name: string): Promise<CertificateRecord | undefined> {
    return this.#unstored.get(name) ?? (await this.#store.findCertificate(name));
  }

  /** Lets go of those that have ended. */
  async removeEnded(): Promise<void> {
    const now = this.#clock.now();
    const ended = [...this.#summaries.values()].filter(({ notAfter }) => notAfter < now);
    if (ended.length > 0) await this.#store.removeCertificates(now);
    for (const { name } of ended) this.forget(name);
  }

  /** Lets go of the certificate of a name, whose key is no longer used from now on. */
  forget(name: string): void {
    this.#summaries.delete(name);
    this.#ready.delete(name);
    this.#unstored.delete(name);
  }

  #learn(summary: CertificateSummary): void {
    this.#summaries.set(summary.name, summary);
    if (this.#ready.get(summary.name)?.storedAt !== summary.storedAt) this.#ready.delete(summary.name);
  }

  async #read(name: string): Promise<SecureContext | undefined> {
    const found = await this.find(name);
    if (found === undefined) {
      this.#summaries.delete(name);
      return undefined;
    }
    const { renewAt, notAfter, storedAt } = found;
    this.#learn({ name, renewAt, notAfter, storedAt });
    const context = usableContextOf(found);
    if (context === undefined) return undefined;
    this.#ready.set(name, { storedAt, context });
    if (this.#ready.size > CONTEXTS_MAX) {
      const [oldest = name] = this.#ready.keys();
      this.#ready.delete(oldest);
    }
    return context;
  }
}

/** A version of TLS that is stricter than that with which a pair was stored may refuse it: visitors must not end the relay. */
function usableContextOf(pair: CertificateRecord): SecureContext | undefined {
  try {
    return contextOf(pair);
  } catch {
    return undefined;
  }
}

/** @throws Error for a pair that is broken */
export function contextOf({ chain, key }: { chain: string; key: string }): SecureContext {
  return createSecureContext({ ...SESSIONS, cert: chain, key });
}
