/** How tunnels come to life on this relay and how they end, for the registry, the expiry and the store alike. */
import type { Clock, Timer } from '../clock.ts';
import type { Log } from '../log.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import type { TunnelTerms } from '../store/queries/tunnel-changes.ts';
import type {
  AccountRecord,
  OwnedTunnel,
  RevokedLink,
  StoredAccess,
  StoredKnocks,
  TunnelRecord,
} from '../store/records.ts';
import { LiveTunnel, tunnelFields } from './live-tunnel.ts';
import type { EndReason } from './peers.ts';
import type { TunnelRegistry } from './registry.ts';
import type { StoreSync } from './store-sync.ts';

export interface LifecycleDeps {
  readonly registry: TunnelRegistry;
  readonly sync: StoreSync;
  readonly clock: Clock;
  readonly log: Log;
  /** how long the name of an ended tunnel stays with its account, in seconds */
  readonly nameHold: number;
  /** told when a tunnel has traffic that the store does not know */
  readonly onTraffic: (tunnel: LiveTunnel) => void;
  /** told when the time of a tunnel is over */
  readonly onExpired: (tunnel: LiveTunnel) => void;
  /** told when others may come into a tunnel than before, or ask to */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** told when a tunnel has left the registry */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
}

export class Lifecycle {
  readonly #registry: TunnelRegistry;
  readonly #sync: StoreSync;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #nameHold: number;
  readonly #onTraffic: LifecycleDeps['onTraffic'];
  readonly #onAccess: LifecycleDeps['onAccess'];
  readonly #onEnd: LifecycleDeps['onEnd'];
  readonly #expiry: Expiry;

  constructor(deps: LifecycleDeps) {
    const { registry, sync, clock, log, nameHold, onTraffic, onExpired, onAccess, onEnd } = deps;
    this.#registry = registry;
    this.#sync = sync;
    this.#clock = clock;
    this.#log = log;
    this.#nameHold = nameHold;
    this.#onTraffic = onTraffic;
    this.#onAccess = onAccess;
    this.#onEnd = onEnd;
    this.#expiry = new Expiry(clock, onExpired);
  }

  /** Nothing expires after this. */
  stop(): void {
    this.#expiry.stop();
  }

