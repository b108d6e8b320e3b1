/** One relay of several that serve as one (docs/decisions/0009-cluster.md): joins, keeps its place, and leaves. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { CLUSTER_START_TIMEOUT_MS, LEAVING_REPEAT_MS } from '../limits.ts';
import type { Hub } from '../link/hub.ts';
import type { Log } from '../log.ts';
import type { Peers, TunnelNews } from '../tunnels/peers.ts';
import type { CreateLimiter, Rate } from '../rate-limiter.ts';
import type { Follower } from '../tunnels/follower.ts';
import { HopDialer } from './hop/hop-dialer.ts';
import { HopListener } from './hop/hop-listener.ts';
import type { TakeHop } from './hop/hop-receiver.ts';
import { Membership } from './membership.ts';
import { ALL_CHANNEL, channelOf, MISSED, readNews, writeLeaving, writeNews } from './news.ts';
import { Pulse } from './pulse.ts';
import { RedisLink } from './redis-link.ts';
import { RedisPresence } from './redis-presence.ts';
import { SharedRateLimiter } from './shared-rate-limiter.ts';
import { forgiving, Upkeep } from './upkeep.ts';

export interface ClusterSettings {
  /** `redis://` or `rediss://` */
  readonly redisUrl: string;
  /** address of the internal listener, where other relays reach this one */
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** known to the relays of the cluster alone */
  readonly secret: string;
}

/** The parts of the relay that hear of others. */
export interface ClusterParts {
  readonly hub: Pick<Hub, 'announceFor' | 'cameElsewhere' | 'leftElsewhere' | 'leavesHop' | 'resume'>;
  readonly tunnels: Pick<Follower, 'hear' | 'review'>;
  /** Takes a data socket that landed on another relay. */
  readonly openHop: TakeHop;
}

export class Cluster implements Peers {
  readonly presence: RedisPresence;
  readonly hops: HopDialer;
  readonly #redis: RedisLink;
  readonly #listener: HopListener;
  readonly #membership: Membership;
  readonly #pulse: Pulse;
  readonly #upkeep: Upkeep;
  readonly #log: Log;
  /** Whether others were not told of something. */
  #owesNews = false;

  private constructor(
    redis: RedisLink,
    listener: HopListener,
    own: { readonly host: string; readonly incarnation: string },
    secret: string,
    clock: Clock,
    log: Log,
  ) {
    this.#redis = redis;
    this.#listener = listener;
    this.#membership = new Membership(redis, { ...own, port: listener.port }, secret, log);
    this.#pulse = new Pulse(clock);
    this.presence = new RedisPresence(redis, this.#membership, this.#pulse, secret, clock);
    this.#upkeep = new Upkeep(redis, this.#membership, this.presence, clock);
    this.hops = new HopDialer(this.#membership, own.incarnation, secret);
    this.#log = log;
  }

  /** @throws Error when the address of the internal listener cannot be bound */
  static async join(settings: ClusterSettings, clock: Clock, log: Log): Promise<Cluster> {
    const { redisUrl, host, port, secret } = settings;
    const incarnation = randomBytes(8).toString('hex');
    const listener = await HopListener.start({ host, port }, incarnation, secret);
    const redis = await RedisLink.open(redisUrl, [channelOf(incarnation), ALL_CHANNEL], log);
    return new Cluster(redis, listener, { host, incarnation }, secret, clock, log);
  }

  /** Limits over all relays what `local` limits on this one. */
  limit(local: CreateLimiter, rate: Rate): CreateLimiter {
    return new SharedRateLimiter(this.#redis, local, rate);
  }

  tell(news: TunnelNews): void {
    this.#redis.publish(ALL_CHANNEL, writeNews(news));
  }

  /**
   * Takes its place. Redis need not be there; the relay does without it until it is.
   *
   * @throws StrangerError when relays with another secret are there
   */
  async start(parts: ClusterParts): Promise<void> {
    this.#listener.onHop = parts.openHop;
    this.#redis.onUnsent = () => (this.#owesNews = true);
    this.#redis.onMessage = (_channel, text) => this.#hear(parts, text);
    this.#pulse.onLeap = (ms) => this.#checkLeap(ms);
    this.#pulse.onSteady = () => parts.hub.resume();
    this.#upkeep.onDown = () => parts.tunnels.review();
    const joined = new Promise<void>((resolve) => {
      this.#redis.onUp = () => void this.#cameUp(parts).then(resolve);
    });
    if (this.#redis.isUp) this.#redis.onUp();
    await Promise.race([joined, sleep(CLUSTER_START_TIMEOUT_MS, undefined, { ref: false })]);
    if (this.#membership.refusal !== undefined) throw this.#membership.refusal;
    this.#pulse.start();
    this.#upkeep.start();
  }

  /** Whether there are other relays now that do not shut down, as far as this one knows. */
  get hasOthers(): boolean {
    return this.#membership.hasOthers;
  }

  /** Tells the others that this relay shuts down: nobody can be handed over to it any more. */
  sayLeaving(): void {
    this.#redis.publish(ALL_CHANNEL, writeLeaving(this.#membership.incarnation));
  }

  /**
   * Fulfilled when no data socket passes through this relay any more. The others are asked, again and again, to put none
   * of them to another use.
   */
  async settle(): Promise<void> {
    while (this.hops.open > 0) {
      this.sayLeaving();
      await sleep(LEAVING_REPEAT_MS, undefined, { ref: false });
    }
  }

  async stop(): Promise<void> {
    this.#upkeep.stop();
    this.#pulse.stop();
    await forgiving(this.#membership.leave());
    this.#redis.close();
    this.hops.close();
    this.#listener.close();
  }

  #hear({ hub, tunnels }: ClusterParts, text: string): void {
    const news = readNews(text);
    switch (news?.kind) {
      case undefined:
        return;
      case 'announce':
        return hub.announceFor(news.tunnelId, news.connectionId);
      case 'replaced':
        return this.presence.replaced(news.tunnelId, news.fence);
      case 'online':
        return hub.cameElsewhere(news.tunnelId, news.fence);
      case 'offline':
        return hub.leftElsewhere(news.tunnelId, news.code);
      case 'relay':
        return this.#membership.meet(news);
      case 'leaving':
        this.#membership.part(news.incarnation);
        return hub.leavesHop(news.incarnation);
      case 'missed':
        return tunnels.review();
      case 'created':
      case 'extended':
      case 'ended':
        return tunnels.hear(news);
    }
  }

  /** Redis may have lost everything, and news were missed in any case. */
  async #cameUp({ tunnels, hub }: ClusterParts): Promise<void> {
    await this.#upkeep.tellAll();
    hub.resume();
    tunnels.review();
    if (!this.#owesNews) return;
    this.#owesNews = false;
    this.#redis.publish(ALL_CHANNEL, MISSED);
  }

  /** Others may have taken over what this relay holds. */
  async #checkLeap(ms: number): Promise<void> {
    this.#log('relay was paused', { ms: Math.round(ms) });
    await this.#upkeep.checkLeap();
  }
}
