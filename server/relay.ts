/** The composition root: builds the relay's parts (relay/), connects them, starts and stops them. */
import type { Duplex } from 'node:stream';
import { ApiError } from '../shared/errors.ts';
import { PolledAccessFeed } from './accounts/access-feed.ts';
import { AccessWatch } from './accounts/access-watch.ts';
import { Authenticator } from './accounts/authenticator.ts';
import { systemClock as clock } from './clock.ts';
import { Cluster } from './cluster/cluster.ts';
import { STANDALONE } from './cluster/standalone.ts';
import type { Config } from './config.ts';
import { PasswordHashes } from './gate/password-hashes.ts';
import type { Edge } from './edge/edge.ts';
import { upgradeRefusal } from './edge/own/own-responses.ts';
import { CLIENT_SOCKETS_MAX } from './limits.ts';
import type { HopRequest, UpgradeToPass } from './link/other-relays.ts';
import { Upgrades } from './link/upgrades.ts';
import { LoopWatch } from './observe/loop-watch.ts';
import { startMetrics } from './observe/metrics-server.ts';
import { drain } from './relay/drain.ts';
import { openEntrance } from './relay/entrance.ts';
import { type Operator, reportTo } from './relay/operator.ts';
import { openState } from './relay/state.ts';
import { startTunnels } from './relay/tunnels.ts';
import type { LiveTunnel } from './tunnels/live-tunnel.ts';

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

/** @throws Error with a text for the operator when the database cannot be opened or the address cannot be bound */
export async function startRelay(config: Config, operator: Operator): Promise<RunningRelay> {
  const { log } = operator;
  const unexpected = reportTo(log);
  const state = await openState(config, operator);
  const { store } = state;
  const peering = config.cluster === undefined ? STANDALONE : await Cluster.join(config.cluster, clock, log);
  const hashes = new PasswordHashes();
  /** Nobody is inside before the edge lets anybody in. */
  const inside: { edge?: Edge } = {};
  const onAccess = (tunnel: LiveTunnel): void => inside.edge?.review(tunnel);
  const tunnels = await startTunnels(config, { store, peering, hashes, log, onAccess });
  const { registry, service, hub } = tunnels;
  const authenticator = new Authenticator(store, clock);
  const others = {
    dial: (request: UpgradeToPass) => peering.dial(request),
    followTunnel: (id: string) => service.coordination.followTunnel(id),
  };
  const maxSockets = CLIENT_SOCKETS_MAX;
  const upgrades = new Upgrades({ hub, registry, authenticator, clock, maxSockets, others });
  // Before anybody comes: other relays can find what waits here only under a number of its own.
  await peering.start({ hub, tunnels: service.coordination, openHop });
  const dependencies = { store, tunnels, authenticator, hashes, upgrades, peering, unexpected };
  const { url, edge, certificate, passKeys, loadApi, beginToDrain } = await openEntrance(
    config,
    dependencies,
    operator,
  );
  inside.edge = edge;
  const census = {
    tunnels: () => registry.size,
    links: () => hub.census(),
    visitors: () => edge.visitors,
  };
  const metrics = config.metrics && (await startMetrics(config.metrics, census, log));
  const loopWatch = new LoopWatch(clock, log);
  loopWatch.start();
  const access = new PolledAccessFeed(store, clock);
  access.start(new AccessWatch(store, hub, service, log).follow);

  /** A refusal goes back through the connection of the request. */
  function openHop(request: HopRequest, socket: Duplex): void {
    upgrades.openHop(request, socket).catch((error: unknown) => {
      const refusal = error instanceof ApiError ? error : unexpected(error);
      socket.end(upgradeRefusal(refusal).bytes(true));
    });
  }

  async function stop(deadlineMs: number): Promise<void> {
    beginToDrain();
    const deadline = new Promise((resolve) => setTimeout(resolve, deadlineMs).unref());
    await Promise.race([drain(hub, edge, peering), deadline]);
    edge.destroy();
    certificate?.stop();
    passKeys.stop();
    await peering.stop();
    await access.stop();
    await service.stop();
    await state.close();
    loopWatch.stop();
    metrics?.close();
  }

  // Once it is said that the relay listens.
  setImmediate(() => void loadApi());
  const reload = certificate && (() => void certificate.reload());
  return { url, stop, abort: () => edge.destroy(), reload };
}
