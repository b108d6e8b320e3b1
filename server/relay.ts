/** The composition root: builds the relay's parts, connects them, starts and stops them. */
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { CloseCode } from '../shared/control.ts';
import { API_ERRORS, ApiError } from '../shared/errors.ts';
import { PolledAccessFeed } from './accounts/access-feed.ts';
import { AccessWatch } from './accounts/access-watch.ts';
import { Authenticator } from './accounts/authenticator.ts';
import { ensureKey } from './accounts/bootstrap.ts';
import { createApi } from './api/app.ts';
import { systemClock as clock } from './clock.ts';
import { type Config, publicUrlOf, schemeOf } from './config.ts';
import { HostResolver } from './edge/authority.ts';
import { InProcessApi } from './edge/api-origin.ts';
import { Edge } from './edge/edge.ts';
import { boundPort, listen } from './edge/listen.ts';
import { Origins } from './edge/origins.ts';
import { Cluster } from './cluster/cluster.ts';
import type { HopRequest, UpgradeToPass } from './cluster/hop.ts';
import { upgradeRefusal } from './edge/answers.ts';
import { Hub } from './link/hub.ts';
import { Upgrades } from './link/upgrades.ts';
import { errorFields, type Log } from './log.ts';
import { CLIENT_SOCKETS_MAX, CREATE_BURST, CREATES_PER_MINUTE, NEWCOMERS_MAX } from './limits.ts';
import { LoopWatch } from './observe/loop-watch.ts';
import type { Census } from './observe/metrics.ts';
import { type MetricsAddress, MetricsServer } from './observe/metrics-server.ts';
import { observeStore } from './observe/observed-store.ts';
import { REQUEST_ID_FIELD } from './observe/request-id.ts';
import { lockDatabase } from './store/lock-database.ts';
import { openStore } from './store/open-store.ts';
import { tunnelFields } from './tunnels/live-tunnel.ts';
import type { EndReason } from './tunnels/peers.ts';
import { RateLimiter } from './tunnels/rate-limiter.ts';
import { TunnelRegistry } from './tunnels/registry.ts';
import { TunnelService } from './tunnels/tunnel-service.ts';

export interface RunningRelay {
  /** where it listens */
  readonly url: string;
  /** Lets open connections finish for up to `deadlineMs`, stores the last counters, and ends. */
  stop(deadlineMs: number): Promise<void>;
  /** Cuts everything at once. */
  abort(): void;
  /** Looks for a renewed certificate now; `undefined` without TLS. */
  readonly reload: (() => void) | undefined;
}

/** Whom the relay tells what happens. */
export interface Operator {
  readonly log: Log;
  /** Says on a line outside the log what may stand in none: a key. */
  tell(line: string): void;
}

/** What the control socket of an ended tunnel is closed with (contract.md, WebSockets). */
const END_CODES: Readonly<Record<EndReason, number>> = {
  closed: CloseCode.tunnelClosed,
  expired: CloseCode.tunnelExpired,
  // The keys went with the account, and its client has to sign in elsewhere.
  removed: CloseCode.keyRevoked,
};

