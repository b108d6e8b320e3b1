/**
 * Keys of passes: a new one each week, which all relays on a database share. Passes of the week before are good for as long as
 * a pass lives, and those of the next one a little earlier, because clocks of relays differ.
 */
import type { Clock, Timer } from '../clock.ts';
import { PASS_KEY_MS, STORE_RETRY_MS, PASS_SECONDS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { PassKeys } from './passes.ts';

/** ms before its time from which on a key is accepted. */
const EARLY_MS = 60 * 60_000;

export interface KeyRingOptions {
  readonly store: Pick<Store, 'relaySecret'>;
  readonly clock: Clock;
  /** told when the keys have changed */
  readonly changed: () => void;
}

export class KeyRing {
  readonly #options: KeyRingOptions;
  #keys: PassKeys = { current: '', others: [] };
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /** To be asked for only once it has been started. */
  get keys(): PassKeys {
    return this.#keys;
  }

  /** @throws StoreError */
  async start(): Promise<void> {
    this.#keys = await this.#load();
    this.#arm();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Until which keys are others. */
  #nextChange(): number {
    const into = this.#options.clock.now() % PASS_KEY_MS;
    const changes = [PASS_SECONDS * 1000, PASS_KEY_MS - EARLY_MS, PASS_KEY_MS];
    return (changes.find((at) => at > into) ?? PASS_KEY_MS) - into;
  }

  #arm(ms = this.#nextChange()): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.setTimeout(() => void this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    try {
      this.#keys = await this.#load();
      this.#options.changed();
      this.#arm();
    } catch (error) {
      // The store reports itself that it fails. Meanwhile the keys of before go on.
      if (!(error instanceof StoreError)) throw error;
      this.#arm(STORE_RETRY_MS);
    }
  }

  async #load(): Promise<PassKeys> {
    const now = this.#options.clock.now();
    const period = Math.floor(now / PASS_KEY_MS);
    const into = now % PASS_KEY_MS;
    const others: string[] = [];
    if (into < PASS_SECONDS * 1000) others.push(await this.#key(period - 1));
    if (into >= PASS_KEY_MS - EARLY_MS) others.push(await this.#key(period + 1));
    return { current: await this.#key(period), others };
  }

  #key(period: number): Promise<string> {
    const { store, clock } = this.#options;
    return store.relaySecret(`pass ${period}`, clock.now());
  }
}
