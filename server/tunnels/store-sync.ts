/**
 * Tells the store what happened in memory first: traffic, and tunnels that expired. A store that is down is told later,
 * because neither visitors nor expiry wait for it.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock, Timer } from '../clock.ts';
import { FLUSH_BATCH, FLUSH_INTERVAL_MS, FLUSH_SOON_MS, FLUSH_URGENT_MS } from '../limits.ts';
import type { Log } from '../log.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import type { TrafficDelta } from '../store/queries/tunnel-changes.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { batches } from '../batches.ts';
import type { LiveTunnel } from './live-tunnel.ts';

export class StoreSync {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  /** tunnels with traffic the store does not know */
  readonly #busy = new Set<LiveTunnel>();
  /** by slug, tunnels that are gone here but not yet in the store; a slug can be in it only once, see `clear` */
  readonly #gone = new Map<string, ReleasedTunnel>();
  #timer: Timer | undefined;
  /** whether other relays have to know soon */
  #urgent = false;
  #flushing = false;
  #running: Promise<void> = Promise.resolve();
  /** told what has been stored of traffic */
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

  /** Other relays must hear of traffic that prolongs a tunnel's life before they take it to be over. */
  hurryFor(tunnel: LiveTunnel): void {
    if (this.#urgent || tunnel.storedExpiresAt - this.#clock.now() > FLUSH_URGENT_MS) return;
    this.#urgent = true;
    if (this.#timer === undefined || this.#flushing) return;
    this.#timer.cancel();
    this.start();
  }

  /** The tunnel is gone, and its record, if there is one, has to go too. */
  noteGone(tunnel: ReleasedTunnel): void {
    this.#gone.set(tunnel.slug, tunnel);
  }

  /** The tunnel is gone, and so is its record. */
  forget(tunnel: LiveTunnel): void {
    this.#busy.delete(tunnel);
  }

  /**
   * Makes room in the store for a new tunnel with this slug.
   *
   * @throws StoreError
   */
  async clear(slug: string): Promise<void> {
    const tunnel = this.#gone.get(slug);
    if (tunnel !== undefined) await this.#remove([tunnel]);
  }

  /** Begins to flush, every {@link FLUSH_INTERVAL_MS} or sooner. */
  start(): void {
    this.#timer = this.#clock.setTimeout(
      () => {
        this.#running = this.#flushAndGoOn();
      },
      this.#urgent ? FLUSH_SOON_MS : FLUSH_INTERVAL_MS,
    );
  }

  /** Flushes what is left, and then no more until {@link start}. */
  async pause(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
    await this.flush();
  }

  /** Flushes what is left and ends. What cannot be stored now is lost, and the log says so. */
  async stop(): Promise<void> {
    await this.pause();
    if (this.#busy.size > 0) this.#log('traffic not stored', { tunnels: this.#busy.size });
  }

  /** Stores everything that waits; what fails stays for the next time. Rejects only because of a bug. */
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
    for (const tunnel of batch) {
      if (this.#gone.get(tunnel.slug) === tunnel) this.#gone.delete(tunnel.slug);
    }
    await yieldToOthers();
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
    await yieldToOthers();
  }
}
