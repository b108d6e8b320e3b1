/**
 * A member of a cluster of relays (docs/decisions/0009-cluster.md): joins, keeps its membership, and
 * leaves.
 */
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TrunkStream } from '../../shared/trunk/trunk-stream.ts';
import type { Forwarder, HopRequest } from '../clients/ownership.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { REGISTRATION_SECONDS, type Registrations, REGISTRATIONS_MAX } from '../oauth/registrations.ts';
import type { CreateLimiter, Limit, Rate } from '../rate-limiter.ts';
import { type Counts, NO_COUNTS } from '../shared-counts.ts';
import type { DomainNews, TellPeers, TunnelNews } from '../tunnels/lifecycle.ts';
import { ClusterForwarder } from './forwarder.ts';
import { HopDialer } from './hop/hop-dialer.ts';
import { HopListener } from './hop/hop-listener.ts';
import { Membership } from './members.ts';
import {
  ALL_CHANNEL,
  channelOf,
  NewsSeal,
  ChangeNotifier,
  readNews,
  type RelayNews,
} from './notifications.ts';
import { forgiving, RedisOwnership, OwnershipRenewal } from './ownership.ts';
import type { PeeredParts, Peering } from './peering.ts';
import {
  type ClusterLink,
  type OpenLink,
  type RedisCommands,
  RedisError,
  RedisLink,
} from './redis-client.ts';
import { APPROVE, GIVE_BACK, IS_OUT, IS_REGISTERED, REGISTER, type Script, TAKE } from './scripts.ts';

/**
 * How long a relay waits for Redis at startup, so that a relay that reports that it listens is part of the
 * cluster.
 */
const CLUSTER_START_TIMEOUT_MS = 5000;
/**
 * Milliseconds between two reminders to other relays not to use streams that pass through a relay that is shutting down.
 */
const LEAVING_REPEAT_MS = 500;

export interface ClusterSettings {
  /** `redis://` or `rediss://` */
  readonly redisUrl: string;
  /** address of the internal listener, for connections from other relays */
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** known only to the relays of the cluster */
  readonly secret: string;
}

interface ClusterDeps {
  readonly redis: ClusterLink;
  readonly listener: HopListener;
  /** where other relays reach the listener */
  readonly host: string;
  /** identifies this run of the relay */
  readonly incarnation: string;
  readonly secret: string;
  readonly clock: Clock;
  readonly log: Log;
}

export class Cluster implements Peering {
  readonly ownership: RedisOwnership;
  readonly forwarder: Forwarder;
  readonly #redis: ClusterLink;
  readonly #listener: HopListener;
  readonly #hops: HopDialer;
  readonly #membership: Membership;
  readonly #pulse: ChangeNotifier;
  readonly #renewal: OwnershipRenewal;
  readonly #seal: NewsSeal;
  readonly #log: Log;
  /** The parts that are notified about other relays, once they exist. */
  #parts: PeeredParts | undefined;
  /** Fulfilled once Redis has been reached for the first time after the start. */
  readonly #joined = Promise.withResolvers<void>();
  /** Whether other relays have missed a notification. */
  #owesNews = false;

