/** What can be done with tunnels (spec.md section 4): the store learns it first, then the registry, then the caller. */
import { randomUUID } from 'node:crypto';
import { formatDuration } from '../../shared/duration.ts';
import { API_ERRORS, ApiError, tooManyTunnels, ttlTooLong } from '../../shared/errors.ts';
import type { CreateTunnel, TtlLimits } from '../../shared/tunnel.ts';
import type { AccountRecord } from '../accounts/account.ts';
import { PLAN_RULES, ttlLimitsOf } from '../accounts/plans.ts';
import type { Clock } from '../clock.ts';
import { IDLE_GRACE_MS, SLUG_ATTEMPTS } from '../limits.ts';
import type { Log } from '../log.ts';
import {
  ConflictError,
  FullError,
  orUnavailable,
  type OwnedTunnel,
  type Store,
  StoreError,
  UnansweredError,
} from '../store/store.ts';
import { Expiry } from './expiry.ts';
import { LiveTunnel, tunnelFields } from './live-tunnel.ts';
import type { EndReason, Peers, TunnelNews } from './peers.ts';
import { RecentlyEnded } from './recently-ended.ts';
import type { TunnelRegistry } from './registry.ts';
import { randomSlug } from './slug.ts';
import { SlugLookup } from './slug-lookup.ts';
import { StoreSync } from './store-sync.ts';

export interface TunnelServiceDeps {
  readonly store: Store;
  readonly registry: TunnelRegistry;
  readonly clock: Clock;
  readonly log: Log;
  /** what the relay allows everybody; a plan may allow less */
  readonly ttl: TtlLimits;
  /** how long the name of an ended tunnel stays with its account, in seconds (contract.md, `CULVERT_NAME_HOLD`) */
  readonly nameHold: number;
  /** other relays on the same database, if there may be any */
  readonly peers?: Peers | undefined;
}

export class TunnelService {
  /** Called when a tunnel has left the registry; its connections are to be ended. */
  onEnd: (tunnel: LiveTunnel, reason: EndReason) => void = () => {};

  readonly #store: Store;
  readonly #registry: TunnelRegistry;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #ttl: TtlLimits;
  readonly #nameHold: number;
  readonly #expiry: Expiry;
  readonly #sync: StoreSync;
  readonly #peers: Peers | undefined;
  readonly #lookup: SlugLookup;
  readonly #recentlyEnded: RecentlyEnded;
  /** the last extension of a tunnel that is under way */
  readonly #extensions = new WeakMap<LiveTunnel, Promise<unknown>>();

  constructor({ store, registry, clock, log, ttl, nameHold, peers }: TunnelServiceDeps) {
    this.#store = store;
    this.#registry = registry;
    this.#clock = clock;
    this.#log = log;
    this.#ttl = ttl;
    this.#nameHold = nameHold;
    this.#expiry = new Expiry(clock, (tunnel) => this.#expire(tunnel));
    this.#sync = new StoreSync(store, clock, log);
    this.#peers = peers;
    this.#lookup = new SlugLookup(store, clock);
    this.#recentlyEnded = new RecentlyEnded(clock);
  }

