/**
 * The cost of the hop between relays: the same three relays, with a visitor's connection, the client's control socket
 * and its data sockets on one, two or three of them.
 */
import { fileURLToPath } from 'node:url';
import { startProgram } from '../../support/child.ts';
import { RelayCluster } from '../../support/cluster.ts';
import type { Scope } from '../../support/scope.ts';
import { startHello, warmUp, wrk } from '../cases/requests.ts';
import { startTransferService, transfer } from '../cases/transfers.ts';
import { rotated } from '../stats.ts';
import { type ClusterBench, type ClusterCase, type Groups, ProcessorTime } from './case.ts';
import { type StoredTunnel, storeTunnels } from './stores.ts';

const CLIENT = fileURLToPath(new URL('../programs/split-client.ts', import.meta.url));
const [A, B, C] = [0, 1, 2];
const VISITORS = 16;
const BYTES = 512 * 1024 * 1024;

/** Which relay has the visitors and which has the data sockets. The control sockets are all on A. */
const LAYOUTS = [
  { name: 'one relay', visitor: A, data: A },
  { name: 'two relays, no hop', visitor: B, data: B },
  { name: 'three relays, hop', visitor: B, data: C },
];
type Layout = (typeof LAYOUTS)[number];

/** A layout with its clients, one for each kind of local service. */
interface Way extends Layout {
  readonly hello: Tunnelled;
  readonly transfer: Tunnelled;
}

interface Tunnelled {
  readonly port: number;
  readonly host: string;
  readonly groups: Groups;
}

export const hop: ClusterCase = {
  name: 'hop',
  async run(scope, bench) {
    const cluster = await RelayCluster.start(scope, 3, {}, bench.postgres.url);
    const services = { hello: await startHello(scope), transfer: await startTransferService(scope) };
    const ways: Way[] = [];
    const tunnels = (await storeTunnels(cluster.database, 2 * LAYOUTS.length)).values();
    for (const layout of LAYOUTS) {
      const serve = (port: number): Promise<Tunnelled> =>
        startClient(scope, cluster, layout, tunnels.next().value, port);
      ways.push({ ...layout, hello: await serve(services.hello), transfer: await serve(services.transfer) });
    }
    for (const { hello } of ways) {
      await warmUp(scope, hello);
    }
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const way of rotated(ways, round)) await requests(scope, bench, way, false);
      for (const way of rotated(ways, round)) await requests(scope, bench, way, true);
      for (const way of rotated(ways, round)) await download(scope, bench, way);
      bench.log(`hop: round ${round} of ${bench.rounds}`);
    }
  },
};

async function startClient(
  scope: Scope,
  cluster: RelayCluster,
  { visitor, data }: Layout,
  tunnel: StoredTunnel | undefined,
  localPort: number,
): Promise<Tunnelled> {
  if (tunnel === undefined) throw new RangeError('a tunnel for each client');
  const [control, other] = [cluster.relay(A), cluster.relay(data)];
  const args = [CLIENT, control.url, other.url, tunnel.key, tunnel.id, String(localPort)];
  const client = startProgram(scope, process.execPath, args);
  await client.printed(/^online$/m);
  const pid = (index: number): number[] => [cluster.relay(index).child.pid];
  return {
    port: cluster.relay(visitor).port,
    host: `${tunnel.slug}.localhost`,
    groups: { A: pid(A), B: pid(B), C: pid(C), client: [client.pid], Redis: [cluster.redis.pid] },
  };
}

async function requests(scope: Scope, bench: ClusterBench, way: Way, closing: boolean): Promise<void> {
  const { port, host, groups } = way.hello;
  const name = `${closing ? 'new' : 'keep-alive'} c${VISITORS}/${way.name}`;
  const time = new ProcessorTime(groups);
  const result = await wrk(scope, { port, host, connections: VISITORS, closing, seconds: bench.seconds });
  bench.samples.add(`${name}/req/s`, result.perSecond);
  bench.samples.add(`${name}/p50 ms`, result.p50);
  bench.samples.add(`${name}/p99 ms`, result.p99);
  for (const [group, seconds] of time.seconds()) {
    bench.samples.add(`${name}/CPU µs/request ${group}`, (seconds * 1e6) / result.requests);
  }
}

async function download(scope: Scope, bench: ClusterBench, way: Way): Promise<void> {
  const { port, host, groups } = way.transfer;
  const name = `download/${way.name}`;
  const time = new ProcessorTime(groups);
  const seconds = await transfer(scope, { port, host }, 'download', BYTES);
  bench.samples.add(`${name}/MB/s`, BYTES / 1e6 / seconds);
  for (const [group, used] of time.seconds()) {
    bench.samples.add(`${name}/CPU s/GiB ${group}`, (used * 1024 ** 3) / BYTES);
  }
}
