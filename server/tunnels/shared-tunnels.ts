/**
 * Tunnels of one of several relays, kept consistent with the changes that all relays on the database make
 * (docs/decisions/0009-cluster.md).
 */
import { wildcardSlugsOf } from '../../shared/wildcard-hosts.ts';
import { looksLikeId, NAME_PATTERN } from '../../shared/value-rules.ts';
import type { Clock } from '../clock.ts';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import { type AccountRecord, type AuditRecord, batches, type OwnedTunnel } from '../store/records.ts';
import { orUnavailable, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import type { Coordination, CoordinationDeps, WantedExtension } from './coordination.ts';
import { type EndReason, Lifecycle, type TellPeers, type TunnelNews } from './lifecycle.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import type { TunnelRegistry } from './registry.ts';
import { FOLLOW_BATCH, OverdueSweep, SharedExpiry } from './shared-expiry.ts';

/**
 * @limit ms between two queries while all tunnels are compared with the database: 10,000 tunnels a second, a tenth of
 * one connection.
 */
export const REVIEW_PAUSE_MS = 50;
/** @limit Delay before a relay compares its tunnels with the database again after the database has failed. */
export const REVIEW_RETRY_MS = 1000;
/** @limit How long the relay caches the fact that a slug is unused, unless another relay reports a tunnel there. */
export const LOOKUP_MISS_MS = 5000;
/** @limit Maximum number of unused slugs that the relay caches: about 1 MB. */
export const LOOKUP_MISSES_MAX = 10_000;
/**
 * @limit Maximum number of concurrent queries that look up slugs: if one is slow, others can still run, but on only
 * some of the connections.
 */
export const LOOKUPS_MAX = 4;
/**
 * @limit Number of slugs that one query looks up. It takes a few ms, so thousands of waiting slugs are looked up within
 * a second.
 */
export const LOOKUP_BATCH = 500;
/**
 * @limit Maximum number of slugs waiting for a lookup: about 20 MB, and several times the number of visitors that may
 * be connected.
 */
export const LOOKUPS_WAITING_MAX = 50_000;
/** @limit How long a relay remembers a tunnel that has ended: longer than any query may take. */
export const RECENT_MS = 30_000;

export class SharedTunnels implements Coordination {
  readonly lifecycle: Lifecycle;
  readonly tell: TellPeers;
  readonly #store: Store;
  readonly #registry: TunnelRegistry;
  readonly #clock: Clock;
  readonly #recentlyEnded: RecentIds;
  readonly #recentlyChanged: RecentIds;
  readonly #lookup: NameLookup;
  readonly #domainLookup: NameLookup;
  readonly #review: StoreReview;
  readonly #sweep: OverdueSweep;
  readonly #expiry: SharedExpiry;
  /**
   * how often {@link ordersFollowed} was called, and until when, in monotonic ms, an answer of the store may be older
   */
  readonly #orders = { followed: 0, recentUntil: -Infinity };

  constructor(deps: CoordinationDeps, tell: TellPeers) {
    const { store, registry, sync, clock, nameHold, onEnd } = deps;
    this.#store = store;
    this.#registry = registry;
    this.#clock = clock;
    this.tell = tell;
    this.#recentlyEnded = new RecentIds(clock);
    this.#recentlyChanged = new RecentIds(clock);
    this.lifecycle = new Lifecycle({
      ...deps,
      onTraffic: (tunnel) => {
        sync.noteTraffic(tunnel);
        if (tunnel.terms.idle) sync.hurryFor(tunnel);
      },
      onExpired: (tunnel) => this.#expiry.expired(tunnel),
      onEnd: (tunnel, reason) => {
        this.#recentlyEnded.add(tunnel.id);
        onEnd(tunnel, reason);
      },
    });
    const compare = (tunnels: readonly LiveTunnel[]) => this.#compare(tunnels);
    this.#lookup = new NameLookup(bySlug(store), clock);
    this.#domainLookup = new NameLookup(byDomain(store), clock);
    this.#review = new StoreReview(clock, () => registry.all(), compare);
    this.#sweep = new OverdueSweep(store, clock, nameHold * 1000);
    this.#expiry = new SharedExpiry({ store, clock, lifecycle: this.lifecycle, compare });
  }

  /** Starts to clean up after other relays; tunnels are loaded on demand. */
  start(): Promise<void> {
    this.#sweep.start();
    return Promise.resolve();
  }

  stop(): void {
    this.lifecycle.stop();
    this.#sweep.stop();
    this.#review.stop();
    this.#expiry.stop();
  }

  async followAccount(account: AccountRecord): Promise<void> {
    const missing = new Set(this.#registry.forAccount(account.id));
    for (const owned of await orUnavailable(this.#store.findTunnels('accountId', [account.id]))) {
      const tunnel = this.#meet(owned);
      if (tunnel !== undefined) missing.delete(tunnel);
    }
    for (const tunnel of missing) this.#endMissing(tunnel);
  }

  async followTunnel(id: string): Promise<void> {
    // Whatever a caller may send as an id, the database is only queried for valid ones.
    if (!looksLikeId(id)) return;
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

  readonly find = async (slug: string): Promise<LiveTunnel | undefined> => {
    const owned = await this.#lookup.find(slug);
    return owned && this.#meet(owned);
  };

  /**
   * A host of a wildcard tunnel may be another tunnel of the same account, which the store is asked for once. After
   * that, notifications tell of new ones, and the store is asked again while the wildcard tunnel serves.
   */
  byLabel(label: string): LiveTunnel | undefined {
    const tunnel = this.#registry.byLabel(label);
    if (tunnel === undefined || tunnel.slug === label) return tunnel;
    const first = moreSpecific(label, tunnel);
    if (!first.every((name) => this.#lookup.wasMissing(name))) return undefined;
    for (const name of first) if (!this.#lookup.isMissing(name)) void this.find(name).catch(() => {});
    return tunnel;
  }

  readonly findByLabel = async (label: string): Promise<LiveTunnel | undefined> => {
    try {
      // One after the other, so that a label with many hyphens does not occupy more of the queue than any other.
      for (const name of [label, ...wildcardSlugsOf(label)]) {
        const tunnel = this.#registry.bySlug(name) ?? (await this.find(name));
        if (tunnel !== undefined && (name === label || tunnel.terms.wildcard)) return tunnel;
      }
      return undefined;
    } catch (error) {
      const known = this.#registry.byLabel(label);
      if (known === undefined) throw error;
      return known;
    }
  };

  readonly findByDomain = async (domain: string): Promise<LiveTunnel | undefined> => {
    const owned = await this.#domainLookup.find(domain);
    return owned && this.#meet(owned);
  };

  displace(ids: readonly string[]): void {
    for (const id of ids) {
      this.#endElsewhere(id, 'displaced');
      this.tell({ kind: 'ended', id, reason: 'displaced' });
    }
  }

  /** The store decides who was first: the notification that the tunnel is gone may arrive before its answer. */
  async close(tunnel: LiveTunnel, closed: ReleasedTunnel, entries: readonly AuditRecord[]): Promise<boolean> {
    const isFirst = await this.#store.act('closeTunnel', [closed, this.#clock.now()], entries);
    this.lifecycle.end(tunnel, 'closed');
    return isFirst;
  }

  async storeExtension(
    { id, expiresAt }: LiveTunnel,
    { by, max, reach }: WantedExtension,
    entries: readonly AuditRecord[],
  ): Promise<number | undefined> {
    const extension = { by, from: expiresAt, latest: this.#clock.now() + max, reach };
    return await this.#store.act('extendExpiry', [id, extension], entries);
  }

  ordersFollowed(): void {
    this.#orders.followed += 1;
    this.#orders.recentUntil = this.#clock.monotonic() + RECENT_MS;
  }

  hear(news: TunnelNews): void {
    switch (news.kind) {
      case 'created':
        this.#lookup.forget(news.slug);
        return this.#domainLookup.forget(news.domain);
      case 'extended':
        return this.#registry.byId(news.id)?.prolong(news.expiresAt);
      case 'access':
        this.#recentlyChanged.add(news.id);
        return this.#followAccess(news.id);
      case 'ended':
        return this.#endElsewhere(news.id, news.reason);
    }
  }

  /** Updates every tunnel from the store. */
  review(): void {
    this.#lookup.clear();
    this.#domainLookup.clear();
    this.#review.request();
  }

  /** Loads a stored tunnel. An expired one is not revived; one that is live here ends by its own timer. */
  #meet(owned: OwnedTunnel): LiveTunnel | undefined {
    const { id, expiresAt } = owned.tunnel;
    const known = this.#registry.byId(id);
    if (known !== undefined) {
      this.lifecycle.follow(known, owned.tunnel);
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
    // If the store fails, the next review queries it again.
    if (tunnel !== undefined) this.#compare([tunnel]).catch(() => this.#review.request());
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
      this.lifecycle.follow(tunnel, owned.tunnel);
      if (!isOld) this.lifecycle.followSuspension(tunnel, owned);
    }
    // Admin actions are rare, so this terminates.
    if (isOld) await this.#compare(tunnels.filter((tunnel) => this.lifecycle.isAlive(tunnel)));
  }
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
  #wanted = false;
  #running = false;
  #stopped = false;

  /**
   * @param all all live tunnels
   * @param compare updates some of them from the store; rejects with StoreError
   */
  constructor(
    clock: Clock,
    all: () => Iterable<LiveTunnel>,
    compare: (tunnels: readonly LiveTunnel[]) => Promise<void>,
  ) {
    this.#clock = clock;
    this.#all = all;
    this.#compare = compare;
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

type Lookup = PromiseWithResolvers<OwnedTunnel | undefined>;

/** One kind of tunnel name: slugs or domains. */
interface Naming {
  /** Whether a tunnel may have such a name. */
  readonly isName: (text: string) => boolean;
  /** The existing tunnels with these names, in any order; rejects with StoreError. */
  readonly ask: (names: readonly string[]) => Promise<OwnedTunnel[]>;
  readonly nameOf: (owned: OwnedTunnel) => string;
}

export function bySlug(store: Pick<Store, 'findTunnels'>): Naming {
  return {
    isName: (text) => NAME_PATTERN.test(text),
    ask: (slugs) => store.findTunnels('slug', slugs),
    nameOf: ({ tunnel }) => tunnel.slug,
  };
}

/** Only verified domains are looked up, and the relay knows all of those. */
function byDomain(store: Pick<Store, 'findTunnels'>): Naming {
  return {
    isName: () => true,
    ask: (domains) => store.findTunnels('domain', domains),
    nameOf: ({ tunnel }) => tunnel.domain ?? '',
  };
}

/**
 * Names that are requested while the store is busy are combined into one query, in order of arrival. So a sender who
 * requests thousands of nonexistent names makes the queries longer, but does not keep others from getting an answer.
 */
export class NameLookup {
  readonly #naming: Naming;
  readonly #clock: Clock;
  /** by name, not queried yet */
  readonly #waiting = new Map<string, Lookup>();
  /** by name, being queried */
  readonly #asked = new Map<string, Lookup>();
  /** queries that the store has not answered */
  #underWay = 0;
  /** names without a tunnel, and until when that is assumed, monotonic ms; oldest first */
  readonly #misses = new Map<string, number>();

  constructor(naming: Naming, clock: Clock) {
    this.#naming = naming;
    this.#clock = clock;
  }

  /**
   * @param name as a visitor gave it
   * @throws StoreError, also if too many wait
   */
  async find(name: string): Promise<OwnedTunnel | undefined> {
    if (!this.#naming.isName(name) || this.isMissing(name)) return undefined;
    const known = this.#asked.get(name) ?? this.#waiting.get(name);
    if (known !== undefined) return await known.promise;
    if (this.#waiting.size >= LOOKUPS_WAITING_MAX) throw new StoreError(new Error('too many lookups'));
    const lookup: Lookup = Promise.withResolvers();
    this.#waiting.set(name, lookup);
    this.#askNext();
    return await lookup.promise;
  }

  /** Whether no tunnel has the name, as found a short time ago. */
  isMissing(name: string): boolean {
    return this.#clock.monotonic() < (this.#misses.get(name) ?? -Infinity);
  }

  /** The same, but found any time ago, and no notification has said otherwise since. */
  wasMissing(name: string): boolean {
    return this.#misses.has(name);
  }

  /** A tunnel now has the name. */
  forget(name: string): void {
    this.#misses.delete(name);
    this.#asked.delete(name);
  }

  /** Tunnels may exist now that did not before. */
  clear(): void {
    this.#misses.clear();
    this.#asked.clear();
  }

  #askNext(): void {
    while (this.#underWay < LOOKUPS_MAX && this.#waiting.size > 0) void this.#ask(this.#takeWaiting());
  }

  #takeWaiting(): ReadonlyMap<string, Lookup> {
    const batch = new Map<string, Lookup>();
    for (const [name, lookup] of this.#waiting) {
      if (batch.size === LOOKUP_BATCH) break;
      this.#waiting.delete(name);
      this.#asked.set(name, lookup);
      batch.set(name, lookup);
    }
    return batch;
  }

  async #ask(batch: ReadonlyMap<string, Lookup>): Promise<void> {
    this.#underWay += 1;
    try {
      const found = await this.#naming.ask([...batch.keys()]);
      const byName = new Map(found.map((owned) => [this.#naming.nameOf(owned), owned]));
      for (const [name, lookup] of batch) {
        // A tunnel created in the meantime has replaced the lookup.
        if (!byName.has(name) && this.#asked.get(name) === lookup) this.#remember(name);
        lookup.resolve(byName.get(name));
      }
    } catch (error) {
      for (const lookup of batch.values()) lookup.reject(error);
    } finally {
      for (const [name, lookup] of batch) if (this.#asked.get(name) === lookup) this.#asked.delete(name);
      this.#underWay -= 1;
      this.#askNext();
    }
  }

  #remember(name: string): void {
    this.#misses.delete(name);
    this.#misses.set(name, this.#clock.monotonic() + LOOKUP_MISS_MS);
    if (this.#misses.size <= LOOKUP_MISSES_MAX) return;
    const [oldest] = this.#misses.keys();
    if (oldest !== undefined) this.#misses.delete(oldest);
  }
}
