/** The composition root: builds the relay's parts (relay/), connects them, starts and stops them. */
import type { Duplex } from 'node:stream';
import { ApiError } from '../shared/errors.ts';
import { IdentityProvider } from './access/identity-provider.ts';
import { PasswordHashes } from './access/password-hashes.ts';
import { AccessWatch, Authenticator, KeyUses, PolledAccessFeed } from './accounts/authenticator.ts';
import type { Hub } from './clients/hub.ts';
import type { HopRequest } from './clients/ownership.ts';
import { CLIENT_SOCKETS_MAX, Upgrades } from './clients/upgrades.ts';
import { systemClock as clock } from './clock.ts';
import { Cluster } from './cluster/cluster.ts';
import { type Peering, STANDALONE } from './cluster/peering.ts';
import { type Config, publicUrlOf } from './config.ts';
import { upgradeRefusal } from './edge/builtin-responses.ts';
import type { Edge } from './edge/edge.ts';
import type { CertificateWatch } from './edge/listener.ts';
import type { Replaceable, Successor } from './handoff/give.ts';
import { handoffSocketPath } from './handoff/handoff-socket.ts';
import type { Takeover } from './handoff/take.ts';
import { Listeners } from './listeners.ts';
import { errorFields, type Log } from './log.ts';
import { type Operator, reportTo } from './observe/logger.ts';
import { StallDetector } from './observe/loop-watch.ts';
import { startMetrics } from './observe/metrics-server.ts';
import { openCertificates } from './relay/certificates-setup.ts';
import { setUpEdge } from './relay/edge-setup.ts';
import { addressOf, beReplaceable, takeOver } from './relay/handoff-setup.ts';
import { providerSettings } from './relay/provider-setup.ts';
import { openState, type State, storePublicOrigin } from './relay/state-setup.ts';
import { type Domains, openDomains, startTunnels } from './relay/tunnels-setup.ts';
import type { EndReason } from './tunnels/lifecycle.ts';
import type { LiveTunnel } from './tunnels/live-tunnel.ts';
import type { TunnelService } from './tunnels/tunnel-service.ts';
import type { Issued } from './workers/messages.ts';
import type { PrimaryLink } from './workers/primary-link.ts';

export type RunningRelay = Omit<
  WorkerRelay,
  'gauges' | 'followed' | 'readAccess' | 'followAccess' | 'followCertificate' | 'turnAway' | 'replaceable'
>;

/** One of the processes of a relay that has several. */
export type WorkerRelay = Awaited<ReturnType<typeof startWorkerRelay>>;

/**
 * @param replaces whether to take over from a running relay on the same data folder and port, if there is one
 * @throws Error with a text for the operator if the database cannot be opened, the address cannot be bound, or the
 *   other relay continues
 */
export async function startRelay(
  config: Config,
  operator: Operator,
  replaces: boolean,
): Promise<RunningRelay> {
  const takeover = replaces ? await takeOver(config, operator.log) : undefined;
  try {
    if (config.workers > 1) {
      const { startPrimary } = await import('./workers/primary.ts');
      return await startPrimary(config, operator, takeover);
    }
    return await startParts(config, operator, takeover);
  } catch (error) {
    takeover?.abandon();
    throw error;
  }
}

/**
 * Starts a process of a relay that has several; `operator.primary` has what they share.
 *
 * @throws Error with a text for the operator if the address cannot be bound
 */
export async function startWorkerRelay(config: Config, operator: Operator) {
  return await startParts(config, operator, operator.primary?.takeover);
}

/** What the relay shares its tunnels with, if anything. */
async function join({ cluster }: Config, { log, primary }: Operator): Promise<Peering> {
  if (primary !== undefined) {
    const settings = { redisUrl: '', host: '127.0.0.1', port: 0, secret: primary.secret };
    const workers = await Cluster.join(settings, clock, log, primary.openBoard);
    workers.counts = primary.counts;
    workers.heard = () => primary.heard();
    return workers;
  }
  return cluster === undefined ? STANDALONE : await Cluster.join(cluster, clock, log);
}

