/**
 * 1, 2 and 3 relays, with the client on the first and new visitors spread over all: the load on Redis and PostgreSQL at
 * rest, and the messages through Redis for each visitor.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { RelayCluster } from '../../support/cluster.ts';
import { Culvert } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';
import { startHello, wrk } from '../cases/requests.ts';
import { rotated } from '../stats.ts';
import { type ClusterBench, type ClusterCase, readCounters } from './case.ts';

const COUNTS = [1, 2, 3];
/** Divisible by each of {@link COUNTS}. */
const VISITORS = 12;
/** ms in which a cluster is idle, to measure its load on Redis and PostgreSQL without requests. */
const REST_MS = 9000;

interface Sized {
  readonly name: string;
  readonly cluster: RelayCluster;
}

export const relays: ClusterCase = {
  name: 'relays',
  async run(scope, bench) {
    const servicePort = await startHello(scope);
    const sizes: Sized[] = [];
    for (const count of COUNTS) sizes.push(await start(scope, bench, count, servicePort));
    for (const size of sizes) await load(scope, size, 1);
    await measureAtRest(bench, sizes);
    for (let round = 1; round <= bench.rounds; round += 1) {
      for (const size of rotated(sizes, round)) await measure(scope, bench, size);
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
  await Culvert.start(scope, cluster.relay(0), cluster.key, servicePort, ['--name', 'bench']);
  const name = count === 1 ? '1 relay' : `${count} relays`;
  return { name, cluster };
}

/** The idle load of each cluster, all of them over the same period. */
async function measureAtRest({ samples }: ClusterBench, sizes: readonly Sized[]): Promise<void> {
  const read = () => Promise.all(sizes.map(({ cluster }) => readCounters(cluster)));
  const before = await read();
  await delay(REST_MS);
  const after = await read();
  for (const [index, { name }] of sizes.entries()) {
    const [from, to] = [before[index], after[index]];
    if (from === undefined || to === undefined) throw new RangeError(name);
    const add = (what: string, count: number): void =>
      samples.add(`at rest/${name}/${what}`, (count * 1000) / REST_MS);
    add('Redis scripts/s', to.scripts - from.scripts);
    add('Redis bytes/s', to.bytes - from.bytes);
    add('PostgreSQL transactions/s', to.transactions - from.transactions);
  }
}

async function measure(scope: Scope, bench: ClusterBench, size: Sized): Promise<void> {
  const before = await readCounters(size.cluster);
  const requests = await load(scope, size, bench.seconds);
  const { published } = await readCounters(size.cluster);
  const name = `new c${VISITORS}, visitors on all/${size.name}/Redis messages/request`;
  bench.samples.add(name, (published - before.published) / requests);
}

/**
 * New visitors, the same total number at a time, however many relays they are spread over.
 *
 * @returns how many requests there were
 */
async function load(scope: Scope, { cluster }: Sized, seconds: number): Promise<number> {
  const connections = VISITORS / cluster.relays.length;
  const runs = await Promise.all(
    cluster.relays.map(({ port }) =>
      wrk(scope, { port, host: 'bench.localhost', connections, closing: true, seconds }),
    ),
  );
  return runs.reduce((total, { requests }) => total + requests, 0);
}
