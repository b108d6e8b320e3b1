/**
 * Stores what happened in memory first: traffic, and expired tunnels. If the store is down, it is written later,
 * because neither visitors nor expiry wait for it.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import type { TrafficDelta } from '../store/queries/tunnel-changes.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { batches } from '../store/records.ts';
import type { LiveTunnel } from './live-tunnel.ts';

/**
 * Milliseconds between two flushes of traffic counters. With the time a flush takes, a crash loses at most the last second
 * (protocol.md section 3.3).
 */
export const FLUSH_INTERVAL_MS = 900;
/**
 * If a tunnel in idle mode expires sooner than this, its traffic is stored immediately when several relays share
 * the database: longer than they would otherwise have to wait for it.
 */
export const FLUSH_URGENT_MS = 2000;
/**
 * Delay before storing the traffic of a tunnel in idle mode that is about to expire; other traffic of that time
 * is stored with it.
 */
export const FLUSH_SOON_MS = 50;
/**
 * Number of tunnels whose traffic counters are stored in one transaction. A larger one would delay visitors
 * while it runs.
 */
export const FLUSH_BATCH = 200;

export class StoreSync {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  /** tunnels with traffic that is not stored yet */
  readonly #busy = new Set<LiveTunnel>();
  /** by id, ended tunnels that are still in the store */
  readonly #gone = new Map<string, ReleasedTunnel>();
  #timer: Timer | undefined;
  /** whether other relays have to know soon */
  #urgent = false;
  #flushing = false;
  #running: Promise<void> = Promise.resolve();
  /** called with the traffic that has been stored */
  onStored: (deltas: readonly TrafficDelta[]) => void = () => {};

  constructor(store: Store, clock: Clock, log: Log) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  /** The tunnel has traffic to store. */
  readonly noteTraffic = (tunnel: LiveTunnel): void => {
    this.#busy.add(tunnel);
  };

  /** Other relays must learn of traffic that prolongs a tunnel before they end it. */
  hurryFor(tunnel: LiveTunnel): void {
    if (this.#urgent || tunnel.storedExpiresAt - this.#clock.now() > FLUSH_URGENT_MS) return;
    this.#urgent = true;
    if (this.#timer === undefined || this.#flushing) return;
    this.#timer.cancel();
    this.start();
  }

  /** The tunnel has ended, and its record, if there is one, must be removed. */
  noteGone(tunnel: ReleasedTunnel): void {
    this.#gone.set(tunnel.id, tunnel);
  }

  /** The tunnel has ended, and its record is already removed. */
  forget(tunnel: LiveTunnel): void {
    this.#busy.delete(tunnel);
  }

  /**
   * Frees this slug in the store for a new tunnel.
   *
   * @throws StoreError
   */
  async clear(slug: string): Promise<void> {
    const gone = [...this.#gone.values()].filter((tunnel) => tunnel.slug === slug);
    if (gone.length > 0) await this.#remove(gone);
  }

  /** Starts to flush, every {@link FLUSH_INTERVAL_MS} or sooner. */
  start(): void {
    this.#timer = this.#clock.setTimeout(
      () => {
        this.#running = this.#flushAndGoOn();
      },
      this.#urgent ? FLUSH_SOON_MS : FLUSH_INTERVAL_MS,
    );
  }

  /** Flushes the rest, and then pauses until {@link start}. */
  async pause(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
    await this.flush();
  }

  /** Flushes the rest and ends. What cannot be stored now is lost, which is logged. */
  async stop(): Promise<void> {
    await this.pause();
    if (this.#busy.size > 0) this.#log('traffic not stored', { tunnels: this.#busy.size });
  }

  /** Stores everything that is pending; what fails is retried the next time. Rejects only because of a bug. */
  async flush(): Promise<void> {
    try {
      for (const batch of batches([...this.#gone.values()], FLUSH_BATCH)) await this.#remove(batch);
      for (const batch of batches([...this.#busy], FLUSH_BATCH)) await this.#storeTraffic(batch);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
  }

  async #flushAndGoOn(): Promise<void> {
    this.#urgent = false;
    this.#flushing = true;
    await this.flush();
    this.#flushing = false;
    if (this.#timer !== undefined) this.start();
  }

  async #remove(batch: readonly ReleasedTunnel[]): Promise<void> {
    await this.#store.releaseTunnels(batch, this.#clock.now());
    for (const tunnel of batch) if (this.#gone.get(tunnel.id) === tunnel) this.#gone.delete(tunnel.id);
    await yieldToOthers();
  }

  /** Only tunnels with traffic have any. What fails is stored with the traffic that comes next. */
  async #storeTokenUses(batch: readonly LiveTunnel[]): Promise<void> {
    const used = batch
      .map((tunnel) => ({ tunnel, uses: tunnel.tokenUses.unstored() }))
      .filter(({ uses }) => uses.uses.length > 0);
    if (used.length === 0) return;
    await this.#store.markTokensUsed(used.map(({ uses }) => uses));
    for (const { tunnel, uses } of used) tunnel.tokenUses.markStored(uses);
  }

  async #storeTraffic(batch: readonly LiveTunnel[]): Promise<void> {
    for (const tunnel of batch) this.#busy.delete(tunnel);
    const deltas = batch.map((tunnel) => ({ tunnel, delta: tunnel.unstored() }));
    try {
      await this.#store.addTraffic(deltas.map(({ delta }) => delta));
    } catch (error) {
      for (const tunnel of batch) {
        tunnel.markUnstored();
        this.#busy.add(tunnel);
      }
      throw error;
    }
    for (const { tunnel, delta } of deltas) tunnel.markStored(delta);
    this.onStored(deltas.map(({ delta }) => delta));
    await this.#storeTokenUses(batch);
    await yieldToOthers();
  }
}