async function startParts(config: Config, operator: Operator, takeover: Takeover | undefined) {
  const { log, primary } = operator;
  const unexpected = reportTo(log);
  const listeners = new Listeners(takeover?.listeners ?? operator.listeners, primary?.lend);
  const state = await openState(config, operator, takeover !== undefined);
  const { store } = state;
  const peering = await join(config, operator);
  const hashes = new PasswordHashes();
  const provider =
    config.oidc && new IdentityProvider({ ...(await providerSettings(config.oidc)), clock, log });
  /** There are no visitors before the edge exists. */
  const inside: { edge?: Edge; certificate?: CertificateWatch } = {};
  const onAccess = (tunnel: LiveTunnel): void => {
    inside.edge?.review(tunnel);
    takeover?.tellAccess(tunnel.id);
  };
  const onEnd = (tunnel: LiveTunnel, reason: EndReason): void => takeover?.tellEnded(tunnel.id, reason);
  const missed = await takeover?.move();
  if (takeover !== undefined) await state.lock();
  const tunnels = await startTunnels(config, {
    store,
    peering,
    log,
    onAccess,
    onEnd,
    missed: missed && new Map(missed.map(({ tunnelId, awayMs }) => [tunnelId, awayMs])),
  });
  const { registry, service, hub, ports } = tunnels;
  const domains = await openDomains(config, { store, tunnels, peering, log });
  const keyUses = new KeyUses(store, clock);
  const authenticator = new Authenticator(store, clock, keyUses, peering.limit);
  const upgrades = new Upgrades({
    hub,
    registry,
    authenticator,
    clock,
    maxSockets: CLIENT_SOCKETS_MAX,
    coordination: service.coordination,
    forwarder: peering.forwarder,
  });
  // Before the first visitors: other relays can only find connections that wait here once it has its own number.
  await peering.start({ hub, tunnels: service.coordination, domains: domains.verified, openHop });
  const alone = peering === STANDALONE && takeover === undefined;
  const { names, verified } = domains;
  const certificates = await openCertificates(config, {
    store,
    log,
    names,
    verified,
    listeners,
    alone,
    renews: primary?.renews ?? true,
    counts: peering.counts,
  });
  const gauges = {
    tunnels: () => registry.size,
    links: () => hub.gauges(),
    visitors: () => inside.edge?.visitors ?? 0,
    certificates: () => ({
      stored: certificates?.size ?? 0,
      waiting: certificates?.waits ?? 0,
      ownSecondsLeft: certificates ? (certificates.ownSecondsLeft ?? 0) : inside.certificate?.secondsLeft,
    }),
  };
  // Before the edge: after that, a relay that takes over from another must not fail.
  const metrics =
    primary === undefined && config.metrics
      ? await startMetrics(config.metrics, gauges, log, listeners)
      : undefined;
  const entrance = await setUpEdge(
    config,
    {
      store,
      tunnels,
      domains,
      authenticator,
      hashes,
      provider,
      upgrades,
      peering,
      unexpected,
      guide: certificates?.handshakes,
      ownPair: certificates?.ownPair,
      isNamed: (name) => names.isNamed(name),
    },
    operator,
    async (server) => {
      // The previous relay listens on the same ports until it has handed over, so that no connection is refused.
      await ports?.start(takeover !== undefined);
      await operator.commit();
      await takeover?.commit();
      await listeners.open('visitors', server, config);
      listeners.closeOthers();
    },
  );
  const { url, port, edge, certificate, tickets, accessKeys, agents, loadApi, beginToDrain } = entrance;
  Object.assign(inside, { edge, certificate });
  ports?.acceptWith((tcp, remotePort) => edge.acceptRaw(tcp, () => registry.byPort(remotePort)));
  certificates?.start(entrance.useOwn);
  void provider?.start();
  const loopWatch = new StallDetector(clock, log);
  loopWatch.start();
  const accessWatch = new AccessWatch(store, hub, service, clock, log);
  let applyAccess: (() => void) | undefined;
  const readAccess = async (): Promise<void> => {
    applyAccess = undefined;
    applyAccess = await accessWatch.follow();
  };
  const followAccess = async (): Promise<void> => {
    applyAccess?.();
    // Domains of an account that was removed are gone.
    domains.verified.review();
    for (const keys of accessKeys) await keys.reload();
    await tickets?.reload();
  };
  const access = primary === undefined ? new PolledAccessFeed(store, clock) : undefined;
  access?.start(async () => {
    await readAccess();
    await followAccess();
  });
  keyUses.start(hub);

  /** A refusal is sent back through the connection of the request. */
  function openHop(request: HopRequest, socket: Duplex): void {
    upgrades.openHop(request, socket).catch((error: unknown) => {
      const refusal = error instanceof ApiError ? error : unexpected(error);
      socket.end(upgradeRefusal(refusal).bytes(true));
    });
  }

  const replaced = Promise.withResolvers<void>();
  let successor: Successor | undefined;
  let certificatesLeft: Promise<void> | undefined;
  const self = replaceable({
    address: addressOf(config.host, port),
    listeners,
    edge,
    hub,
    service,
    domains,
    state,
    log,
    adopt(socket, { id, ...peer }) {
      // Connections between the two relays have no reset: Node offers one for TCP only.
      socket.resetAndDestroy = () => {
        takeover?.reset(socket, id);
        return socket;
      };
      edge.adopt(socket, peer);
    },
    onReplaced(by) {
      successor = by;
      metrics?.close();
      certificatesLeft = certificates?.leave();
      replaced.resolve();
    },
  });
  const handover =
    primary === undefined
      ? await beReplaceable(handoffSocketPath(config.dataDir, port), self, config, log)
      : undefined;
  takeover?.onCounted((deltas) => service.countElsewhere(deltas));
  // Not awaited here, because visitors are served already, and the program must be able to react to signals.
  const announced = (async () => {
    if (primary === undefined) await storePublicOrigin(store, publicUrlOf(config, port));
    // Before the replaced relay may exit, which the service manager would treat as the end of the service.
    await operator.announce();
    await takeover?.serving();
  })();

  /** Lets open connections finish for up to `deadlineMs`, stores the last counters, and ends. */
  async function stop(deadlineMs: number): Promise<void> {
    handover?.close();
    beginToDrain();
    const deadline = new Promise((resolve) => setTimeout(resolve, deadlineMs).unref());
    const over =
      successor === undefined
        ? drain(hub, edge, peering, primary)
        : Promise.all([leave(hub, edge, peering), certificatesLeft]);
    await Promise.race([over, deadline]);
    await keyUses.stop(hub);
    await agents.stop();
    edge.destroy();
    certificate?.stop();
    provider?.stop();
    tickets?.stop();
    await certificates?.stop();
    for (const keys of accessKeys) keys.stop();
    await peering.stop();
    await access?.stop();
    await domains.stop();
    await service.stop();
    successor?.end();
    await state.close();
    loopWatch.stop();
    metrics?.close();
  }

  // Once the relay has reported that it listens. A failure is for those who await it.
  announced.then(
    () => setImmediate(() => void loadApi()),
    () => undefined,
  );
  const reload = certificate && ((): void => void certificate.reload());
  return {
    /** its address */
    url,
    /** whether this is the first start, which created a key */
    isNew: state.isNew,
    /** Fulfilled once commands know its address, and the service manager that it serves. */
    announced,
    /** Fulfilled when another relay has taken over; end the rest with `stop`. */
    replaced: replaced.promise,
    stop,
    /** Cuts everything immediately. */
    abort: (): void => edge.destroy(),
    /** Checks for a renewed certificate now; `undefined` without TLS. */
    reload,
    gauges,
    /** Another process of this relay has changed something: see {@link Coordination.followed}. */
    followed: (): Promise<void> => service.coordination.followed(),
    /** Another program has changed something: the end of keys takes effect, the rest is only read. @throws StoreError */
    readAccess,
    /** What was read takes effect. @throws StoreError */
    followAccess,
    /** Another process of this relay was issued a certificate. */
    followCertificate: async (issued: Issued): Promise<void> => await certificates?.follow(issued),
    /** Turns new visitors away: all processes of this relay are about to stop. */
    turnAway: (): Promise<void> => edge.turnAway(),
    /** the relay as seen by the one that replaces it */
    replaceable: self,
  };
}

