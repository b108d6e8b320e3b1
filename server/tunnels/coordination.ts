/**
 * Tunnels of a relay, kept consistent with the changes that all relays on the database make
 * (docs/decisions/0009-cluster.md). A standalone relay knows all of them, and nobody has news for it.
 */
import { wildcardSlugsOf } from '../../shared/wildcard-hosts.ts';
import { looksLikeId, NAME_PATTERN } from '../../shared/value-rules.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { RestingName } from '../store/queries/name-queries.ts';
import type { Extension } from '../store/queries/tunnel-changes.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import { type AccountRecord, type AuditRecord, batches, type OwnedTunnel } from '../store/records.ts';
import { orUnavailable, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import {
  type EndReason,
  Lifecycle,
  type LifecycleDeps,
  type TellPeers,
  type TunnelNews,
} from './lifecycle.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import { NameLookup } from './name-lookup.ts';
import type { TunnelRegistry } from './registry.ts';
import { FOLLOW_BATCH, OverdueSweep, SharedExpiry } from './shared-expiry.ts';
import type { StoreSync } from './store-sync.ts';

/** Number of tunnels that one query reads when a relay starts. */
export const LOAD_BATCH = 500;

/**
 * Milliseconds between two queries while all tunnels are compared with the database: 10,000 tunnels a second, a tenth of
 * one connection.
 */
export const REVIEW_PAUSE_MS = 50;
/** Delay before a relay compares its tunnels with the database again after the database has failed. */
export const REVIEW_RETRY_MS = 1000;
/** How long a relay remembers a tunnel that has ended: longer than any query may take. */
export const RECENT_MS = 30_000;

export interface CoordinationDeps {
  readonly store: Store;
  readonly registry: TunnelRegistry;
  readonly sync: StoreSync;
  readonly clock: Clock;
  readonly log: Log;
  /** how long the name of an ended tunnel is reserved for its account, in seconds */
  readonly nameHold: number;
  /** whether the relay loads all tunnels, although others share its database, because news of them is never lost */
  readonly knowsAll?: boolean;
  /** called when a tunnel's access policy, links or approval requests have changed */
  readonly onAccess: (tunnel: LiveTunnel) => void;
  /** see {@link LifecycleDeps.onTakenFromAgent} */
  readonly onTakenFromAgent?: LifecycleDeps['onTakenFromAgent'];
  /** see {@link LifecycleDeps.ports} */
  readonly ports?: LifecycleDeps['ports'];
  /** called when a tunnel has left the registry */
  readonly onEnd: (tunnel: LiveTunnel, reason: EndReason) => void;
}

/** An extension of a tunnel. */
export interface WantedExtension extends Pick<Extension, 'by' | 'reach'> {
  /** how far the expiry may be from now, in ms */
  readonly max: number;
}

export class Coordination {
  readonly lifecycle: Lifecycle;
  /** Whether no other relay shares the database, so that there are no tunnels but those that this one knows. */
  readonly isAlone: boolean;
  /** Notifies other relays of a change to a tunnel here. */
  readonly tell: TellPeers;
  readonly #loadsAll: boolean;
  /** how often other relays' tunnels may have been missed, and up to which of these times all have been read since */
  #missed = 1;
  #met = 0;
  /** changes of other relays that are being read from the store */
  readonly #following = new Set<Promise<unknown>>();
  readonly #store: Store;
  readonly #registry: TunnelRegistry;
  readonly #sync: StoreSync;
  readonly #clock: Clock;
  readonly #hasPorts: boolean;
  readonly #recentlyEnded: RecentIds;
  readonly #recentlyChanged: RecentIds;
  readonly #lookup: NameLookup<OwnedTunnel>;
  readonly #domainLookup: NameLookup<OwnedTunnel>;
  readonly #restingLookup: NameLookup<RestingName>;
  /** names of tunnels that have just ended: the store may not have noted yet that they are held */
  readonly #recentlyHeld: RecentIds;
  readonly #review: StoreReview;
  readonly #sweep: OverdueSweep;
  readonly #expiry: SharedExpiry;
  /**
   * how often {@link ordersFollowed} was called, and until when, in monotonic ms, an answer of the store may be older
   */
  readonly #orders = { followed: 0, recentUntil: -Infinity };

  /** @param tell `undefined` for a relay that does not share its database */
  constructor(deps: CoordinationDeps, tell: TellPeers | undefined) {
    const { store, registry, sync, clock, nameHold, onEnd } = deps;
    this.isAlone = tell === undefined;
    this.tell = tell ?? (() => {});
    this.#loadsAll = deps.knowsAll === true;
    this.#store = store;
    this.#registry = registry;
    this.#sync = sync;
    this.#clock = clock;
    this.#hasPorts = deps.ports !== undefined;
    this.#recentlyEnded = new RecentIds(clock);
    this.#recentlyChanged = new RecentIds(clock);
    this.#recentlyHeld = new RecentIds(clock);
    this.lifecycle = new Lifecycle({
      ...deps,
      onTraffic: (tunnel) => {
        sync.noteTraffic(tunnel);
        if (!this.isAlone && tunnel.terms.idle) sync.hurryFor(tunnel);
      },
      onExpired: (tunnel) =>
        this.isAlone ? this.lifecycle.endExpired(tunnel) : this.#expiry.expired(tunnel),
      onEnd: (tunnel, reason) => {
        this.#recentlyEnded.add(tunnel.id);
        this.#restingLookup.forget(tunnel.slug);
        if (nameHold > 0 && tunnel.name !== '' && reason !== 'removed') this.#recentlyHeld.add(tunnel.slug);
        onEnd(tunnel, reason);
      },
    });
    const compare = (tunnels: readonly LiveTunnel[]) => this.#compare(tunnels);
    const tunnelsBy = (by: 'slug' | 'domain') => async (names: readonly string[]) =>
      new Map((await store.findTunnels(by, names)).map((owned) => [owned.tunnel[by] ?? '', owned]));
    this.#lookup = new NameLookup({ ask: tunnelsBy('slug'), isPossible: isSlug, clock });
    // Only verified domains are looked up, and the relay knows all of those.
    this.#domainLookup = new NameLookup({ ask: tunnelsBy('domain'), clock });
    this.#restingLookup = new NameLookup({
      ask: async (names) =>
        new Map((await store.restingNames(names, clock.now())).map((resting) => [resting.name, resting])),
      isPossible: isSlug,
      clock,
    });
    this.#review = new StoreReview(
      clock,
      () => registry.all(),
      compare,
      () => this.#meetNew(),
    );
    this.#sweep = new OverdueSweep(store, clock, nameHold * 1000);
    this.#expiry = new SharedExpiry({ store, clock, lifecycle: this.lifecycle, compare });
  }

  /**
   * A relay that is alone loads the stored tunnels, except those that have expired, and so do processes of one relay. Others
   * load them on demand, and clean up after each other.
   *
   * @throws StoreError
   */
  async start(): Promise<void> {
    if (!this.isAlone) {
      await this.#meetNew();
      this.#sweep.start();
      return;
    }
    for await (const owned of storedTunnels(this.#store)) {
      const { tunnel, account } = owned;
      if (tunnel.expiresAt > this.#clock.now()) this.lifecycle.begin(owned);
      else this.#sync.noteGone(this.lifecycle.released(tunnel, account, tunnel.expiresAt));
    }
    await this.#sync.flush();
  }

  /** After this nothing expires, and the store is not queried. */
  stop(): void {
    this.lifecycle.stop();
    this.#sweep.stop();
    this.#review.stop();
    this.#expiry.stop();
  }

  /**
   * Learns what other relays have done to an account's tunnels.
   *
   * @throws ApiError 503
   */
  async followAccount(account: AccountRecord): Promise<void> {
    if (this.isAlone) return;
    const missing = new Set(this.#registry.forAccount(account.id));
    for (const owned of await orUnavailable(this.#store.findTunnels('accountId', [account.id]))) {
      const tunnel = this.#meet(owned);
      if (tunnel !== undefined) missing.delete(tunnel);
    }
    for (const tunnel of missing) this.#endMissing(tunnel);
  }

  /**
   * Learns what other relays have done to a tunnel.
   *
   * @throws ApiError 503
   */
  async followTunnel(id: string): Promise<void> {
    // Whatever a caller may send as an id, the database is only queried for valid ones.
    if (!this.isAlone && looksLikeId(id)) await this.followStored(id);
  }

  /** The same, also if it was not another relay: an operator may have closed it. */
  async followStored(id: string): Promise<void> {
    const known = this.#registry.byId(id);
    const owned = await orUnavailable(this.#store.findTunnel(id));
    if (owned !== undefined) {
      this.#meet(owned);
    } else if (known !== undefined && this.lifecycle.isAlive(known)) {
      this.#endMissing(known);
      // The relay that closed it may not know that it did, if the store's answer was lost.
      this.tell({ kind: 'ended', id, reason: 'closed' });
    }
  }

  /** A tunnel by its slug, which another relay may have created. @throws StoreError */
  async find(slug: string): Promise<LiveTunnel | undefined> {
    const known = this.#registry.bySlug(slug);
    if (known !== undefined || this.isAlone) return known;
    const owned = await this.#lookup.find(slug);
    return owned && this.#meet(owned);
  }

  /**
   * The tunnel at a label below the tunnel domain: its own slug, otherwise a host of a wildcard tunnel. `undefined` also
   * if the store may have one that has precedence.
   *
   * A host of a wildcard tunnel may be another tunnel of the same account, which the store is asked for once. After
   * that, notifications tell of new ones, and the store is asked again while the wildcard tunnel serves.
   */
  byLabel(label: string): LiveTunnel | undefined {
    const tunnel = this.#registry.byLabel(label);
    if (tunnel === undefined || tunnel.slug === label || this.#knowsAll) return tunnel;
    const first = moreSpecific(label, tunnel);
    if (!first.every((name) => this.#lookup.wasMissing(name))) return undefined;
    for (const name of first) if (!this.#lookup.isMissing(name)) void this.find(name).catch(() => {});
    return tunnel;
  }

  /** The same, and asks the store. @throws StoreError */
  async findByLabel(label: string): Promise<LiveTunnel | undefined> {
    if (this.#knowsAll) return this.#registry.byLabel(label);
    try {
      // One after the other, so that a label with many hyphens does not occupy more of the queue than any other.
      for (const name of [label, ...wildcardSlugsOf(label)]) {
        const tunnel = await this.find(name);
        if (tunnel !== undefined && (name === label || tunnel.terms.wildcard)) return tunnel;
      }
      return undefined;
    } catch (error) {
      const known = this.#registry.byLabel(label);
      if (known === undefined) throw error;
      return known;
    }
  }

  /** Whether nothing needs to be looked up for a name without a tunnel here: there is no tunnel, and it is nobody's. */
  isUnknown(name: string): boolean {
    if (!this.#knowsAll || this.#recentlyHeld.has(name)) return false;
    return !isSlug(name) || this.#restingLookup.isMissing(name);
  }

  /**
   * A name without a tunnel that an account keeps, or that is held for one (protocol.md section 3.5).
   *
   * @throws StoreError
   */
  async findResting(name: string): Promise<RestingName | undefined> {
    const resting = await this.#restingLookup.find(name);
    if (resting !== undefined || !this.#recentlyHeld.has(name)) return resting;
    return { name, subdomain: null, away: undefined };
  }

  /** An account keeps a name now, or has let it go. */
  nameChanged(name: string): void {
    this.#restingLookup.forget(name);
    this.tell({ kind: 'created', slug: name, domain: '' });
  }

  /** A tunnel by its domain, which must be verified. @throws StoreError */
  async findByDomain(domain: string): Promise<LiveTunnel | undefined> {
    const owned = this.isAlone ? undefined : await this.#domainLookup.find(domain);
    return owned && this.#meet(owned);
  }

  /** Ends tunnels that the store has removed together with their domain, here and on other relays. */
  displace(ids: readonly string[]): void {
    for (const id of ids) {
      this.#endElsewhere(id, 'displaced');
      this.tell({ kind: 'ended', id, reason: 'displaced' });
    }
  }

  /**
   * Ends a tunnel that is closed here. The store decides who was first: the notification that the tunnel is gone may
   * arrive before its answer.
   *
   * @param closed the record for the store
   * @param entries for the audit log
   * @returns false if it was already ended, here or on another relay
   * @throws StoreError, FullError
   */
  async close(tunnel: LiveTunnel, closed: ReleasedTunnel, entries: readonly AuditRecord[]): Promise<boolean> {
    const isFirst = await this.#store.act('closeTunnel', [closed, this.#clock.now()], entries);
    this.lifecycle.end(tunnel, 'closed');
    return isFirst;
  }

  /**
   * Makes the store move an expiry later.
   *
   * @returns the new one; `undefined` if it would be too far, or the tunnel was ended or given to a key out of reach
   * @throws StoreError, FullError
   */
  async storeExtension(
    tunnel: LiveTunnel,
    { by, max, reach }: WantedExtension,
    entries: readonly AuditRecord[],
  ): Promise<number | undefined> {
    const extension = { by, from: tunnel.expiresAt, latest: tunnel.expiryAfter(max), reach };
    return await this.#store.act('extendExpiry', [tunnel.id, extension], entries);
  }

  /**
   * Admin actions on accounts and tunnels have been applied to all live tunnels. Anything read from the store earlier
   * is older than that.
   */
  ordersFollowed(): void {
    this.#orders.followed += 1;
    this.#orders.recentUntil = this.#clock.monotonic() + RECENT_MS;
  }

  /** Another relay has changed a tunnel. */
  hear(news: TunnelNews): void {
    switch (news.kind) {
      case 'created':
        this.#lookup.forget(news.slug);
        this.#restingLookup.forget(news.slug);
        this.#domainLookup.forget(news.domain);
        // Otherwise, it is looked up when it is needed.
        if (this.#loadsAll) this.#track(this.find(news.slug).catch(() => this.review()));
        return;
      case 'created-tcp':
        this.#lookup.forget(news.slug);
        // Visitors arrive at its port here as well. If the store fails, the next review queries it again.
        if (this.#hasPorts || this.#loadsAll) this.#track(this.find(news.slug).catch(() => this.review()));
        return;
      case 'extended':
        return this.#registry.byId(news.id)?.prolong(news.expiresAt);
      case 'access':
        this.#recentlyChanged.add(news.id);
        return this.#followAccess(news.id);
      case 'ended':
        return this.#endElsewhere(news.id, news.reason);
    }
  }

  /** Another process of this relay has changed something. @returns once what it has told so far is followed here */
  async followed(): Promise<void> {
    this.#restingLookup.clear();
    await Promise.allSettled(this.#following);
  }

  /** Catches up, in the background, on notifications that may have been missed: updates every tunnel from the store. */
  review(): void {
    this.#lookup.clear();
    this.#domainLookup.clear();
    this.#restingLookup.clear();
    this.#missed += 1;
    this.#review.request();
  }

  /** Whether there are no tunnels but those that this relay knows. */
  get #knowsAll(): boolean {
    return this.isAlone || (this.#loadsAll && this.#met === this.#missed && this.#following.size === 0);
  }

  /** Learns of tunnels that other relays have created: all, or those whose ports it listens on. @throws StoreError */
  async #meetNew(): Promise<void> {
    const missed = this.#missed;
    if (this.#loadsAll) {
      const isNew = (id: string): boolean => this.#registry.byId(id) === undefined;
      for await (const owned of storedTunnels(this.#store, isNew)) this.#meet(owned);
    } else if (this.#hasPorts) {
      for (const owned of await this.#store.findTunnels('protocol', ['tcp'])) this.#meet(owned);
    }
    this.#met = missed;
  }

  /** Loads a stored tunnel. An expired one is not revived; one that is live here ends by its own timer. */
  #meet(owned: OwnedTunnel): LiveTunnel | undefined {
    const { id, expiresAt } = owned.tunnel;
    const known = this.#registry.byId(id);
    if (known !== undefined) {
      this.lifecycle.follow(known, owned);
      return known;
    }
    const isOver = expiresAt <= this.#clock.now() || this.#recentlyEnded.has(id);
    if (isOver) return undefined;
    const tunnel = this.lifecycle.begin(owned);
    // The answer of the store may be older than the admin actions.
    const isOld = this.#clock.monotonic() < this.#orders.recentUntil;
    if (isOld || this.#recentlyChanged.has(id)) this.#followAccess(id);
    return tunnel;
  }

  /** Another relay has ended a tunnel that this relay may not know. */
  #endElsewhere(id: string, reason: EndReason): void {
    this.#recentlyEnded.add(id);
    const tunnel = this.#registry.byId(id);
    if (tunnel !== undefined) this.lifecycle.end(tunnel, reason);
  }

  /**
   * Another relay has changed the access policy of a tunnel, or a client has taken it over there; this relay may not
   * know the tunnel.
   */
  #followAccess(id: string): void {
    const tunnel = this.#registry.byId(id);
    if (tunnel === undefined) return;
    // If the store fails, the next review queries it again.
    this.#track(this.#compare([tunnel]).catch(() => this.#review.request()));
  }

  /** @param following never rejects */
  #track(following: Promise<unknown>): void {
    this.#following.add(following);
    void following.finally(() => this.#following.delete(following));
  }

  /** The store no longer has the tunnel. */
  #endMissing(tunnel: LiveTunnel): void {
    this.lifecycle.end(tunnel, this.lifecycle.isOver(tunnel) ? 'expired' : 'closed');
  }

  /** @throws StoreError */
  async #compare(tunnels: readonly LiveTunnel[]): Promise<void> {
    const { followed } = this.#orders;
    const stored = new Map<string, OwnedTunnel>();
    for (const owned of await this.#store.findTunnels(
      'id',
      tunnels.map(({ id }) => id),
    ))
      stored.set(owned.tunnel.id, owned);
    const isOld = followed !== this.#orders.followed;
    for (const tunnel of tunnels) {
      const owned = stored.get(tunnel.id);
      if (owned === undefined) {
        this.#endMissing(tunnel);
        continue;
      }
      this.lifecycle.follow(tunnel, owned);
      if (!isOld) this.lifecycle.followSuspension(tunnel, owned);
    }
    // Admin actions are rare, so this terminates.
    if (isOld) await this.#compare(tunnels.filter((tunnel) => this.lifecycle.isAlive(tunnel)));
  }
}

function isSlug(name: string): boolean {
  return NAME_PATTERN.test(name);
}

/** The slugs that have precedence over that of a wildcard tunnel at a label. */
function moreSpecific(label: string, { slug }: LiveTunnel): string[] {
  return [label, ...wildcardSlugsOf(label).filter((name) => name.length > slug.length)];
}

/* Tunnels that have just changed: an answer that the store gave before must not restore the previous state. */

export class RecentIds {
  readonly #clock: Clock;
  /** by id, until when they are remembered, monotonic ms; oldest first */
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(id: string): void {
    const now = this.#clock.monotonic();
    for (const [oldest, until] of this.#until) {
      if (now < until) break;
      this.#until.delete(oldest);
    }
    this.#until.delete(id);
    this.#until.set(id, now + RECENT_MS);
  }

  has(id: string): boolean {
    return this.#clock.monotonic() < (this.#until.get(id) ?? -Infinity);
  }
}

/*
 * Compares the tunnels of this relay with the store, in the background: in batches with pauses between them, so that a
 * hundred thousand tunnels become neither one huge query nor a storm of queries.
 */

export class StoreReview {
  readonly #clock: Clock;
  readonly #all: () => Iterable<LiveTunnel>;
  readonly #compare: (tunnels: readonly LiveTunnel[]) => Promise<void>;
  readonly #meet: () => Promise<void>;
  #wanted = false;
  #running = false;
  #stopped = false;

  /**
   * @param all all live tunnels
   * @param compare updates some of them from the store; rejects with StoreError
   * @param meet learns of those that this relay has to know and does not; rejects with StoreError
   */
  constructor(
    clock: Clock,
    all: () => Iterable<LiveTunnel>,
    compare: (tunnels: readonly LiveTunnel[]) => Promise<void>,
    meet: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.#clock = clock;
    this.#all = all;
    this.#compare = compare;
    this.#meet = meet;
  }

  /** All changes up to now will be noticed: by a review that starts now, or after the current one. */
  request(): void {
    this.#wanted = true;
    if (!this.#running) void this.#run();
  }

  /** Stops for good. The current batch is the last. */
  stop(): void {
    this.#stopped = true;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#wanted && !this.#stopped) {
      this.#wanted = false;
      if (await this.#review()) continue;
      this.#wanted = true;
      await this.#pause(REVIEW_RETRY_MS);
    }
    this.#running = false;
  }

  /** @returns false if the store failed */
  async #review(): Promise<boolean> {
    try {
      let pause = 0;
      await this.#meet();
      for (const batch of batches([...this.#all()], FOLLOW_BATCH)) {
        if (pause > 0) await this.#pause(pause);
        if (this.#stopped) break;
        pause = REVIEW_PAUSE_MS;
        await this.#compare(batch);
      }
      return true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return false;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.setTimeout(resolve, ms);
    });
  }
}

/* Reading the tunnels of a database. */

/**
 * Reads all tunnels, oldest first, in batches: memory allocated for all of them on the way from the database would
 * never be returned by either thread of the relay.
 *
 * @param isWanted by its id
 * @throws StoreError
 */
export async function* storedTunnels(
  store: Pick<Store, 'tunnelIds' | 'findTunnels'>,
  isWanted: (id: string) => boolean = () => true,
): AsyncGenerator<OwnedTunnel, void> {
  const ids = (await store.tunnelIds()).filter(isWanted);
  for (let start = 0; start < ids.length; start += LOAD_BATCH) {
    const batch = ids.slice(start, start + LOAD_BATCH);
    const found = new Map((await store.findTunnels('id', batch)).map((owned) => [owned.tunnel.id, owned]));
    for (const id of batch) {
      const owned = found.get(id);
      if (owned !== undefined) yield owned;
    }
  }
}
