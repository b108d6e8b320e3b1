/**
 * How tunnels come to life on this relay and how they end: keeps the registry, the expiry and the store consistent. Relays
 * on one database notify each other of it (docs/decisions/0009-cluster.md).
 */
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import type { TunnelTerms } from '../store/queries/tunnel-changes.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import {
  type AccountRecord,
  awayOf,
  type OwnedTunnel,
  type RevokedLink,
  type StoredAccess,
  type StoredKnocks,
  type TunnelRecord,
} from '../store/records.ts';
import { LiveTunnel, tunnelFields } from './live-tunnel.ts';
import type { TunnelRegistry } from './registry.ts';
import type { StoreSync } from './store-sync.ts';
import type { TcpPorts } from './tcp-ports.ts';

/** Why a tunnel ended. */
export type EndReason =
  | 'closed'
  | 'expired'
  /** its account was deleted */
  | 'removed'
  /** its domain no longer belongs to its account */
  | 'displaced';

export type TunnelNews =
  /** or an account keeps the name now, or has let it go; `domain` is empty for none */
  | { readonly kind: 'created'; readonly slug: string; readonly domain: string }
  /** a TCP tunnel was created, on whose port every relay listens */
  | { readonly kind: 'created-tcp'; readonly slug: string }
  /** the access policy, links or approval requests have changed, or a client has taken the tunnel over */
  | { readonly kind: 'access'; readonly id: string }
  | { readonly kind: 'extended'; readonly id: string; readonly expiresAt: number }
  | { readonly kind: 'ended'; readonly id: string; readonly reason: EndReason };

/** The owner of a domain has changed. */
export interface DomainNews {
  readonly kind: 'domain';
  readonly domain: string;
}

/** Notifies the other relays. Notifications may be lost; their content is in the store. */
export type TellPeers<News = TunnelNews> = (news: News) => void;

export interface LifecycleDeps {
  readonly registry: TunnelRegistry;
  readonly sync: StoreSync;
  readonly clock: Clock;
  readonly log: Log;
  /** how long the name of an ended tunnel is reserved for its account, in seconds */
  readonly nameHold: number;
  /** called when a tunnel has traffic that is not stored yet */
  readonly onTraffic: (tunnel: LiveTunnel) => void;
  /** called when a tunnel's deadline has passed */
  readonly onExpired: (tunnel: LiveTunnel) => void;
  /** called when a tunnel's access policy, links or approval requests have changed */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** called when a key other than an agent's has taken over an agent's tunnel; what agents' keys have opened must be closed */
  readonly onTakenFromAgent?: ((tunnel: LiveTunnel) => void) | undefined;
  /** the ports of TCP tunnels, if there are such tunnels */
  readonly ports?: Pick<TcpPorts, 'serve' | 'release'> | undefined;
  /** called when a tunnel has left the registry */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
}

export class Lifecycle {
  readonly #o: LifecycleDeps;
  readonly #expiry: Expiry;

  constructor(options: LifecycleDeps) {
    this.#o = options;
    this.#expiry = new Expiry(options.clock, options.onExpired);
  }

  /** Nothing expires after this. */
  stop(): void {
    this.#expiry.stop();
  }