/* How a relay that is stopped ends all connections (protocol.md section 7). */

/**
 * Clients are dropped only once no visitor needs an announcement, or another relay has them: until then they are
 * needed.
 *
 * @param primary of a worker, all of which end together
 * @returns fulfilled when nobody is connected; the caller limits how long that may take
 */
export async function drain(
  hub: Hub,
  edge: Edge,
  peering: Peering,
  primary?: Pick<PrimaryLink, 'settle'>,
): Promise<void> {
  if (primary === undefined) peering.sayLeaving();
  if (primary === undefined && peering.hasOthers) {
    // First, so that clients that are asked to move do not return to this relay, and the listener closes at a quiet
    // moment.
    await edge.handOver();
    hub.askToMove();
    await hub.moved();
  } else {
    hub.askToMove();
    await edge.settle();
    await primary?.settle();
  }
  hub.drain();
  await emptied(edge, peering);
}

/**
 * A client's trunk that arrived before the listener closed may be forwarded only after nothing else was, while a visitor
 * is still here.
 */
async function emptied(edge: Pick<Edge, 'empty'>, peering: Pick<Peering, 'settle'>): Promise<void> {
  await Promise.all([edge.empty(), peering.settle()]);
  await peering.settle();
}

interface ReplaceableParts {
  /** address of the listener for visitors */
  readonly address: string;
  readonly listeners: Pick<Listeners, 'descriptors'>;
  readonly edge: Pick<Edge, 'hold' | 'resume' | 'leave'>;
  readonly hub: Pick<Hub, 'missed'>;
  readonly service: Pick<TunnelService, 'pause' | 'resume' | 'leave' | 'endElsewhere' | 'followStored'>;
  readonly domains: Pick<Domains, 'pause' | 'resume'>;
  readonly state: Pick<State, 'lock' | 'unlock'>;
  readonly log: Log;
  /** Accepts a connection from the previous relay. */
  readonly adopt: Replaceable['adopt'];
  /** called once, when another relay serves */
  readonly onReplaced: (successor: Successor) => void;
}

