/** When keys were used last, told to the store now and then: no request waits for it, or costs a write of its own. */
import { batches } from '../batches.ts';
import type { Clock, Timer } from '../clock.ts';
import { ACCESS_BATCH, KEY_USES_FLUSH_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { KeyUsers } from './access-watch.ts';

export class KeyUses {
  readonly #store: Pick<Store, 'markKeysUsed'>;
  readonly #clock: Clock;
  /** ids of keys that the store has not been told of */
  #used = new Set<string>();
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, 'markKeysUsed'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** A key was used just now. */
  note(keyId: string): void {
    this.#used.add(keyId);
  }

  /**
   * Begins to tell the store, every {@link KEY_USES_FLUSH_MS}.
   *
   * @param users whose keys are in use for as long as something is open
   */
  start(users: Pick<KeyUsers, 'keysInUse'>): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#running = this.#flushAndGoOn(users);
    }, KEY_USES_FLUSH_MS);
  }

  /** Tells the store what is left; a store that fails is not told. */
  async stop(users: Pick<KeyUsers, 'keysInUse'>): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
    await this.#flush(users);
  }

  async #flushAndGoOn(users: Pick<KeyUsers, 'keysInUse'>): Promise<void> {
    await this.#flush(users);
    if (this.#timer !== undefined) this.start(users);
  }

  async #flush(users: Pick<KeyUsers, 'keysInUse'>): Promise<void> {
    for (const keyId of users.keysInUse()) this.#used.add(keyId);
    const used = [...this.#used];
    this.#used = new Set();
    try {
      for (const batch of batches(used, ACCESS_BATCH)) {
        await this.#store.markKeysUsed(batch, this.#clock.now());
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      for (const keyId of used) this.#used.add(keyId);
    }
  }
}