  /** Tunnels expire again; those whose deadline has passed do so immediately. */
  resume(): void {
    for (const tunnel of this.#o.registry.all()) this.#expiry.watch(tunnel);
  }

  begin(owned: OwnedTunnel): LiveTunnel {
    const tunnel = new LiveTunnel(owned, this.#o.clock, this.#o.onTraffic);
    this.#o.registry.add(tunnel);
    this.#expiry.watch(tunnel);
    if (tunnel.remotePort !== null) this.#o.ports?.serve(tunnel.remotePort);
    // Visitors have asked for approval on another relay, or before this one was restarted.
    if (owned.tunnel.knocks !== null) this.#o.onAccess(tunnel);
    return tunnel;
  }

  /**
   * Does not wait for the store: an expired tunnel is gone even while the store is down.
   *
   * @param released the record for the store
   */
  endExpired(tunnel: LiveTunnel, released = this.expired(tunnel)): void {
    if (this.end(tunnel, 'expired')) this.#o.sync.noteGone(released);
  }

  /** @returns false if the tunnel was already gone */
  end(tunnel: LiveTunnel, reason: EndReason): boolean {
    if (!this.#o.registry.remove(tunnel)) return false;
    this.#expiry.forget(tunnel);
    this.#o.sync.forget(tunnel);
    if (tunnel.remotePort !== null) this.#o.ports?.release(tunnel.remotePort);
    const { requests, bytesIn: bytes_in, bytesOut: bytes_out } = tunnel.totals;
    this.#o.log(`tunnel ${reason}`, { ...tunnelFields(tunnel), requests, bytes_in, bytes_out });
    this.#o.onEnd(tunnel, reason);
    return true;
  }

  /** Revokes links of a tunnel: see {@link RevokedLinks.add}. */
  revokeLinks(tunnel: LiveTunnel, links: readonly RevokedLink[]): void {
    if (tunnel.revokedLinks.add(links, this.#o.clock.now())) this.#o.onAccess(tunnel);
  }

  /** Changes the access policy of a tunnel: see {@link LiveTunnel.setAccess}. */
  setAccess(tunnel: LiveTunnel, access: StoredAccess | null, revision: number): void {
    const before = tunnel.access;
    tunnel.setAccess(access, revision);
    if (tunnel.access !== before) this.#o.onAccess(tunnel);
  }

  /** A client has taken a tunnel over: see {@link LiveTunnel.setTerms}. */
  setTerms(tunnel: LiveTunnel, terms: TunnelTerms, revision: number): void {
    const wasByAgent = tunnel.terms.byAgent;
    if (!tunnel.setTerms(terms, revision)) return;
    this.#expiry.watch(tunnel);
    if (wasByAgent && !tunnel.terms.byAgent) this.#o.onTakenFromAgent?.(tunnel);
  }

  /** Updates the approval requests at a tunnel: see {@link LiveTunnel.setKnocks}. */
  setKnocks(tunnel: LiveTunnel, knocks: StoredKnocks | null, revision: number): void {
    if (tunnel.setKnocks(knocks, revision)) this.#o.onAccess(tunnel);
  }

  /** Suspends a tunnel, or lifts its suspension. */
  suspend(tunnel: LiveTunnel, reason: string | null): void {
    if (tunnel.suspended === reason) return;
    tunnel.suspended = reason;
    this.#o.log(reason === null ? 'tunnel resumed' : 'tunnel suspended', tunnelFields(tunnel));
    this.#o.onAccess(tunnel);
  }

  /** Applies the stored suspension of the tunnel itself, or of its account. */
  followSuspension(tunnel: LiveTunnel, { tunnel: { suspended }, account }: OwnedTunnel): void {
    this.setAccount(tunnel, account);
    this.suspend(tunnel, suspended);
  }

  /** The account of a tunnel has changed. */
  setAccount(tunnel: LiveTunnel, account: AccountRecord): void {
    const wasSuspended = tunnel.account.suspended !== null;
    tunnel.account = account;
    if (wasSuspended !== (account.suspended !== null)) this.#o.onAccess(tunnel);
  }

  /** Applies the stored state of a tunnel. */
  follow(tunnel: LiveTunnel, { tunnel: stored, kept }: OwnedTunnel): void {
    tunnel.away = awayOf(kept);
    this.setTerms(tunnel, stored, stored.termsRevision);
    tunnel.follow(stored);
    this.setAccess(tunnel, stored.access, stored.accessRevision);
    this.revokeLinks(tunnel, stored.revokedLinks);
    this.setKnocks(tunnel, stored.knocks, stored.knocksRevision);
  }

  /** The tunnel had expired, but was extended. */
  goOn(tunnel: LiveTunnel): void {
    this.#expiry.watch(tunnel);
  }

  isAlive(tunnel: LiveTunnel): boolean {
    return this.#o.registry.byId(tunnel.id) === tunnel;
  }

  isOver(tunnel: LiveTunnel): boolean {
    return tunnel.deadline <= this.#o.clock.monotonic();
  }

  /** The record for the store of a tunnel that has expired, even if the store has another expiry. */
  expired(tunnel: LiveTunnel): ReleasedTunnel {
    return this.released(tunnel, tunnel.account, tunnel.expiresAt);
  }

  /** @param at when it ended, wall time in ms */
  released(
    tunnel: Pick<TunnelRecord, 'id' | 'slug' | 'name'>,
    { id: accountId }: AccountRecord,
    at: number,
  ): ReleasedTunnel {
    const { id, slug, name } = tunnel;
    return { id, slug, name, accountId, heldUntil: at + this.#o.nameHold * 1000 };
  }
}

/* Ends tunnels when their time is over (protocol.md section 3.5). */

export class Expiry {
  readonly #clock: Clock;
  readonly #onExpired: (tunnel: LiveTunnel) => void;
  readonly #timers = new Map<LiveTunnel, Timer>();

  /** @param onExpired called once for each watched tunnel whose deadline has passed */
  constructor(clock: Clock, onExpired: (tunnel: LiveTunnel) => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  /** Repeat the call when its deadline has moved to an earlier time. */
  watch(tunnel: LiveTunnel): void {
    this.#timers.get(tunnel)?.cancel();
    const wait = Math.max(0, Math.ceil(tunnel.deadline - this.#clock.monotonic()));
    const timer = this.#clock.setTimeout(() => this.#check(tunnel), wait);
    this.#timers.set(tunnel, timer);
  }

  forget(tunnel: LiveTunnel): void {
    this.#timers.get(tunnel)?.cancel();
    this.#timers.delete(tunnel);
  }

  stop(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  /** Nothing reports that a deadline has moved to a later time, so a timer may fire too early. */
  #check(tunnel: LiveTunnel): void {
    if (tunnel.deadline > this.#clock.monotonic()) {
      this.watch(tunnel);
      return;
    }
    this.#timers.delete(tunnel);
    this.#onExpired(tunnel);
  }
}