  /**
   * Brings the stored tunnels back to life, except those that expired meanwhile. One relay of several meets them as they
   * are asked for.
   *
   * @throws StoreError
   */
  async start(): Promise<void> {
    if (this.#peers !== undefined) return this.#sync.start();
    for (const owned of await this.#store.loadTunnels()) {
      if (owned.tunnel.expiresAt > this.#clock.now()) this.#bringToLife(owned);
      else this.#sync.noteGone(this.#released(owned.tunnel, owned.account, owned.tunnel.expiresAt));
    }
    await this.#sync.flush();
    this.#sync.start();
  }

  /** Stops expiry and stores the last of the traffic. */
  async stop(): Promise<void> {
    this.#expiry.stop();
    await this.#sync.stop();
  }

  /**
   * Takes over what other relays have done to an account's tunnels, which is then as the store has it.
   *
   * @throws ApiError 503
   */
  async follow(account: AccountRecord): Promise<void> {
    if (this.#peers === undefined) return;
    const known = new Set(this.#registry.forAccount(account.id));
    for (const owned of await orUnavailable(this.#store.tunnelsOf(account.id))) {
      const tunnel = this.#meet(owned);
      if (tunnel !== undefined) known.delete(tunnel);
    }
    for (const tunnel of known) this.#end(tunnel, this.#endOf(tunnel));
  }

  /**
   * Looks in the store for a tunnel that this relay has not met.
   *
   * @throws StoreError
   */
  async find(slug: string): Promise<LiveTunnel | undefined> {
    const owned = await this.#lookup.find(slug);
    return owned && this.#meet(owned);
  }

  /** Another relay has done something to a tunnel. */
  hear(news: TunnelNews): void {
    switch (news.kind) {
      case 'created':
        return this.#lookup.forget(news.slug);
      case 'extended':
        return this.#registry.byId(news.id)?.prolong(news.expiresAt);
      case 'ended': {
        this.#recentlyEnded.add(news.id);
        const tunnel = this.#registry.byId(news.id);
        if (tunnel !== undefined) this.#end(tunnel, news.reason);
      }
    }
  }

  /**
   * Makes up for news that may have been missed: every tunnel is again as the store has it.
   *
   * @throws StoreError
   */
  async review(): Promise<void> {
    this.#lookup.clear();
    for (const tunnel of this.#registry.all()) {
      const owned = await this.#store.findTunnel({ id: tunnel.id });
      if (owned !== undefined) tunnel.follow(owned.tunnel);
      else this.#end(tunnel, this.#endOf(tunnel));
    }
  }

  /**
   * Looks whether the account may have one more tunnel. A {@link create} that begins in the same turn has its place.
   *
   * @throws ApiError 403 with the limit and when the next tunnel expires
   */
  mustHaveRoom(account: AccountRecord): void {
    const { title, maxTunnels } = PLAN_RULES[account.plan];
    if (maxTunnels === null || this.#registry.countFor(account.id) < maxTunnels) return;
    const ends = this.#registry.forAccount(account.id).map(({ expiresAt }) => expiresAt);
    const next = new Date(Math.min(...ends, this.#clock.now() + this.#ttl.maxTtl * 1000));
    throw new ApiError(tooManyTunnels(title, maxTunnels, next.toISOString()));
  }

  /**
   * @param wanted checked already: fields, plan, rate
   * @throws ApiError 409 when the name is taken, reserved or held for another account; 503
   */
  async create(account: AccountRecord, wanted: CreateTunnel): Promise<LiveTunnel> {
    // Before the first await, so that of two creates of one name only one gets further.
    const slug = this.#reserveSlug(account, wanted.name);
    try {
      await orUnavailable(this.#sync.clear(slug));
      if (wanted.name !== '') await this.#mustBeFree(account, slug);
      const owned = { account, tunnel: this.#newRecord(account, wanted, slug) };
      await orUnavailable(this.#insert(owned));
      const tunnel = this.#registry.byId(owned.tunnel.id) ?? this.#bringToLife(owned);
      this.#peers?.tell({ kind: 'created', slug });
      this.#log('tunnel created', { ...tunnelFields(tunnel), ttl: tunnel.ttl, idle: tunnel.idle });
      return tunnel;
    } catch (error) {
      throw error instanceof ConflictError ? new ApiError(API_ERRORS.nameInUse) : error;
    } finally {
      this.#registry.release(slug);
    }
  }

  /** @returns the account's tunnels, newest first */
  list(account: AccountRecord): LiveTunnel[] {
    return this.#registry.forAccount(account.id).toReversed();
  }

  /** @throws ApiError 404, the same for a tunnel of somebody else */
  get(account: AccountRecord, id: string): LiveTunnel {
    const tunnel = this.#registry.byId(id);
    if (tunnel?.account.id !== account.id) throw new ApiError(API_ERRORS.tunnelNotFound);
    return tunnel;
  }

  /** Ids of the accounts that have a tunnel. */
  accountIds(): string[] {
    return this.#registry.accountIds();
  }

  /** An account has changed: its tunnels follow. */
  updateAccount(account: AccountRecord): void {
    const tunnels = this.#registry.forAccount(account.id);
    const { id, plan } = account;
    if (tunnels.some((tunnel) => tunnel.account.plan !== plan))
      this.#log('plan changed', { account: id, plan });
    for (const tunnel of tunnels) tunnel.account = account;
  }

  /** An account is gone, and so are the records of its tunnels. */
  endAccount(accountId: string): void {
    for (const tunnel of this.#registry.forAccount(accountId)) this.#end(tunnel, 'removed');
  }

  /** @throws ApiError 404; 503 with the tunnel still alive */
  async close(account: AccountRecord, id: string): Promise<void> {
    await this.follow(account);
    const tunnel = this.get(account, id);
    const now = this.#clock.now();
    await orUnavailable(this.#store.releaseTunnels([this.#released(tunnel, account, now)], now));
    // It may have expired, or another close may have been faster.
    if (!this.#end(tunnel, 'closed')) throw new ApiError(API_ERRORS.tunnelNotFound);
    this.#peers?.tell({ kind: 'ended', id, reason: 'closed' });
  }

  /**
   * Moves the expiry later by `ttl` seconds, or by the tunnel's own ttl.
   *
   * @throws ApiError 400 when it would be later than now plus the maximum; 404; 503
   */
  async extend(account: AccountRecord, id: string, ttl: number | undefined): Promise<LiveTunnel> {
    await this.follow(account);
    const tunnel = this.get(account, id);
    // One after the other: each counts from where the one before has moved the expiry to.
    const { maxTtl } = ttlLimitsOf(account.plan, this.#ttl);
    const extend = () => this.#extendNow(tunnel, ttl ?? tunnel.ttl, maxTtl);
    const extension = (this.#extensions.get(tunnel) ?? Promise.resolve()).then(extend, extend);
    this.#extensions.set(tunnel, extension);
    await extension;
    return tunnel;
  }

  async #extendNow(tunnel: LiveTunnel, ttl: number, maxTtl: number): Promise<void> {
    this.#mustBeAlive(tunnel);
    // What is left of its life, which a wall clock that was set says nothing about.
    const left = Math.round(tunnel.deadline - this.#clock.monotonic());
    if (left + ttl * 1000 > maxTtl * 1000) throw new ApiError(ttlTooLong(formatDuration(maxTtl)));
    const expiresAt = await orUnavailable(this.#storeExtension(tunnel, ttl * 1000, maxTtl * 1000));
    if (expiresAt === undefined) throw new ApiError(ttlTooLong(formatDuration(maxTtl)));
    this.#mustBeAlive(tunnel);
    tunnel.prolong(expiresAt);
    this.#peers?.tell({ kind: 'extended', id: tunnel.id, expiresAt });
    this.#log('tunnel extended', { ...tunnelFields(tunnel), expires_at: new Date(expiresAt).toISOString() });
  }

  /** @returns the new expiry; `undefined` when other relays have extended it too far meanwhile */
  async #storeExtension(tunnel: LiveTunnel, by: number, max: number): Promise<number | undefined> {
    if (this.#peers !== undefined) {
      const latest = this.#clock.now() + max;
      return await this.#store.extendExpiry(tunnel.id, { by, from: tunnel.expiresAt, latest });
    }
    const expiresAt = tunnel.expiresAt + by;
    await this.#store.raiseExpiry(tunnel.id, expiresAt);
    return expiresAt;
  }

  #mustBeAlive(tunnel: LiveTunnel): void {
    if (this.#registry.byId(tunnel.id) === undefined) throw new ApiError(API_ERRORS.tunnelNotFound);
  }

  /** @throws ApiError 409 when the name of an ended tunnel is held for another account; 503 */
  async #mustBeFree(account: AccountRecord, name: string): Promise<void> {
    if (this.#nameHold === 0) return;
    const holder = await orUnavailable(this.#store.nameHolder(name, this.#clock.now()));
    if (holder !== undefined && holder !== account.id) throw new ApiError(API_ERRORS.nameInUse);
  }

  /**
   * @throws ApiError 403 when other relays have given the account its last tunnels; ConflictError; StoreError with
   * nothing left behind
   */
  async #insert({ account, tunnel }: OwnedTunnel): Promise<void> {
    const { title, maxTunnels } = PLAN_RULES[account.plan];
    try {
      await this.#store.insertTunnel(tunnel, { maxTunnels, nameHold: this.#nameHold * 1000 });
    } catch (error) {
      if (error instanceof FullError && maxTunnels !== null) {
        throw new ApiError(tooManyTunnels(title, maxTunnels, new Date(error.nextEnd).toISOString()));
      }
      if (error instanceof StoreError && error.cause instanceof UnansweredError) {
        this.#sync.noteGone({ ...tunnel, heldUntil: 0 });
      }
      throw error;
    }
  }

  #reserveSlug(account: AccountRecord, name: string): string {
    const attempts = name === '' ? SLUG_ATTEMPTS : 1;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const slug = name === '' ? randomSlug() : name;
      if (this.#registry.reserve(slug, account.id)) return slug;
    }
    throw new ApiError(API_ERRORS.nameInUse);
  }

  #newRecord(account: AccountRecord, wanted: CreateTunnel, slug: string) {
    const createdAt = this.#clock.now();
    return {
      id: randomUUID(),
      slug,
      name: wanted.name,
      accountId: account.id,
      localPort: wanted.localPort,
      ttl: wanted.ttl,
      idle: wanted.idleTtl,
      createdAt,
      expiresAt: createdAt + wanted.ttl * 1000,
      bytesIn: 0,
      bytesOut: 0,
      requests: 0,
    };
  }

  /** A tunnel as the store has it, if it is still alive. */
  #meet(owned: OwnedTunnel): LiveTunnel | undefined {
    if (owned.tunnel.expiresAt <= this.#clock.now() || this.#recentlyEnded.has(owned.tunnel.id))
      return undefined;
    const known = this.#registry.byId(owned.tunnel.id);
    known?.follow(owned.tunnel);
    return known ?? this.#bringToLife(owned);
  }

  /** What must have become of a tunnel that the store does not have any more. */
  #endOf(tunnel: LiveTunnel): EndReason {
    return tunnel.deadline <= this.#clock.monotonic() ? 'expired' : 'closed';
  }

  #bringToLife(owned: OwnedTunnel): LiveTunnel {
    const tunnel = new LiveTunnel(owned, this.#clock, this.#sync.noteTraffic);
    this.#registry.add(tunnel);
    this.#expiry.watch(tunnel);
    return tunnel;
  }

  #ended(tunnel: LiveTunnel, reason: EndReason): void {
    const { requests, bytesIn: bytes_in, bytesOut: bytes_out } = tunnel;
    this.#log(`tunnel ${reason}`, { ...tunnelFields(tunnel), requests, bytes_in, bytes_out });
    this.onEnd(tunnel, reason);
  }

  /** Does not wait for the store: what has expired is gone even while the store is down. */
  #expire(tunnel: LiveTunnel): void {
    if (this.#peers === undefined) return this.#endExpired(tunnel);
    if (!tunnel.idle) void this.#expireUnlessAlive(tunnel);
    else this.#clock.setTimeout(() => void this.#expireUnlessAlive(tunnel), IDLE_GRACE_MS);
  }

  /** Another relay may have extended it, or have traffic of it. */
  async #expireUnlessAlive(tunnel: LiveTunnel): Promise<void> {
    try {
      const owned = await this.#store.findTunnel({ id: tunnel.id });
      if (owned !== undefined) tunnel.follow(owned.tunnel);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
    if (this.#registry.byId(tunnel.id) !== tunnel) return;
    if (tunnel.deadline > this.#clock.monotonic()) this.#expiry.watch(tunnel);
    else this.#endExpired(tunnel);
  }

  #endExpired(tunnel: LiveTunnel): void {
    if (!this.#end(tunnel, 'expired')) return;
    this.#sync.noteGone(this.#released(tunnel, tunnel.account, tunnel.expiresAt));
  }

  /** @returns false when the tunnel was gone already */
  #end(tunnel: LiveTunnel, reason: EndReason): boolean {
    if (!this.#registry.remove(tunnel)) return false;
    if (this.#peers !== undefined) this.#recentlyEnded.add(tunnel.id);
    this.#expiry.forget(tunnel);
    this.#sync.forget(tunnel);
    this.#ended(tunnel, reason);
    return true;
  }

  /** @param at wall time in ms at which it ended */
  #released({ id, slug }: { id: string; slug: string }, { id: accountId }: AccountRecord, at: number) {
    return { id, slug, accountId, heldUntil: at + this.#nameHold * 1000 };
  }
}
