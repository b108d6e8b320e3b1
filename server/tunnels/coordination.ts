/**
 * What a relay that is alone (standalone-tunnels.ts) does differently with its tunnels than one of several on a database
 * (shared-tunnels.ts).
 */
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { AccountRecord } from '../store/records.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import type { Store } from '../store/store.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import type { EndReason, TunnelNews } from './peers.ts';
import type { TunnelRegistry } from './registry.ts';
import type { StoreSync } from './store-sync.ts';

export interface CoordinationDeps {
  readonly store: Store;
  readonly registry: TunnelRegistry;
  readonly sync: StoreSync;
  readonly clock: Clock;
  readonly log: Log;
  /** how long the name of an ended tunnel stays with its account, in seconds */
  readonly nameHold: number;
  /** told when others may come into a tunnel than before, or ask to */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** told when a tunnel has left the registry */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
}

export interface Coordination {
  readonly lifecycle: Lifecycle;
  /**
   * Brings those tunnels to life that nobody has to ask for.
   *
   * @throws StoreError
   */
  start(): Promise<void>;
  /** Nothing expires after this, and nothing is asked of the store. */
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
   * Looks in the store for a tunnel that this relay has not met, by its slug; rejects with StoreError. `undefined` if it has
   * met all there are.
   */
  readonly find: ((slug: string) => Promise<LiveTunnel | undefined>) | undefined;
  /** The same by its domain, which must be verified. */
  readonly findByDomain: ((domain: string) => Promise<LiveTunnel | undefined>) | undefined;
  /**
   * Ends a tunnel that is closed here, first in the store.
   *
   * @param closed what the store is told
   * @returns false if somebody else ended it first, here or on another relay
   * @throws StoreError
   */
  close(tunnel: LiveTunnel, closed: ReleasedTunnel): Promise<boolean>;
  /**
   * Makes the store move an expiry later by `by` ms, to no later than `max` ms from now.
   *
   * @returns the new one; `undefined` when other relays have ended the tunnel or extended it too far meanwhile
   * @throws StoreError
   */
  storeExtension(tunnel: LiveTunnel, by: number, max: number): Promise<number | undefined>;
  /**
   * What operators have done to accounts and tunnels was applied to all that live here. What was read from the store before is
   * older than that.
   */
  ordersFollowed(): void;
  /** Ends tunnels that the store has removed with their domain, here and elsewhere. */
  displace(ids: readonly string[]): void;
  /** Tells other relays what happened to a tunnel here. */
  tell(news: TunnelNews): void;
  /** Another relay has done something to a tunnel. */
  hear(news: TunnelNews): void;
  /** Makes up, in the background, for news that may have been missed. */
  review(): void;
}