/** @throws Error with a text for the operator when the database cannot be opened or the address cannot be bound */
export async function startRelay(config: Config, operator: Operator): Promise<RunningRelay> {
  const { log } = operator;
  const lock = await lockDatabase(config.database, config.cluster === undefined ? 'one' : 'cluster', log);
  const store = observeStore(await openStore(config.database, log), clock, log);
  const firstKey = await ensureKey(store, clock, config.bootstrapKey);
  if (firstKey !== undefined) {
    log('first key made', { account: 'default' });
    operator.tell(`API key for the account "default", shown only now: ${firstKey}`);
  }
  const registry = new TunnelRegistry(config.reservedNames);
  const cluster = config.cluster && (await Cluster.join(config.cluster, clock, log));
  const { nameHold } = config;
  const tunnels = new TunnelService({ store, registry, clock, log, ttl: config, nameHold, peers: cluster });
  const hub = new Hub(clock, config.warmSockets, cluster?.presence);
  tunnels.onEnd = (tunnel, reason) => hub.end(tunnel, END_CODES[reason]);
  hub.onOnline = (tunnel) => log('client online', tunnelFields(tunnel));
  hub.onMoved = (tunnel) => log('tunnel moved', tunnelFields(tunnel));
  hub.onOffline = (tunnel, code) => log('client offline', { ...tunnelFields(tunnel), code });
  await tunnels.start();
  for (const tunnel of registry.all()) hub.expect(tunnel);

  const unexpected = (error: unknown) => {
    const request_id = randomUUID();
    log('internal error', { request_id, at: 'connection', ...errorFields(error) });
    return new ApiError(API_ERRORS.internal, { [REQUEST_ID_FIELD]: request_id });
  };
  const authenticator = new Authenticator(store);
  const elsewhere = cluster && {
    dial: (request: UpgradeToPass) => cluster.hops.dial(request),
    followTunnel: (id: string) => tunnels.followTunnel(id),
  };
  const upgrades = new Upgrades(hub, registry, authenticator, clock, CLIENT_SOCKETS_MAX, elsewhere);
  // Before anybody comes: what waits here is found from other relays only under a number of its own.
  await cluster?.start({ hub, tunnels: tunnels.follower, openHop });
  const { server, certificate } = await listen(config, log);
  const publicUrl = publicUrlOf(config, boundPort(server));
  const rate = { perMinute: CREATES_PER_MINUTE, burst: CREATE_BURST };
  const ownCreates = new RateLimiter(clock, rate);
  let draining = false;
  const api = createApi(
    {
      authenticator,
      tunnels,
      store,
      creates: cluster?.limit(ownCreates, rate) ?? ownCreates,
      ttl: config,
      addresses: { publicUrl, tunnelDomain: config.tunnelDomain, serviceDomain: config.serviceDomain },
      clock,
      isDraining: () => draining,
    },
    log,
  );
  const origins = new Origins({
    context: {
      hosts: new HostResolver({
        own: publicUrl.hostname,
        tunnel: config.tunnelDomain,
        service: config.serviceDomain,
      }),
      tunnels: {
        bySlug: (slug) => registry.bySlug(slug),
        find: cluster && ((slug) => tunnels.follower.find(slug)),
      },
      trustedProxies: config.trustedProxies,
    },
    dialer: hub,
    api: new InProcessApi(api),
    endpoints: upgrades,
    now: () => clock.monotonic(),
    unexpected,
  });
  const edge = new Edge(server, origins, { visitors: config.maxConnections, newcomers: NEWCOMERS_MAX });
  const census = {
    tunnels: () => registry.size,
    links: () => hub.census(),
    visitors: () => edge.visitors,
  };
  const metrics = config.metrics && (await startMetrics(config.metrics, census, log));
  const loopWatch = new LoopWatch(clock, log);
  loopWatch.start();
  hub.start();
  const access = new PolledAccessFeed(store, clock);
  access.start(new AccessWatch(store, hub, tunnels, log).follow);

  async function stop(deadlineMs: number): Promise<void> {
    draining = true;
    await Promise.race([drain(), new Promise((resolve) => setTimeout(resolve, deadlineMs).unref())]);
    edge.destroy();
    certificate?.stop();
    await cluster?.stop();
    await access.stop();
    await tunnels.stop();
    await store.close();
    lock.release();
    loopWatch.stop();
    metrics?.close();
  }

  /**
   * Clients are let go only when no visitor needs an announcement any more, or when another relay has them: until then they
   * are needed.
   */
  async function drain(): Promise<void> {
    hub.askToMove();
    if (cluster?.hasOthers === true) {
      await edge.handOver();
      await hub.moved();
    } else {
      await edge.settle();
    }
    hub.drain();
    await Promise.all([edge.empty(), cluster?.settle()]);
  }

  /** A refusal goes back the way the request came. */
  function openHop(request: HopRequest, socket: Socket, head: Buffer): void {
    upgrades.openHop(request, socket, head).catch((error: unknown) => {
      const refusal = error instanceof ApiError ? error : unexpected(error);
      socket.end(upgradeRefusal(refusal, { close: true }));
    });
  }

  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  return {
    url: `${schemeOf(config)}://${host}:${boundPort(server)}`,
    stop,
    abort: () => edge.destroy(),
    reload: certificate && (() => void certificate.reload()),
  };
}

/** The library that writes metrics takes some 20 MB: it is loaded only where somebody asked for them. */
async function startMetrics(address: MetricsAddress, census: Census, log: Log): Promise<MetricsServer> {
  const { createMetrics } = await import('./observe/metrics.ts');
  return await MetricsServer.start(address, createMetrics(census), log);
}
