/**
 * How a running relay learns that another program has revoked keys, or changed or removed accounts. A store that can notify,
 * or a message bus, would be another implementation.
 */
import type { Clock, Timer } from '../clock.ts';
import { ACCESS_POLL_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';

export interface AccessFeed {
  /**
   * Begins to call `onChange`: once, and then within a second of each change. It is called again if it fails with a
   * StoreError.
   */
  start(onChange: () => Promise<void>): void;
  /** Stops calling it; fulfilled when no call is under way any more. */
  stop(): Promise<void>;
}

/** Looks at the store's revision every {@link ACCESS_POLL_MS}. */
export class PolledAccessFeed implements AccessFeed {
  readonly #store: Pick<Store, 'accessRevision'>;
  readonly #clock: Clock;
  #seen: string | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, 'accessRevision'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  start(onChange: () => Promise<void>): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#running = this.#lookAndGoOn(onChange);
    }, ACCESS_POLL_MS);
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
  }

  async #lookAndGoOn(onChange: () => Promise<void>): Promise<void> {
    try {
      const revision = await this.#store.accessRevision(this.#clock.now());
      if (revision !== this.#seen) await onChange();
      this.#seen = revision;
    } catch (error) {
      // The store itself reports that it fails; the next look makes up for this one.
      if (!(error instanceof StoreError)) throw error;
    }
    if (this.#timer !== undefined) this.start(onChange);
  }
}
