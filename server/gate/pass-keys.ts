/**
 * Keys that sign passes and links: a new one each week, shared by all relays on a database. Keys of earlier weeks are valid as long
 * as what they signed, and the next one is accepted a little early, because clocks of relays differ. Expired keys are removed from the
 * database, so an old copy of it can forge nothing.
 */
import type { Clock, Timer } from '../clock.ts';
import { PASS_KEY_MS, STORE_RETRY_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { PassKeys } from './passes.ts';

/** ms before its time from which on a key is accepted, and after it in which a relay may still use it. */
const EARLY_MS = 60 * 60_000;

export interface KeyRingOptions {
  readonly store: Pick<Store, 'relaySecret' | 'removeSecrets'>;
  /** prefix of its secrets in the store; the number of the week follows */
  readonly name: string;
  /** ms that anything signed with a key is valid at most */
  readonly lifetime: number;
  readonly clock: Clock;
  /** told when the keys have changed */
  readonly changed: () => void;
}

/** Earlier keys are newest first; `until` is the end of their week, wall time in ms. */
interface Ring {
  readonly current: string;
  readonly next: string | undefined;
  readonly earlier: readonly { readonly key: string; readonly until: number }[];
}

const NONE: Ring = { current: '', next: undefined, earlier: [] };

export class KeyRing {
  readonly #options: KeyRingOptions;
  #ring = NONE;
  #keys: PassKeys = keysOf(NONE, 0);
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /** To be asked for only once it has been started. */
  get keys(): PassKeys {
    return this.#keys;
  }

  /**
   * The keys that may have signed something since a time. Anything signed with an older key must be forged.
   *
   * @param time wall time in ms
   */
  keysSince(time: number): PassKeys {
    return keysOf(this.#ring, time);
  }

  /** @throws StoreError */
  async start(): Promise<void> {
    this.#use(await this.#load());
    this.#arm();
  }

  /** Takes over keys that another program has renewed. @throws StoreError */
  async reload(): Promise<void> {
    const ring = await this.#load();
    if (JSON.stringify(ring) === JSON.stringify(this.#ring)) return;
    this.#use(ring);
    this.#options.changed();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #use(ring: Ring): void {
    this.#ring = ring;
    this.#keys = keysOf(ring, 0);
  }

  /** ms until keys are others. */
  #nextChange(): number {
    const { clock, lifetime } = this.#options;
    const into = clock.now() % PASS_KEY_MS;
    const changes = [lifetime % PASS_KEY_MS, PASS_KEY_MS - EARLY_MS, PASS_KEY_MS];
    return Math.min(...changes.filter((at) => at > into)) - into;
  }

  #arm(ms = this.#nextChange()): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.setTimeout(() => void this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    try {
      this.#use(await this.#load());
      this.#options.changed();
      this.#arm();
    } catch (error) {
      // The store reports itself that it fails. Meanwhile the keys of before go on.
      if (!(error instanceof StoreError)) throw error;
      this.#arm(STORE_RETRY_MS);
    }
  }

  async #load(): Promise<Ring> {
    const { store, name, lifetime, clock } = this.#options;
    const now = clock.now();
    // A secret is created up to EARLY_MS before its week, and clocks of relays may differ by as much.
    await store.removeSecrets(`${name} `, now - PASS_KEY_MS - lifetime - 2 * EARLY_MS);
    const period = Math.floor(now / PASS_KEY_MS);
    const earlier: { key: string; until: number }[] = [];
    for (let until = period * PASS_KEY_MS; until + lifetime > now; until -= PASS_KEY_MS)
      earlier.push({ key: await this.#key(until / PASS_KEY_MS - 1), until });
    const hasNext = now % PASS_KEY_MS >= PASS_KEY_MS - EARLY_MS;
    const next = hasNext ? await this.#key(period + 1) : undefined;
    return { current: await this.#key(period), next, earlier };
  }

  #key(period: number): Promise<string> {
    const { store, name, clock } = this.#options;
    return store.relaySecret(`${name} ${period}`, clock.now());
  }
}

function keysOf({ current, next, earlier }: Ring, since: number): PassKeys {
  const others = earlier.filter(({ until }) => until + EARLY_MS > since).map(({ key }) => key);
  return { current, others: next === undefined ? others : [next, ...others] };
}
