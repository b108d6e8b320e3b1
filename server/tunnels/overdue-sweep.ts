/** Removes tunnels that nobody has ended, because every relay that knew them has died: their names are free again. */
import type { Clock, Timer } from '../clock.ts';
import { EXPIRED_GRACE_MS, SWEEP_BATCH, SWEEP_INTERVAL_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';

export class OverdueSweep {
  readonly #store: Pick<Store, 'ping' | 'releaseOverdue'>;
  readonly #clock: Clock;
  readonly #nameHold: number;
  #timer: Timer | undefined;
  #stopped = false;
  /** Whether the store answered the last time. */
  #answered = false;

  /** @param nameHold ms for which the name of an ended tunnel stays with its account */
  constructor(store: Pick<Store, 'ping' | 'releaseOverdue'>, clock: Clock, nameHold: number) {
    this.#store = store;
    this.#clock = clock;
    this.#nameHold = nameHold;
  }

  /** Looks every {@link SWEEP_INTERVAL_MS} from now on. */
  start(): void {
    this.#timer = this.#clock.setTimeout(() => void this.#lookAndGoOn(), SWEEP_INTERVAL_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #lookAndGoOn(): Promise<void> {
    try {
      // Lives that traffic has prolonged while the store was away have an interval to be stored.
      if (this.#answered) await this.#sweep();
      else await this.#store.ping();
      this.#answered = true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#answered = false;
    }
    if (!this.#stopped) this.start();
  }

  async #sweep(): Promise<void> {
    const overdue = { nameHold: this.#nameHold, limit: SWEEP_BATCH };
    for (let removed = SWEEP_BATCH; removed === SWEEP_BATCH && !this.#stopped;) {
      const now = this.#clock.now();
      removed = await this.#store.releaseOverdue({ ...overdue, now, until: now - EXPIRED_GRACE_MS });
    }
  }
}