  private constructor({ redis, listener, host, incarnation, secret, clock, log }: ClusterDeps) {
    this.#redis = redis;
    this.#listener = listener;
    this.#membership = new Membership(redis, { host, incarnation, port: listener.port }, secret, log);
    this.#pulse = new ChangeNotifier(clock, {
      leapt: (ms) => this.#checkLeap(ms),
      steady: () => this.#parts?.hub.resume(),
    });
    const membership = this.#membership;
    const seal = new NewsSeal(incarnation, secret);
    this.#seal = seal;
    this.ownership = new RedisOwnership({ redis, membership, pulse: this.#pulse, secret, seal, clock });
    const onDown = (): void => this.#parts?.tunnels.review();
    this.#renewal = new OwnershipRenewal({ redis, membership, ownership: this.ownership, clock, onDown });
    this.#hops = new HopDialer(incarnation, secret);
    const { ownership } = this;
    this.forwarder = new ClusterForwarder({ ownership, membership, hops: this.#hops, secret });
    this.#log = log;
  }

  /**
   * @param open connects to what its members know together
   * @throws Error if the address of the internal listener cannot be bound
   */
  static async join(
    settings: ClusterSettings,
    clock: Clock,
    log: Log,
    open: OpenLink = (options) => RedisLink.open(options),
  ): Promise<Cluster> {
    const { redisUrl, host, port, secret } = settings;
    const incarnation = randomBytes(8).toString('hex');
    // Events may arrive before everything is assembled; nothing waits for them until then.
    let cluster: Cluster | undefined = undefined;
    const tell = (what: (cluster: Cluster) => void): void => {
      if (cluster !== undefined) what(cluster);
    };
    const listener = await HopListener.start({
      host,
      port,
      incarnation,
      secret,
      take: {
        upgrade: (request, socket) =>
          cluster === undefined ? socket.destroy() : cluster.#take(request, socket),
        visit: (tunnelId, stream, peers) =>
          cluster === undefined ? stream.destroy() : cluster.#serveVisit(tunnelId, stream, peers),
      },
    });
    const redis = await open({
      url: redisUrl,
      incarnation,
      channels: [channelOf(incarnation), ALL_CHANNEL],
      log,
      onUp: () => tell((it) => void it.#cameUp()),
      onMessage: (text) => tell((it) => it.#hear(text)),
      onUnsent: () => tell((it) => it.#owe()),
    });
    cluster = new Cluster({ redis, listener, host, incarnation, secret, clock, log });
    return cluster;
  }

  /** Notifies them through Redis. */
  readonly tellPeers: TellPeers<TunnelNews | DomainNews> = (news) => this.#tellAll(news);

  counts: Counts = NO_COUNTS;
  heard: () => Promise<void> = () => Promise.resolve();

  readonly limit: Limit = (local, rate, kind) => new SharedRateLimiter(this.#redis, local, rate, kind);

  readonly registrations = (local: Registrations): Registrations => sharedRegistrations(this.#redis, local);

  /** Redis may be unreachable; the relay works without it until then. */
  async start(parts: PeeredParts): Promise<void> {
    this.#parts = parts;
    if (this.#redis.isUp) void this.#cameUp();
    await Promise.race([this.#joined.promise, sleep(CLUSTER_START_TIMEOUT_MS, undefined, { ref: false })]);
    if (this.#membership.refusal !== undefined) throw this.#membership.refusal;
    this.#pulse.start();
    this.#renewal.start();
  }

  get hasOthers(): boolean {
    return this.#membership.hasOthers;
  }

  sayLeaving(): void {
    this.#tellAll({ kind: 'leaving', incarnation: this.#membership.incarnation });
  }

  /** Other relays are repeatedly asked to reuse nothing of what passes through it. */
  async settle(): Promise<void> {
    while (this.#hops.open > 0 || (this.#parts?.hub.forwarded ?? 0) > 0) {
      this.sayLeaving();
      await sleep(LEAVING_REPEAT_MS, undefined, { ref: false });
    }
  }

  async stop(): Promise<void> {
    this.#renewal.stop();
    this.#pulse.stop();
    await forgiving(this.#membership.leave());
    this.#redis.close();
    this.#hops.close();
    this.#listener.close();
  }

  /** A data socket or a trunk has arrived on another relay. It is refused until the parts exist. */
  #take(request: HopRequest, socket: Duplex): void {
    if (this.#parts === undefined) socket.destroy();
    else this.#parts.openHop(request, socket);
  }

  /** A visitor has arrived on another relay, which looks again if this one is not ready. */
  #serveVisit(tunnelId: string, stream: TrunkStream, peers: string): void {
    if (this.#parts === undefined) stream.destroy();
    else this.#parts.hub.serveVisit(tunnelId, stream, peers);
  }

  #tellAll(news: RelayNews): void {
    this.#redis.publish(ALL_CHANNEL, this.#seal.seal(news));
  }

  /** A notification could not be sent to the other relays. */
  #owe(): void {
    this.#owesNews = true;
  }

  #hear(text: string): void {
    if (this.#parts === undefined) return;
    const { hub, tunnels, domains } = this.#parts;
    const news = readNews(text, this.#seal);
    switch (news?.kind) {
      case undefined:
        return;
      case 'problem':
        return hub.get(news.tunnelId)?.control?.tellProblem(news.problem);
      case 'replaced':
        return this.ownership.replaced(news.tunnelId, news.fence);
      case 'online':
        return hub.get(news.tunnelId)?.cameElsewhere(news.relay);
      case 'offline':
        return hub.get(news.tunnelId)?.leftElsewhere();
      case 'relay':
        return this.#membership.meet(news);
      case 'leaving':
        this.#membership.part(news.incarnation);
        return hub.leavesHop(news.incarnation);
      case 'missed':
        domains.review();
        return tunnels.review();
      case 'domain':
        return void domains.follow(news.domain);
      case 'created':
      case 'created-tcp':
      case 'access':
      case 'extended':
      case 'ended':
        return tunnels.hear(news);
    }
  }

  /** Redis may have lost everything, and notifications were certainly missed. */
  async #cameUp(): Promise<void> {
    if (this.#parts === undefined) return;
    const { tunnels, domains, hub } = this.#parts;
    await this.#renewal.tellAll();
    hub.resume();
    domains.review();
    tunnels.review();
    this.#joined.resolve();
    if (!this.#owesNews) return;
    this.#owesNews = false;
    this.#tellAll({ kind: 'missed' });
  }

  /** Other relays may have taken over tunnels of this relay. */
  async #checkLeap(ms: number): Promise<void> {
    this.#log('relay was paused', { ms: Math.round(ms) });
    await this.#renewal.checkLeap();
  }
}

/* Token buckets shared by all relays; local ones while Redis is unreachable. */

export class SharedRateLimiter implements CreateLimiter {
  readonly #redis: RedisCommands;
  readonly #local: CreateLimiter;
  readonly #rate: Rate;
  readonly #kind: string;

  /**
   * @param local limits on this relay only
   * @param kind see {@link Limit}
   */
  constructor(redis: RedisCommands, local: CreateLimiter, rate: Rate, kind?: string) {
    this.#redis = redis;
    this.#local = local;
    this.#rate = rate;
    this.#kind = kind === undefined ? '' : `${kind} `;
  }

  async take(account: string): Promise<number> {
    const here = async () => 1000 * (await this.#local.take(account));
    return Math.ceil(Number(await runOr(here, this.#redis, TAKE, ...this.#bucket(account))) / 1000);
  }

  async giveBack(account: string): Promise<void> {
    await runOr(() => this.#local.giveBack(account), this.#redis, GIVE_BACK, ...this.#bucket(account));
  }

  async isOut(account: string): Promise<boolean> {
    const here = async () => Number(await this.#local.isOut(account));
    return (await runOr(here, this.#redis, IS_OUT, ...this.#bucket(account))) === 1;
  }

  #bucket(account: string): [account: string, burst: number, intervalMs: number] {
    return [this.#kind + account, this.#rate.burst, 60_000 / this.#rate.perMinute];
  }
}

/* Registered clients that all relays know; its own list while Redis is unreachable. */

function sharedRegistrations(redis: RedisCommands, local: Registrations): Registrations {
  return {
    add: async (serial) =>
      String(
        await runOr(
          () => local.add(serial),
          redis,
          REGISTER,
          serial,
          REGISTRATIONS_MAX,
          REGISTRATION_SECONDS,
        ),
      ),
    approve: async (serial) => void (await runOr(() => local.approve(serial), redis, APPROVE, serial)),
    has: async (list, serial) => {
      const here = async () => Number(await local.has(list, serial));
      return (await runOr(here, redis, IS_REGISTERED, list, serial)) === 1;
    },
  };
}

/** @param here is called instead if Redis is unreachable */
async function runOr(
  here: () => unknown,
  redis: RedisCommands,
  script: Script,
  ...args: readonly (string | number)[]
): Promise<unknown> {
  try {
    return await redis.run(script, ...args);
  } catch (error) {
    if (!(error instanceof RedisError)) throw error;
    return await here();
  }
}
