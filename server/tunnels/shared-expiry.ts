/** Ends expired tunnels that other relays may have extended: the store decides. */
import type { Clock, Timer } from '../clock.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import { EXPIRED_GRACE_MS } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { LiveTunnel } from './live-tunnel.ts';

/** Number of tunnels that one query compares with the database. */
export const FOLLOW_BATCH = 500;
/**
 * Milliseconds between two searches for expired tunnels that no relay is left to end. Longer than the store may be
 * unreachable without being noticed.
 */
export const SWEEP_INTERVAL_MS = 60_000;
/** Number of expired tunnels without a relay that are removed in one transaction. */
export const SWEEP_BATCH = 500;
/**
 * How long another relay may take to report a tunnel's traffic: a tunnel in idle mode is not ended before that.
 */
export const IDLE_GRACE_MS = 500;

interface SharedExpiryDeps {
  readonly store: Pick<Store, 'releaseTunnels'>;
  readonly clock: Clock;
  readonly lifecycle: Lifecycle;
  /** updates tunnels from the store; rejects with StoreError */
  readonly compare: (tunnels: readonly LiveTunnel[]) => Promise<void>;
}

export class SharedExpiry {
  readonly #deps: SharedExpiryDeps;
  /** expired tunnels, unless another relay has extended them or has traffic for them */
  readonly #due = new Set<LiveTunnel>();
  #checking = false;

  constructor(deps: SharedExpiryDeps) {
    this.#deps = deps;
  }

  /** A tunnel has expired as far as this relay knows. */
  expired(tunnel: LiveTunnel): void {
    if (tunnel.terms.idle) this.#deps.clock.setTimeout(() => this.#check(tunnel), IDLE_GRACE_MS);
    else this.#check(tunnel);
  }

  stop(): void {
    this.#due.clear();
  }

  #check(tunnel: LiveTunnel): void {
    this.#due.add(tunnel);
    if (!this.#checking) void this.#checkDue();
  }

  async #checkDue(): Promise<void> {
    this.#checking = true;
    while (this.#due.size > 0) {
      await this.#endOrExtend(this.#takeDue());
    }
    this.#checking = false;
  }

  #takeDue(): LiveTunnel[] {
    const batch: LiveTunnel[] = [];
    for (const tunnel of this.#due) {
      if (batch.length === FOLLOW_BATCH) break;
      this.#due.delete(tunnel);
      batch.push(tunnel);
    }
    return batch;
  }

  async #endOrExtend(batch: readonly LiveTunnel[]): Promise<void> {
    try {
      await this.#deps.compare(batch);
      await this.#endExpired(this.#stillAlive(batch).filter((tunnel) => this.#deps.lifecycle.isOver(tunnel)));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
    for (const tunnel of this.#stillAlive(batch)) {
      if (!this.#deps.lifecycle.isOver(tunnel)) this.#deps.lifecycle.goOn(tunnel);
      else if (!this.#due.has(tunnel)) this.#deps.lifecycle.endExpired(tunnel, this.#unlessExtended(tunnel));
    }
  }

  /** Lets the store decide, so that an extension that another relay has acknowledged is not lost. */
  async #endExpired(over: readonly LiveTunnel[]): Promise<void> {
    const released = over.map((tunnel) => this.#unlessExtended(tunnel));
    const removed = await this.#deps.store.releaseTunnels(released, this.#deps.clock.now());
    for (const tunnel of over) {
      if (removed.has(tunnel.id)) this.#deps.lifecycle.end(tunnel, 'expired');
      // Another relay has already ended or extended it.
      else this.#due.add(tunnel);
    }
  }

  #unlessExtended(tunnel: LiveTunnel): ReleasedTunnel {
    return { ...this.#deps.lifecycle.expired(tunnel), expiredAt: tunnel.expiresAt };
  }

  #stillAlive(tunnels: readonly LiveTunnel[]): LiveTunnel[] {
    return tunnels.filter((tunnel) => this.#deps.lifecycle.isAlive(tunnel));
  }
}

/*
 * Removes expired tunnels that nobody has ended because every relay that knew them has died; their names become free.
 */

export class OverdueSweep {
  readonly #store: Pick<Store, 'ping' | 'releaseOverdue'>;
  readonly #clock: Clock;
  readonly #nameHold: number;
  #timer: Timer | undefined;
  #stopped = false;
  /** Whether the store answered the last ping. */
  #answered = false;

  /** @param nameHold ms that the name of an ended tunnel is reserved for its account */
  constructor(store: Pick<Store, 'ping' | 'releaseOverdue'>, clock: Clock, nameHold: number) {
    this.#store = store;
    this.#clock = clock;
    this.#nameHold = nameHold;
  }

  /** Runs every {@link SWEEP_INTERVAL_MS} from now on. */
  start(): void {
    this.#timer = this.#clock.setTimeout(() => void this.#lookAndGoOn(), SWEEP_INTERVAL_MS);
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #lookAndGoOn(): Promise<void> {
    try {
      // If traffic has prolonged tunnels while the store was down, relays have one interval to store that.
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
