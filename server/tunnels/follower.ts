/** Keeps the tunnels of this relay as all relays on the database have left them (docs/decisions/0009-cluster.md). */
import type { AccountRecord } from '../store/records.ts';
import type { Clock } from '../clock.ts';
import { FOLLOW_BATCH, IDLE_GRACE_MS } from '../limits.ts';
import { orUnavailable, type Store, StoreError } from '../store/store.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import { OverdueSweep } from './overdue-sweep.ts';
import type { TunnelNews } from './peers.ts';
import type { TunnelRegistry } from './registry.ts';
import { SlugLookup } from './slug-lookup.ts';
import { StoreReview } from './store-review.ts';

/** Whatever else a caller may send as an id, the database is not asked for. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export interface FollowerDeps {
  readonly store: Store;
  readonly registry: TunnelRegistry;
  readonly clock: Clock;
  /** how long the name of an ended tunnel stays with its account, in seconds */
  readonly nameHold: number;
  /** tells other relays */
  readonly tell: (news: TunnelNews) => void;
}

export class Follower {
  readonly #store: Store;
  readonly #registry: TunnelRegistry;
  readonly #clock: Clock;
  readonly #lifecycle: Lifecycle;
  readonly #lookup: SlugLookup;
  readonly #tell: (news: TunnelNews) => void;
  readonly #review: StoreReview;
  readonly #sweep: OverdueSweep;
  /** tunnels whose time is over, unless another relay has extended them or has traffic of them */
  readonly #due = new Set<LiveTunnel>();
  #checking = false;

  constructor({ store, registry, clock, nameHold, tell }: FollowerDeps, lifecycle: Lifecycle) {
    this.#store = store;
    this.#registry = registry;
    this.#clock = clock;
    this.#lifecycle = lifecycle;
    this.#tell = tell;
    this.#lookup = new SlugLookup(store, clock);
    this.#review = new StoreReview(
      clock,
      () => registry.all(),
      (tunnels) => this.#compare(tunnels),
    );
    this.#sweep = new OverdueSweep(store, clock, nameHold * 1000);
  }

  /** Begins to look after what other relays have left behind. */
  start(): void {
    this.#sweep.start();
  }

  stop(): void {
    this.#sweep.stop();
    this.#review.stop();
    this.#due.clear();
  }

  /**
   * Takes over what other relays have done to an account's tunnels.
   *
   * @throws ApiError 503
   */
  async followAccount(account: AccountRecord): Promise<void> {
    const missing = new Set(this.#registry.forAccount(account.id));
    for (const owned of await orUnavailable(this.#store.tunnelsOf(account.id))) {
      const tunnel = this.#lifecycle.meet(owned);
      if (tunnel !== undefined) missing.delete(tunnel);
    }
    for (const tunnel of missing) this.#lifecycle.endMissing(tunnel);
  }

  /**
   * Takes over what other relays have done to one tunnel.
   *
   * @throws ApiError 503
   */
  async followTunnel(id: string): Promise<void> {
    if (!UUID.test(id)) return;
    const known = this.#registry.byId(id);
    const owned = await orUnavailable(this.#store.findTunnel(id));
    if (owned !== undefined) {
      this.#lifecycle.meet(owned);
    } else if (known !== undefined && this.#lifecycle.isAlive(known)) {
      this.#lifecycle.endMissing(known);
      // Whoever has closed it may not have known that it has, where the store's answer was lost.
      this.#tell({ kind: 'ended', id, reason: 'closed' });
    }
  }

  /**
   * Looks in the store for a tunnel that this relay has not met.
   *
   * @throws StoreError
   */
  async find(slug: string): Promise<LiveTunnel | undefined> {
    const owned = await this.#lookup.find(slug);
    return owned && this.#lifecycle.meet(owned);
  }

  /** Another relay has done something to a tunnel. */
  hear(news: TunnelNews): void {
    switch (news.kind) {
      case 'created':
        return this.#lookup.forget(news.slug);
      case 'extended':
        return this.#registry.byId(news.id)?.prolong(news.expiresAt);
      case 'ended':
        return this.#lifecycle.endElsewhere(news.id, news.reason);
    }
  }

  /** Makes up, in the background, for news that may have been missed: every tunnel is again as the store has it. */
  review(): void {
    this.#lookup.clear();
    this.#review.request();
  }

  /** The time of a tunnel is over as far as this relay knows. */
  readonly expired = (tunnel: LiveTunnel): void => {
    if (tunnel.idle) this.#clock.setTimeout(() => this.#check(tunnel), IDLE_GRACE_MS);
    else this.#check(tunnel);
  };

  #check(tunnel: LiveTunnel): void {
    this.#due.add(tunnel);
    if (!this.#checking) void this.#checkDue();
  }

  async #checkDue(): Promise<void> {
    this.#checking = true;
    while (this.#due.size > 0) {
      await this.#endOrExtend(this.#takeDue());
    }
    this.#checking = false;
  }

  #takeDue(): LiveTunnel[] {
    const batch: LiveTunnel[] = [];
    for (const tunnel of this.#due) {
      if (batch.length === FOLLOW_BATCH) break;
      this.#due.delete(tunnel);
      batch.push(tunnel);
    }
    return batch;
  }

  async #endOrExtend(batch: readonly LiveTunnel[]): Promise<void> {
    try {
      await this.#compare(batch);
      await this.#endExpired(this.#stillAlive(batch).filter((tunnel) => this.#lifecycle.isOver(tunnel)));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
    }
    for (const tunnel of this.#stillAlive(batch)) {
      if (!this.#lifecycle.isOver(tunnel)) this.#lifecycle.goOn(tunnel);
      else if (!this.#due.has(tunnel)) this.#lifecycle.endExpired(tunnel);
    }
  }

  /** The store decides, so that an extension that another relay has acknowledged is not lost. */
  async #endExpired(over: readonly LiveTunnel[]): Promise<void> {
    const released = over.map((tunnel) => this.#lifecycle.expired(tunnel));
    const removed = await this.#store.releaseTunnels(released, this.#clock.now());
    for (const tunnel of over) {
      if (removed.has(tunnel.id)) this.#lifecycle.end(tunnel, 'expired');
      // Another relay was faster, to end it or to extend it.
      else this.#due.add(tunnel);
    }
  }

  /** @throws StoreError */
  async #compare(tunnels: readonly LiveTunnel[]): Promise<void> {
    const stored = await this.#store.findTunnels(tunnels.map(({ id }) => id));
    const records = new Map(stored.map(({ tunnel }) => [tunnel.id, tunnel]));
    for (const tunnel of tunnels) {
      const record = records.get(tunnel.id);
      if (record === undefined) this.#lifecycle.endMissing(tunnel);
      else tunnel.follow(record);
    }
  }

  #stillAlive(tunnels: readonly LiveTunnel[]): LiveTunnel[] {
    return tunnels.filter((tunnel) => this.#lifecycle.isAlive(tunnel));
  }
}
