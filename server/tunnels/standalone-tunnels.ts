/** Tunnels of a relay with exclusive use of its database: it knows all of them. */
import type { Clock } from '../clock.ts';
import { LOAD_BATCH } from '../limits.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import type { AuditRecord, OwnedTunnel } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Coordination, CoordinationDeps, WantedExtension } from './coordination.ts';
import { Lifecycle } from './lifecycle.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import type { TunnelRegistry } from './registry.ts';
import type { StoreSync } from './store-sync.ts';

export class StandaloneTunnels implements Coordination {
  readonly lifecycle: Lifecycle;
  readonly find = undefined;
  readonly findByDomain = undefined;
  readonly findByLabel = undefined;
  readonly #registry: TunnelRegistry;
  readonly #store: Store;
  readonly #sync: StoreSync;
  readonly #clock: Clock;

  constructor(deps: CoordinationDeps) {
    this.#registry = deps.registry;
    this.#store = deps.store;
    this.#sync = deps.sync;
    this.#clock = deps.clock;
    this.lifecycle = new Lifecycle({
      ...deps,
      onTraffic: deps.sync.noteTraffic,
      onExpired: (tunnel) => this.lifecycle.endExpired(tunnel),
    });
  }

  /** Revives the stored tunnels, except those that have expired. */
  async start(): Promise<void> {
    for await (const owned of storedTunnels(this.#store)) this.#restore(owned);
    await this.#sync.flush();
  }

  stop(): void {
    this.lifecycle.stop();
  }

  byLabel(label: string): LiveTunnel | undefined {
    return this.#registry.byLabel(label);
  }

  followAccount(): Promise<void> {
    return Promise.resolve();
  }

  followTunnel(): Promise<void> {
    return Promise.resolve();
  }

  async close(tunnel: LiveTunnel, closed: ReleasedTunnel, entries: readonly AuditRecord[]): Promise<boolean> {
    await this.#store.act('closeTunnel', [closed, this.#clock.now()], entries);
    return this.lifecycle.end(tunnel, 'closed');
  }

  async storeExtension(
    tunnel: LiveTunnel,
    { by }: WantedExtension,
    entries: readonly AuditRecord[],
  ): Promise<number> {
    const expiresAt = tunnel.expiresAt + by;
    await this.#store.act('raiseExpiry', [tunnel.id, expiresAt], entries);
    return expiresAt;
  }

  displace(ids: readonly string[]): void {
    for (const id of ids) {
      const tunnel = this.#registry.byId(id);
      if (tunnel !== undefined) this.lifecycle.end(tunnel, 'displaced');
    }
  }

  ordersFollowed(): void {}

  tell(): void {}

  hear(): void {}

  review(): void {}

  #restore(owned: OwnedTunnel): void {
    const { tunnel, account } = owned;
    if (tunnel.expiresAt > this.#clock.now()) this.lifecycle.begin(owned);
    else this.#sync.noteGone(this.lifecycle.released(tunnel, account, tunnel.expiresAt));
  }
}

/* Reading the tunnels of a database. */

/**
 * Reads all tunnels, oldest first, in batches: memory allocated for all of them on the way from the database would
 * never be returned by either thread of the relay.
 *
 * @throws StoreError
 */
export async function* storedTunnels(
  store: Pick<Store, 'tunnelIds' | 'findTunnels'>,
): AsyncGenerator<OwnedTunnel, void> {
  const ids = await store.tunnelIds();
  for (let start = 0; start < ids.length; start += LOAD_BATCH) {
    const batch = ids.slice(start, start + LOAD_BATCH);
    const found = new Map((await store.findTunnels(batch)).map((owned) => [owned.tunnel.id, owned]));
    for (const id of batch) {
      const owned = found.get(id);
      if (owned !== undefined) yield owned;
    }
  }
}
