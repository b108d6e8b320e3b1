/** How tunnels come to life on this relay and how they end, for the registry, the expiry and the store alike. */
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { AccountRecord, OwnedTunnel } from '../store/records.ts';
import type { ReleasedTunnel } from '../store/store.ts';
import { Expiry } from './expiry.ts';
import { LiveTunnel, tunnelFields } from './live-tunnel.ts';
import type { EndReason } from './peers.ts';
import { RecentlyEnded } from './recently-ended.ts';
import type { TunnelRegistry } from './registry.ts';
import type { StoreSync } from './store-sync.ts';

export interface LifecycleDeps {
  readonly registry: TunnelRegistry;
  readonly sync: StoreSync;
  readonly clock: Clock;
  readonly log: Log;
  /** how long the name of an ended tunnel stays with its account, in seconds */
  readonly nameHold: number;
  /** whether other relays may have the same tunnels */
  readonly shared: boolean;
}

export class Lifecycle {
  /** Called when a tunnel has left the registry. */
  onEnd: (tunnel: LiveTunnel, reason: EndReason) => void = () => {};
  /** Called when the time of a tunnel is over. */
  onExpired: (tunnel: LiveTunnel) => void = (tunnel) => this.endExpired(tunnel);

  readonly #registry: TunnelRegistry;
  readonly #sync: StoreSync;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #nameHold: number;
  readonly #shared: boolean;
  readonly #expiry: Expiry;
  readonly #recentlyEnded: RecentlyEnded;

  constructor({ registry, sync, clock, log, nameHold, shared }: LifecycleDeps) {
    this.#registry = registry;
    this.#sync = sync;
    this.#clock = clock;
    this.#log = log;
    this.#nameHold = nameHold;
    this.#shared = shared;
    this.#expiry = new Expiry(clock, (tunnel) => this.onExpired(tunnel));
    this.#recentlyEnded = new RecentlyEnded(clock);
  }

  /** Nothing expires any more. */
  stop(): void {
    this.#expiry.stop();
  }

  begin(owned: OwnedTunnel): LiveTunnel {
    const tunnel = new LiveTunnel(owned, this.#clock, this.#sync.noteTraffic);
    this.#registry.add(tunnel);
    this.#expiry.watch(tunnel);
    return tunnel;
  }

  /** A tunnel from before a restart: it lives on, unless it has expired. */
  restore(owned: OwnedTunnel): void {
    const { tunnel, account } = owned;
    if (tunnel.expiresAt > this.#clock.now()) this.begin(owned);
    else this.#sync.noteGone(this.released(tunnel, account, tunnel.expiresAt));
  }

  /** A tunnel as the store has it. One that is over comes to life no more; one that has begun here ends by its own timer. */
  meet(owned: OwnedTunnel): LiveTunnel | undefined {
    const { id, expiresAt } = owned.tunnel;
    const known = this.#registry.byId(id);
    known?.follow(owned.tunnel);
    if (known !== undefined) return known;
    const isOver = expiresAt <= this.#clock.now() || this.#recentlyEnded.has(id);
    return isOver ? undefined : this.begin(owned);
  }

  /** Others have ended a tunnel that this relay need not have met. */
  endElsewhere(id: string, reason: EndReason): void {
    this.#recentlyEnded.add(id);
    const tunnel = this.#registry.byId(id);
    if (tunnel !== undefined) this.end(tunnel, reason);
  }

  /** The store does not have the tunnel any more. */
  endMissing(tunnel: LiveTunnel): void {
    this.end(tunnel, this.isOver(tunnel) ? 'expired' : 'closed');
  }

  /** Does not wait for the store: what has expired is gone even while the store is down. */
  endExpired(tunnel: LiveTunnel): void {
    if (!this.end(tunnel, 'expired')) return;
    this.#sync.noteGone(this.expired(tunnel));
  }

  /** @returns false when the tunnel was gone already */
  end(tunnel: LiveTunnel, reason: EndReason): boolean {
    if (!this.#registry.remove(tunnel)) return false;
    if (this.#shared) this.#recentlyEnded.add(tunnel.id);
    this.#expiry.forget(tunnel);
    this.#sync.forget(tunnel);
    const { requests, bytesIn: bytes_in, bytesOut: bytes_out } = tunnel;
    this.#log(`tunnel ${reason}`, { ...tunnelFields(tunnel), requests, bytes_in, bytes_out });
    this.onEnd(tunnel, reason);
    return true;
  }

  /** Its time was over, and is not any more. */
  goOn(tunnel: LiveTunnel): void {
    this.#expiry.watch(tunnel);
  }

  isAlive(tunnel: LiveTunnel): boolean {
    return this.#registry.byId(tunnel.id) === tunnel;
  }

  isOver(tunnel: LiveTunnel): boolean {
    return tunnel.deadline <= this.#clock.monotonic();
  }

  /** What the store is told of a tunnel that has expired. */
  expired(tunnel: LiveTunnel): ReleasedTunnel {
    const at = tunnel.expiresAt;
    const released = this.released(tunnel, tunnel.account, at);
    // Alone, whatever the store has is what this relay has told it, and an extension that came too late was refused.
    return this.#shared ? { ...released, expiredAt: at } : released;
  }

  /** @param at wall time in ms at which it ended */
  released(
    { id, slug }: { readonly id: string; readonly slug: string },
    { id: accountId }: AccountRecord,
    at: number,
  ): ReleasedTunnel {
    return { id, slug, accountId, heldUntil: at + this.#nameHold * 1000 };
  }
}
