/** One relay of several that serve as one (docs/decisions/0009-cluster.md): joins, keeps its place, and leaves. */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock, Timer } from '../clock.ts';
import type { Hub } from '../link/hub.ts';
import type { Log } from '../log.ts';
import type { Peers, TunnelNews } from '../tunnels/peers.ts';
import type { CreateLimiter, Rate } from '../tunnels/rate-limiter.ts';
import type { Follower } from '../tunnels/follower.ts';
import type { HopRequest } from './hop.ts';
import { HopDialer } from './hop-dialer.ts';
import { HopListener } from './hop-listener.ts';
import { Membership } from './membership.ts';
import { ALL_CHANNEL, channelOf, readNews, writeLeaving, writeNews } from './news.ts';
import { Pulse } from './pulse.ts';
import { RedisError, RedisLink } from './redis-link.ts';
import { RedisPresence } from './redis-presence.ts';
import { SharedRateLimiter } from './shared-rate-limiter.ts';

/** ms a start waits for Redis, so that a relay that says it listens is one of the cluster. */
const START_MS = 5000;
/** ms between two looks at what is to be done next. */
const TICK_MS = 500;
/** ms between two renewals of the lease, so that two may fail. */
const RENEW_MS = 3000;
/** ms between two times of telling Redis everything. */
const REPEAT_MS = 5 * 60_000;
/** ms between two times of telling the others that this relay shuts down, while data sockets pass through it. */
const LEAVING_MS = 500;
/** ms for which a relay that was paused tries to find out what has moved, and between two tries. */
const LEAP_CHECK_MS = 5000;
const LEAP_RETRY_MS = 100;

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
  readonly openHop: (request: HopRequest, socket: Socket, head: Buffer) => void;
}

export class Cluster implements Peers {
  readonly presence: RedisPresence;
  readonly hops: HopDialer;
  readonly #redis: RedisLink;
  readonly #listener: HopListener;
  readonly #membership: Membership;
  readonly #pulse: Pulse;
  readonly #clock: Clock;
  readonly #log: Log;
  #timer: Timer | undefined;
  #renewAt = 0;
  #tellAt = 0;

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
    this.#membership = new Membership(redis, { ...own, port: listener.port }, log);
    this.#pulse = new Pulse(clock);
    this.presence = new RedisPresence(redis, this.#membership, this.#pulse, clock);
    this.hops = new HopDialer(this.#membership, own.incarnation, secret);
    this.#clock = clock;
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

  /** Takes its place. Redis need not be there; the relay does without it until it is. */
  async start(parts: ClusterParts): Promise<void> {
    this.#listener.onHop = parts.openHop;
    this.#redis.onMessage = (_channel, text) => this.#hear(parts, text);
    this.#pulse.onLeap = (ms) => this.#checkLeap(ms);
    this.#pulse.onSteady = () => parts.hub.resume();
    const joined = new Promise<void>((resolve) => {
      this.#redis.onUp = () => void this.#cameUp(parts).then(resolve);
    });
    if (this.#redis.isUp) this.#redis.onUp();
    await Promise.race([joined, sleep(START_MS, undefined, { ref: false })]);
    this.#pulse.start();
    this.#tick(parts);
  }

  /** Whether there are other relays now, as far as this one knows. */
  get hasOthers(): boolean {
    return this.#membership.hasOthers;
  }

  /**
   * Fulfilled when no data socket passes through this relay any more. The others are asked, again and again, to put none
   * of them to another use.
   */
  async settle(): Promise<void> {
    while (this.hops.open > 0) {
      this.#redis.publish(ALL_CHANNEL, writeLeaving(this.#membership.incarnation));
      await sleep(LEAVING_MS, undefined, { ref: false });
    }
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#pulse.stop();
    await forgiving(this.#membership.leave());
    this.#redis.close();
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
        return hub.cameElsewhere(news.tunnelId);
      case 'offline':
        return hub.leftElsewhere(news.tunnelId);
      case 'relay':
        return this.#membership.meet(news);
      case 'leaving':
        return hub.leavesHop(news.incarnation);
      case 'created':
      case 'extended':
      case 'ended':
        return tunnels.hear(news);
    }
  }

  /** Redis may have lost everything, and news were missed in any case. */
  async #cameUp({ tunnels, hub }: ClusterParts): Promise<void> {
    await forgiving(this.#tellAll());
    hub.resume();
    tunnels.review();
  }

  #tick(parts: ClusterParts): void {
    this.#timer = this.#clock.setTimeout(() => void this.#work(parts), TICK_MS);
  }

  async #work(parts: ClusterParts): Promise<void> {
    const now = this.#clock.monotonic();
    if (!this.#redis.isUp) parts.tunnels.review();
    else if (now >= this.#tellAt) await forgiving(this.#tellAll());
    else if (now >= this.#renewAt) await forgiving(this.#renew());
    if (this.#timer !== undefined) this.#tick(parts);
  }

  async #renew(): Promise<void> {
    const wasDead = await this.#membership.renew();
    this.#renewAt = this.#clock.monotonic() + RENEW_MS;
    if (wasDead) await this.presence.tellAll();
  }

  async #tellAll(): Promise<void> {
    await this.#membership.renew();
    await this.presence.tellAll();
    const now = this.#clock.monotonic();
    this.#renewAt = now + RENEW_MS;
    this.#tellAt = now + REPEAT_MS;
  }

  /** Finds out what others have taken over. Where Redis stays away, what is held here is used as before. */
  async #checkLeap(ms: number): Promise<void> {
    this.#log('relay was paused', { ms: Math.round(ms) });
    const until = this.#clock.monotonic() + LEAP_CHECK_MS;
    while (this.#clock.monotonic() < until) {
      try {
        return await this.#tellAll();
      } catch (error) {
        if (!(error instanceof RedisError)) throw error;
        await sleep(LEAP_RETRY_MS);
      }
    }
  }
}

/** Waits for what is tried again anyway where Redis fails. */
async function forgiving(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof RedisError)) throw error;
  }
}
