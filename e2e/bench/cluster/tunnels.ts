/** Tunnels that are online without traffic on one relay of two: their cost, and what happens when that relay dies. */
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Child } from '../../support/child.ts';
import { RelayCluster } from '../../support/cluster.ts';
import { memoryOf } from '../../support/memory.ts';
import type { Scope } from '../../support/scope.ts';
import { type ClusterCase, ProcessorTime } from './case.ts';
import { type StoredTunnel, storeTunnels } from './stores.ts';

const CLIENTS = fileURLToPath(new URL('../programs/control-sockets.ts', import.meta.url));
const SETTLE_MS = 5000;
const REST_MS = 9000;
const ONLINE_TIMEOUT_MS = 120_000;

export const tunnels: ClusterCase = {
  name: 'tunnels',
  async run(scope, { tunnels: count, postgres, samples, log }) {
    const cluster = await RelayCluster.start(scope, 2, {}, postgres.url);
    const [first, second] = [cluster.relay(0), cluster.relay(1)];
    const stored = await storeTunnels(cluster.database, count);
    const name = `${count} tunnels online/one relay of two`;
    // The first half brings V8's heap to its size. The second half shows the cost of more tunnels.
    const half = count / 2;
    const clients: Child[] = [];
    const memory: { relay: number; redis: number }[] = [];
    for (const share of [stored.slice(0, half), stored.slice(half)]) {
      const some = startClients(scope, [first.port, second.port], share);
      await some.printed(new RegExp(`^online ${share.length}$`, 'm'), ONLINE_TIMEOUT_MS);
      await delay(SETTLE_MS);
      const redis = await cluster.redis.counters();
      memory.push({ relay: memoryOf(first.child.pid).resident, redis: redis.memory });
      clients.push(some);
    }
    const [less, more] = memory;
    if (less === undefined || more === undefined) throw new RangeError('two shares');
    samples.add(`${name}/relay MiB`, more.relay / 1024 ** 2);
    samples.add(`${name}/relay KiB for one more`, (more.relay - less.relay) / 1024 / half);
    samples.add(`${name}/Redis bytes for one more`, (more.redis - less.redis) / half);
    log('tunnels: online');

    const groups = {
      'relay they are on': [first.child.pid],
      'the other relay': [second.child.pid],
      Redis: [cluster.redis.pid],
      PostgreSQL: [postgres.pid],
    };
    const rest = new ProcessorTime(groups);
    await delay(REST_MS);
    for (const [group, seconds] of rest.seconds()) {
      samples.add(`${name}/CPU % at rest, ${group}`, (seconds * 100_000) / REST_MS);
    }

    const death = new ProcessorTime(groups);
    await first.stop('SIGKILL');
    const times = await Promise.all(
      clients.map((some) => some.printed(/^back ([\d.]+)$/m, ONLINE_TIMEOUT_MS)),
    );
    const seconds = Math.max(...times.map(([, text]) => Number(text)));
    const back = `${count} clients back after kill -9/on the other relay`;
    samples.add(`${back}/s until all are`, seconds);
    const used = death.seconds();
    for (const group of ['the other relay', 'Redis', 'PostgreSQL']) {
      samples.add(`${back}/CPU µs each, ${group}`, ((used.get(group) ?? NaN) * 1e6) / count);
    }
    log('tunnels: done');
  },
};

function startClients(scope: Scope, ports: readonly number[], stored: readonly StoredTunnel[]): Child {
  const clients = new Child(process.execPath, [CLIENTS, 'returning', ...ports.map(String)], {
    input: stored.map(({ id, key }) => `${id} ${key}\n`).join(''),
  });
  scope.defer(() => clients.stop('SIGKILL'));
  return clients;
}
