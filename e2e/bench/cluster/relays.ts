/**
 * 1, 2 and 3 relays, with the client on the first and visitors spread over all: requests a second, CPU time of each, and the
 * load on Redis and PostgreSQL.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RelayCluster } from '../../support/cluster.ts';
import { Culvert } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { startHello, wrk } from '../cases/requests.ts';
import { rotated } from '../stats.ts';
import { type Asked, type ClusterBench, type ClusterCase, ProcessorTime, StoreCounters } from './case.ts';

const COUNTS = [1, 2, 3];
/** Divisible by each of {@link COUNTS}. */
const VISITORS = 12;
/** ms in which a cluster is idle, to measure its load on Redis and PostgreSQL without requests. */
const REST_MS = 9000;

interface Sized {
  readonly name: string;
  readonly cluster: RelayCluster;
  readonly client: Culvert;
  readonly stores: StoreCounters;
}

export const relays: ClusterCase = {
  name: 'relays',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const sizes: Sized[] = [];
    for (const count of COUNTS) sizes.push(await start(scope, bench, count, servicePort));
    for (const size of sizes) await load(scope, { ...bench, seconds: 1 }, size, true);
    for (const { name, asked } of await atRest(sizes)) {
      bench.samples.add(`at rest/${name}/Redis scripts/s`, asked.scripts);
      bench.samples.add(`at rest/${name}/Redis bytes/s`, asked.bytesIn + asked.bytesOut);
      bench.samples.add(`at rest/${name}/PostgreSQL transactions/s`, asked.transactions);
    }
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const closing of [false, true]) {
        for (const size of rotated(sizes, round)) await measure(scope, bench, size, closing);
      }
      bench.log(`relays: round ${round} of ${bench.rounds}`);
    }
  },
};

async function start(
  scope: Scope,
  { postgres }: ClusterBench,
  count: number,
  servicePort: number,
): Promise<Sized> {
  const cluster = await RelayCluster.start(scope, count, {}, postgres.url);
  const client = await Culvert.start(scope, cluster.relay(0), cluster.key, servicePort, ['--name', 'bench']);
  const name = count === 1 ? '1 relay' : `${count} relays`;
  return { name, cluster, client, stores: new StoreCounters(cluster) };
}

/** The idle load of each cluster, all of them over the same period. */
async function atRest(sizes: readonly Sized[]): Promise<{ name: string; asked: Asked }[]> {
  const before = await Promise.all(sizes.map(({ stores }) => stores.read()));
  await delay(REST_MS);
  const after = await Promise.all(sizes.map(({ stores }) => stores.read()));
  return sizes.map(({ name }, at) => {
    const [from, to] = [before[at], after[at]];
    if (from === undefined || to === undefined) throw new RangeError(name);
    return { name, asked: StoreCounters.rate(from, to, REST_MS / 1000) };
  });
}

async function measure(scope: Scope, bench: ClusterBench, size: Sized, closing: boolean): Promise<void> {
  const { cluster, client, stores } = size;
  const load12 = `${closing ? 'new' : 'keep-alive'} c${VISITORS}`;
  const relayPids = cluster.relays.map(({ child }) => child.pid);
  const first = relayPids.slice(0, 1);
  const time = new ProcessorTime({
    'first relay': first,
    'other relays': relayPids.slice(1),
    client: [client.child.pid],
    Redis: [cluster.redis.pid],
    PostgreSQL: [bench.postgres.pid],
  });
  const before = await stores.read();
  const began = performance.now();
  const { requests, perSecond } = await load(scope, bench, size, closing);
  const after = await stores.read();
  const elapsed = (performance.now() - began) / 1000;
  const name = `${load12}, visitors on all/${size.name}`;
  bench.samples.add(`${name}/req/s`, perSecond);
  for (const [group, seconds] of time.seconds()) {
    bench.samples.add(`${name}/CPU µs/request ${group}`, (seconds * 1e6) / requests);
  }
  const each = StoreCounters.rate(before, after, requests);
  bench.samples.add(`${name}/Redis scripts/request`, each.scripts);
  bench.samples.add(`${name}/Redis messages/request`, each.published);
  const { transactions, rowsWritten } = StoreCounters.rate(before, after, elapsed);
  bench.samples.add(`${name}/PostgreSQL transactions/s`, transactions);
  bench.samples.add(`${name}/rows written/s`, rowsWritten);
}

/** The same total number of visitors, however many relays they are spread over. */
async function load(
  scope: Scope,
  { seconds }: ClusterBench,
  { cluster }: Sized,
  closing: boolean,
): Promise<{ requests: number; perSecond: number }> {
  const connections = VISITORS / cluster.relays.length;
  const runs = await Promise.all(
    cluster.relays.map(({ port }) =>
      wrk(scope, { port, host: 'bench.localhost', connections, closing, seconds }),
    ),
  );
  return { requests: sum(runs.map((run) => run.requests)), perSecond: sum(runs.map((run) => run.perSecond)) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
