/**
 * What differs between the tunnels of a standalone relay, which knows all of them, and those of a relay that shares its
 * database with others (shared-tunnels.ts).
 */
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Extension } from '../store/queries/tunnel-changes.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import type { AccountRecord, AuditRecord, OwnedTunnel } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { type EndReason, Lifecycle, type LifecycleDeps, type TunnelNews } from './lifecycle.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import type { TunnelRegistry } from './registry.ts';
import type { StoreSync } from './store-sync.ts';

/** @limit Number of tunnels that one query reads when a relay starts. */
export const LOAD_BATCH = 500;

export interface CoordinationDeps {
  readonly store: Store;
  readonly registry: TunnelRegistry;
  readonly sync: StoreSync;
  readonly clock: Clock;
  readonly log: Log;
  /** how long the name of an ended tunnel is reserved for its account, in seconds */
  readonly nameHold: number;
  /** called when a tunnel's access policy, links or approval requests have changed */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** see {@link LifecycleDeps.onTakenFromAgent} */
  readonly onTakenFromAgent?: LifecycleDeps['onTakenFromAgent'];
  /** called when a tunnel has left the registry */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
}

/** An extension of a tunnel. */
export interface WantedExtension extends Pick<Extension, 'by' | 'reach'> {
  /** how far the expiry may be from now, in ms */
  readonly max: number;
}

export interface Coordination {
  readonly lifecycle: Lifecycle;
  /**
   * Loads the tunnels that are not loaded on demand.
   *
   * @throws StoreError
   */
  start(): Promise<void>;
  /** After this nothing expires, and the store is not queried. */
  stop(): void;
  /**
   * Learns what other relays have done to an account's tunnels.
   *
   * @throws ApiError 503
   */
  followAccount(account: AccountRecord): Promise<void>;
  /**
   * Learns what other relays have done to a tunnel.
   *
   * @throws ApiError 503
   */
  followTunnel(id: string): Promise<void>;
  /**
   * Looks up a tunnel that this relay does not know yet in the store, by its slug; rejects with StoreError.
   * `undefined` if it knows all tunnels.
   */
  readonly find: ((slug: string) => Promise<LiveTunnel | undefined>) | undefined;
  /** The same by its domain, which must be verified. */
  readonly findByDomain: ((domain: string) => Promise<LiveTunnel | undefined>) | undefined;
  /**
   * The tunnel at a label below the tunnel domain: its own slug, otherwise a host of a wildcard tunnel. `undefined` also
   * if the store may have one that has precedence.
   */
  byLabel(label: string): LiveTunnel | undefined;
  /** Looks it up in the store too. */
  readonly findByLabel: ((label: string) => Promise<LiveTunnel | undefined>) | undefined;
  /**
   * Ends a tunnel that is closed here, first in the store.
   *
   * @param closed the record for the store
   * @param entries for the audit log
   * @returns false if it was already ended, here or on another relay
   * @throws StoreError, FullError
   */
  close(tunnel: LiveTunnel, closed: ReleasedTunnel, entries: readonly AuditRecord[]): Promise<boolean>;
  /**
   * Makes the store move an expiry later.
   *
   * @returns the new one; `undefined` if other relays have ended the tunnel, extended it too far, or given it to a key
   *   out of reach
   * @throws StoreError, FullError
   */
  storeExtension(
    tunnel: LiveTunnel,
    wanted: WantedExtension,
    entries: readonly AuditRecord[],
  ): Promise<number | undefined>;
  /**
   * Admin actions on accounts and tunnels have been applied to all live tunnels. Anything read from the store earlier
   * is older than that.
   */
  ordersFollowed(): void;
  /** Ends tunnels that the store has removed together with their domain, here and on other relays. */
  displace(ids: readonly string[]): void;
  /** Notifies other relays of a change to a tunnel here. */
  tell(news: TunnelNews): void;
  /** Another relay has changed a tunnel. */
  hear(news: TunnelNews): void;
  /** Catches up, in the background, on notifications that may have been missed. */
  review(): void;
}

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
    const found = new Map((await store.findTunnels('id', batch)).map((owned) => [owned.tunnel.id, owned]));
    for (const id of batch) {
      const owned = found.get(id);
      if (owned !== undefined) yield owned;
    }
  }
}