  /** Tunnels expire again, those whose time was over meanwhile at once. */
  resume(): void {
    for (const tunnel of this.#registry.all()) this.#expiry.watch(tunnel);
  }

  begin(owned: OwnedTunnel): LiveTunnel {
    const tunnel = new LiveTunnel(owned, this.#clock, this.#onTraffic);
    this.#registry.add(tunnel);
    this.#expiry.watch(tunnel);
    // They have knocked at another relay, or before this one was started again.
    if (owned.tunnel.knocks !== null) this.#onAccess(tunnel);
    return tunnel;
  }

  /**
   * Does not wait for the store: what has expired is gone even while the store is down.
   *
   * @param released what the store is then told
   */
  endExpired(tunnel: LiveTunnel, released = this.expired(tunnel)): void {
    if (this.end(tunnel, 'expired')) this.#sync.noteGone(released);
  }

  /** @returns false when the tunnel was gone already */
  end(tunnel: LiveTunnel, reason: EndReason): boolean {
    if (!this.#registry.remove(tunnel)) return false;
    this.#expiry.forget(tunnel);
    this.#sync.forget(tunnel);
    const { requests, bytesIn: bytes_in, bytesOut: bytes_out } = tunnel;
    this.#log(`tunnel ${reason}`, { ...tunnelFields(tunnel), requests, bytes_in, bytes_out });
    this.#onEnd(tunnel, reason);
    return true;
  }

  /** Links of a tunnel let nobody in any more: see {@link RevokedLinks.add}. */
  revokeLinks(tunnel: LiveTunnel, links: readonly RevokedLink[]): void {
    if (tunnel.revokedLinks.add(links, this.#clock.now())) this.#onAccess(tunnel);
  }

  /** Says who may come into a tunnel from now on: see {@link LiveTunnel.setAccess}. */
  setAccess(tunnel: LiveTunnel, access: StoredAccess | null, revision: number): void {
    const before = tunnel.access;
    tunnel.setAccess(access, revision);
    if (tunnel.access !== before) this.#onAccess(tunnel);
  }

  /** A client has taken a tunnel over: see {@link LiveTunnel.setTerms}. */
  setTerms(tunnel: LiveTunnel, terms: Omit<TunnelTerms, 'access'>, revision: number): void {
    if (tunnel.setTerms(terms, revision)) this.#expiry.watch(tunnel);
  }

  /** Says who knocks at a tunnel from now on: see {@link LiveTunnel.setKnocks}. */
  setKnocks(tunnel: LiveTunnel, knocks: StoredKnocks | null, revision: number): void {
    if (tunnel.setKnocks(knocks, revision)) this.#onAccess(tunnel);
  }

  /** Keeps visitors away from a tunnel, or lets them in again. */
  suspend(tunnel: LiveTunnel, reason: string | null): void {
    if (tunnel.suspended === reason) return;
    tunnel.suspended = reason;
    this.#log(reason === null ? 'tunnel resumed' : 'tunnel suspended', tunnelFields(tunnel));
    this.#onAccess(tunnel);
  }

  /** Takes over what the store now has of a suspension: of the tunnel itself, or of its account. */
  followSuspension(tunnel: LiveTunnel, { tunnel: { suspended }, account }: OwnedTunnel): void {
    this.setAccount(tunnel, account);
    this.suspend(tunnel, suspended);
  }

  /** The account of a tunnel has changed. */
  setAccount(tunnel: LiveTunnel, account: AccountRecord): void {
    const wasSuspended = tunnel.account.suspended !== null;
    tunnel.account = account;
    if (wasSuspended !== (account.suspended !== null)) this.#onAccess(tunnel);
  }

  /** Takes over what the store now has of a tunnel. */
  follow(tunnel: LiveTunnel, stored: TunnelRecord): void {
    this.setTerms(tunnel, stored, stored.termsRevision);
    tunnel.follow(stored);
    this.setAccess(tunnel, stored.access, stored.accessRevision);
    this.revokeLinks(tunnel, stored.revokedLinks);
    this.setKnocks(tunnel, stored.knocks, stored.knocksRevision);
  }

  /** Its time was over, and no longer is. */
  goOn(tunnel: LiveTunnel): void {
    this.#expiry.watch(tunnel);
  }

  isAlive(tunnel: LiveTunnel): boolean {
    return this.#registry.byId(tunnel.id) === tunnel;
  }

  isOver(tunnel: LiveTunnel): boolean {
    return tunnel.deadline <= this.#clock.monotonic();
  }

  /** What the store is told about a tunnel that has expired, whatever it knows about it. */
  expired(tunnel: LiveTunnel): ReleasedTunnel {
    return this.released(tunnel, tunnel.account, tunnel.expiresAt);
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

/* Ends tunnels when their time is over (docs/protocol.md section 3.5). */

export class Expiry {
  readonly #clock: Clock;
  readonly #onExpired: (tunnel: LiveTunnel) => void;
  readonly #timers = new Map<LiveTunnel, Timer>();

  /** @param onExpired called once for each watched tunnel whose deadline has passed */
  constructor(clock: Clock, onExpired: (tunnel: LiveTunnel) => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  /** Again where its deadline has moved to an earlier time. */
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

  /** Of a deadline that has moved to a later time nobody is told, so a timer may fire too early. */
  #check(tunnel: LiveTunnel): void {
    if (tunnel.deadline > this.#clock.monotonic()) {
      this.watch(tunnel);
      return;
    }
    this.#timers.delete(tunnel);
    this.#onExpired(tunnel);
  }
}