/** @returns the relay as seen by the one that replaces it */
export function replaceable(parts: ReplaceableParts): Replaceable {
  const { address, listeners, edge, hub, service, domains, state, log, adopt, onReplaced } = parts;
  return {
    address,
    adopt,
    get descriptors() {
      return listeners.descriptors;
    },
    async release() {
      const [isIdle] = await Promise.all([edge.hold(), domains.pause()]);
      if (!isIdle) {
        domains.resume();
        edge.resume();
        throw new Error('its database does not respond');
      }
      await service.pause();
      state.unlock();
      return hub.missed;
    },
    async resume() {
      try {
        await state.lock();
      } catch {
        return false;
      }
      service.resume();
      domains.resume();
      edge.resume();
      return true;
    },
    leave(successor) {
      service.leave((deltas) => successor.tellCounted(deltas));
      edge.leave(({ address: visitor, proto, trusted, raw }, onReset) =>
        successor.pass({ address: visitor, proto, trusted, ...(raw && { raw }) }, onReset),
      );
      onReplaced(successor);
    },
    hearEnded: (tunnelId, reason) => service.endElsewhere(tunnelId, reason),
    hearAccess: (tunnelId) => {
      service
        .followStored(tunnelId)
        .catch((error: unknown) => log('internal error', { at: 'replacement', ...errorFields(error) }));
    },
  };
}

/** Lets remaining connections finish. @returns fulfilled when none is left; the caller limits how long that may take */
export async function leave(
  hub: Pick<Hub, 'askToMove' | 'moved' | 'drain'>,
  edge: Pick<Edge, 'empty'>,
  peering: Pick<Peering, 'settle'>,
): Promise<void> {
  hub.askToMove();
  await hub.moved();
  hub.drain();
  await emptied(edge, peering);
}
