/** Composition root of the engine: builds everything that one tunnel of this client consists of. */
import type { KnockMessage } from '../../shared/control.ts';
import type { HeaderChanges } from '../../shared/header-changes.ts';
import type { CompressMode } from '../../shared/value-rules.ts';
import { Deadlines, systemClock } from './clock.ts';
import { Compression } from './compression/compressed-stream.ts';
import { ControlConnection } from './control/control-connection.ts';
import { MachineWatch, networkAddresses } from './control/machine-watch.ts';
import { TunnelSession, type TunnelState } from './control/tunnel-session.ts';
import { DataDialer, type DataSource } from './data/data-dialer.ts';
import { HeadChanges, HeaderRewriter } from './data/header-rewriter.ts';
import { type FilterMaker, RecordedStream, type Recorder } from './data/stream-filter.ts';
import { RetriedData, Trunks } from './data/trunks.ts';
import { LocalDialer } from './local/local-dialer.ts';
import { replacementHost, replacementOrigin } from './local/local-error.ts';
import type { LocalTarget } from './local/local-service.ts';
import { Network } from './network/network.ts';
import type { RelayAddress } from './relay/relay-address.ts';
import {
  type ConnectionProblem,
  Connections,
  HostedConnections,
  HostMap,
  type HostMapOptions,
  relayProblem,
  type VisitorConnections,
} from './visitors/connections.ts';
import { type Rehearsal, RehearsedStream } from './visitors/rehearsal.ts';

export interface TunnelClientOptions {
  readonly relay: RelayAddress;
  /** API key */
  readonly key: string;
  readonly tunnelId: string;
  readonly local: LocalTarget;
  /** the local ports of some hosts of a wildcard tunnel; by default all hosts are forwarded to `local` */
  readonly hosts?: HostMapOptions | undefined;
  /** headers to set and remove; by default none */
  readonly headers?: HeaderChanges | undefined;
  /** whether responses are compressed; by default `auto` */
  readonly compress?: CompressMode | undefined;
  /** how the relay is reached; by default directly */
  readonly network?: Network;
  /** observes the data between visitors and the local service */
  readonly recorder?: Recorder;
  /** requests that fail or are delayed on purpose; by default none */
  readonly rehearsal?: Rehearsal | undefined;
  readonly onState: (state: TunnelState) => void;
  readonly onProblem: (problem: ConnectionProblem) => void;
  /** A visitor asks for approval; answer with `answerKnock` of the API. */
  readonly onKnock?: (knock: KnockMessage) => void;
}

/**
 * Serves an existing tunnel by piping its visitors' connections to the local service.
 *
 * @returns a session that has not been started
 */
export function createTunnelClient(options: TunnelClientOptions): TunnelSession {
  const { relay, key, tunnelId, network = new Network(), onState, onProblem } = options;
  const deadlines = new Deadlines(systemClock);
  const compression = new Compression(options.compress ?? 'auto', relay.hostname, systemClock);
  const data = new DataDialer(relay, network, deadlines, { carriesEnd: options.local.raw !== undefined });
  const retried = new RetriedData(data, deadlines);
  const connectionsTo = (local: LocalTarget): Connections =>
    new Connections({
      data: retried,
      local: new LocalDialer(local, deadlines),
      deadlines,
      filters: local.raw === undefined ? filtersOf({ ...options, local }, compression) : [],
      recorder: options.recorder,
      onProblem,
    });
  const connections = serveHosts(options, retried, connectionsTo);
  const trunks = new Trunks({
    clock: systemClock,
    open: (handler) => data.openTrunk(tunnelId, key, handler),
    openData: (connectionId, handler) => data.open(connectionId, handler),
    serve: (stream, first) => connections.acceptStream(stream, first),
    onLost: () => session.lostTrunk(),
  });
  const watch = new MachineWatch({
    clock: systemClock,
    addresses: networkAddresses,
    onChange: () => session.wake(),
  });
  const session = new TunnelSession({
    clock: systemClock,
    random: Math.random,
    openControl: (handler, isCut) =>
      new ControlConnection(
        {
          relay,
          key,
          tunnelId,
          network,
          clock: systemClock,
          random: Math.random,
          address: data.knownAddress,
          isCut,
          isBusy: () => connections.isBusy,
        },
        {
          ...handler,
          onOpen(remoteAddress) {
            // Through a proxy, it would be the proxy's address.
            if (network.proxyFor(relay) === undefined && remoteAddress !== undefined) {
              data.prefer(remoteAddress);
              compression.reached(remoteAddress);
            }
            handler.onOpen(remoteAddress);
          },
        },
      ),
    serve(id, peers) {
      connections.accept(id, peers);
      trunks.visited();
    },
    onKnock: (knock) => options.onKnock?.(knock),
    onProblem: (problem) => onProblem(relayProblem(problem, options.local)),
    onState(state) {
      if (state.name === 'connecting') watch.start();
      if (state.name === 'online') {
        trunks.start();
      } else {
        trunks.leave();
        connections.closeIdle();
      }
      if (state.name === 'offline') {
        watch.stop();
        trunks.stop();
        connections.cut();
      }
      onState(state);
    },
    onDraining: () => trunks.pause(),
    onRenewed: () => trunks.renew(),
  });
  return session;
}

/** The services of a tunnel differ in their ports only. */
function serveHosts(
  { local, hosts }: TunnelClientOptions,
  data: DataSource,
  connectionsTo: (local: LocalTarget) => Connections,
): VisitorConnections {
  const main = connectionsTo(local);
  if (hosts === undefined) return main;
  const ports = new Set(Object.values(hosts.ports));
  const byPort = new Map([...ports].map((port) => [port, connectionsTo({ ...local, port })]));
  byPort.set(local.port, main);
  const map = new HostMap(hosts.tunnel, hosts.ports, local.port);
  return new HostedConnections({ data, hosts: map, byPort, main });
}

/**
 * In order from the data socket on. Whether a response is compressed depends on what the visitor accepts, whatever the
 * headers are changed to. A recorder sees what the local service receives and sends.
 */
function filtersOf(
  { local, headers, recorder, rehearsal }: TunnelClientOptions,
  compression: Compression,
): FilterMaker[] {
  const filters: FilterMaker[] = [];
  filters.push((inner) => compression.around(inner));
  const changes = new HeadChanges(replacementHost(local), headers, replacementOrigin(local));
  if (!changes.isEmpty) filters.push((inner) => new HeaderRewriter(inner, changes));
  if (recorder !== undefined)
    filters.push((inner, waitedMs) => new RecordedStream(inner, recorder, waitedMs));
  if (rehearsal !== undefined) filters.push((inner) => new RehearsedStream(inner, rehearsal, systemClock));
  return filters;
}
