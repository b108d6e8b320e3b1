/** All existing certificates: their names, and contexts of those in use, ready for handshakes. */
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from '../clock.ts';
import { SESSIONS } from '../edge/listener.ts';
import type {
  CertificateRecord,
  CertificateSummary,
  ChallengeRecord,
  ChallengeType,
} from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { Turnstile } from '../turnstile.ts';
import type { ChallengeSolver } from './challenge-solver.ts';

/**
 * Maximum number of concurrent queries that look up other relays' challenges in the database; further requests
 * from the outside get no answer.
 */
export const CHALLENGE_LOOKUPS_MAX = 32;
/**
 * Maximum number of certificates that are kept in memory for TLS handshakes; about 70 MB. Others are read from
 * the store again.
 */
export const CONTEXTS_MAX = 2000;
/**
 * Maximum number of certificates that are read from the database at the same time; further handshakes get none.
 */
export const CERTIFICATE_READS_MAX = 256;

/** ms that the clocks of relays may differ: queries for certificates of other relays go that much further back. */
const CLOCK_SLACK_MS = 3_600_000;

interface Ready {
  readonly storedAt: number;
  readonly context: SecureContext;
}

export class KnownCertificates {
  readonly #store: Pick<Store, 'certificateSummaries' | 'findCertificate' | 'removeCertificates'>;
  readonly #clock: Clock;
  readonly #summaries = new Map<string, CertificateSummary>();
  /** by name, least recently used first */
  readonly #ready = new Map<string, Ready>();
  readonly #reading = new Map<string, Promise<SecureContext | undefined>>();
  /** those that the store has not accepted yet */
  readonly #unstored = new Map<string, CertificateRecord>();
  /** time of the latest one read from the store */
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

  /** Certificates that still have to be stored. */
  get unstored(): Iterable<CertificateRecord> {
    return this.#unstored.values();
  }

  /** @returns the certificate of a name or wildcard, if it has not ended */
  get(name: string): CertificateSummary | undefined {
    const summary = this.#summaries.get(name);
    return summary !== undefined && summary.notAfter > this.#clock.now() ? summary : undefined;
  }

  /** @returns the certificate for a host: its own, otherwise a wildcard */
  covering(host: string): CertificateSummary | undefined {
    return this.get(host) ?? this.get(wildcardOf(host));
  }

  /** Reads the certificates that other relays have stored. */
  async refresh(): Promise<void> {
    // After a clock was set back, certificates are stored with earlier times.
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

  /** The context for a handshake, if it is loaded. */
  context({ name, storedAt }: CertificateSummary): SecureContext | undefined {
    const ready = this.#ready.get(name);
    if (ready?.storedAt !== storedAt) return undefined;
    this.#ready.delete(name);
    this.#ready.set(name, ready);
    return ready.context;
  }

  /**
   * Loads the context for a handshake from the store. Simultaneous requests for the same one share the result.
   *
   * @returns `undefined` if it is gone or not usable, or too many are being loaded
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

  /** Removes certificates that have ended. */
  async removeEnded(): Promise<void> {
    const now = this.#clock.now();
    const ended = [...this.#summaries.values()].filter(({ notAfter }) => notAfter < now);
    if (ended.length > 0) await this.#store.removeCertificates(now);
    for (const { name } of ended) this.forget(name);
  }

  /** Removes the certificate of a name, whose key is no longer used from now on. */
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

/**
 * A stricter version of TLS than the one that a pair was stored with may reject it: visitors must not crash the relay.
 */
function usableContextOf(pair: CertificateRecord): SecureContext | undefined {
  try {
    return contextOf(pair);
  } catch {
    return undefined;
  }
}

/** @throws Error for an invalid pair */
export function contextOf({ chain, key }: { chain: string; key: string }): SecureContext {
  return createSecureContext({ ...SESSIONS, cert: chain, key });
}

/* Pending challenges on any relay: they are in the store. */

export class PresentedChallenges {
  readonly #store: Pick<Store, 'putChallenge' | 'removeChallenge' | 'findChallenges'>;
  readonly #clock: Clock;
  /** whether no other relay places orders, so that this one knows all of them */
  readonly #alone: boolean;
  /** by token, those of this relay */
  readonly #own = new Map<string, ChallengeRecord>();
  readonly #lookups = new Turnstile({
    atOnce: { all: CHALLENGE_LOOKUPS_MAX, group: CHALLENGE_LOOKUPS_MAX },
  });

  /** @param alone whether no other relay places orders now; one that replaces this may start at any time */
  constructor(
    store: Pick<Store, 'putChallenge' | 'removeChallenge' | 'findChallenges'>,
    clock: Clock,
    alone: boolean,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#alone = alone;
  }

  /** A solver that presents challenges here. */
  solver(type: ChallengeType): ChallengeSolver {
    return {
      type,
      present: async (challenge) => {
        this.#own.set(challenge.token, challenge);
        const put = this.#store.putChallenge(challenge, this.#clock.now());
        // Stored for a relay that replaces this one; until then it is not needed.
        await (this.#alone ? put.catch(() => {}) : put);
      },
      withdraw: async ({ token }) => {
        this.#own.delete(token);
        // What remains in the store expires by itself.
        await this.#store.removeChallenge(token).catch(() => {});
      },
    };
  }

  /**
   * All challenges of one type.
   *
   * @throws StoreError
   */
  async all(type: ChallengeType): Promise<readonly ChallengeRecord[]> {
    if (!this.#alone) return await this.#store.findChallenges(type, this.#clock.now());
    return [...this.#own.values()].filter((challenge) => challenge.type === type);
  }

  /**
   * Challenges of a host, for any sender: so only a few lookups may query the store at a time, and none if no other
   * relay can have presented any.
   *
   * @param host in lower case
   * @returns none if the store fails, or there are too many lookups
   */
  async find(type: ChallengeType, host: string): Promise<readonly ChallengeRecord[]> {
    const own = [...this.#own.values()].filter(
      (challenge) => challenge.host === host && challenge.type === type,
    );
    if (own.length > 0 || this.#alone) return own;
    const look = () => this.#store.findChallenges(type, this.#clock.now(), host);
    return (await this.#lookups.runNow('', look)?.catch(() => [])) ?? [];
  }
}

/** Names on certificates. */

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The host that a handshake names, in lower case; `undefined` for anything that a public certificate cannot name:
 * addresses, names of one label, malformed names.
 */
export function certifiable(serverName: string): string | undefined {
  const name = serverName.toLowerCase();
  const labels = name.split('.');
  const isName = name.length <= 253 && labels.length > 1 && labels.every((label) => LABEL.test(label));
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') && labels.at(-1) !== 'localhost' ? name : undefined;
}

/** The wildcard that covers a host of two labels or more. */
export function wildcardOf(host: string): string {
  return `*${host.slice(host.indexOf('.'))}`;
}
