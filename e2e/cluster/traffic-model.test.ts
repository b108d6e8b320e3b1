import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import { redisDemand } from '../bench/simulate/redis-demand.ts';
import { RelayCluster } from '../support/cluster.ts';
import { concurrentTests } from '../support/concurrent-tests.ts';
import { eventually } from '../support/deadline.ts';
import { DataConnection } from '../support/manual-client.ts';
import { visit } from '../support/raw-http.ts';
import type { RedisCounters } from '../support/redis.ts';
import { suiteScope } from '../support/scope.ts';
import { ControlSocket, openData } from '../support/spec-client/control.ts';

/** ms of counting: two or three renewals of each lease. */
const COUNTED_MS = 8000;
const TUNNELS = 3;
const LOAD = { reconnects: 10, changes: 10, visitorsARelay: 30 };
/** The first call of each script sends its text along. */
const FIRST = { reconnects: 1, changes: 1, visitorsARelay: 1 };
const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** The model of docs/scaling.md against what a real Redis counts. */
describe('what relays ask of Redis is what the model says', function () {
  const scope = suiteScope();
  const it = concurrentTests();

  for (const relays of [1, 2, 3]) {
    it(`with ${relays}`, async () => {
      const cluster = await RelayCluster.start(scope, relays);
      const tunnels = await Promise.all(
        Array.from({ length: TUNNELS }, () => cluster.api(0).create({ local_port: 9 })),
      );
      const controls = new Map<Tunnel, ControlSocket>();
      for (const tunnel of tunnels) controls.set(tunnel, await online(cluster, tunnel));
      await load(cluster, controls, FIRST);
      const [before, began] = [await cluster.redis.counters(), performance.now()];
      await load(cluster, controls, LOAD);
      await delay(COUNTED_MS - (performance.now() - began));
      const counted = difference(before, await cluster.redis.counters());
      compare(counted, relays, (performance.now() - began) / 1000);
    });
  }

  async function online(cluster: RelayCluster, tunnel: Tunnel): Promise<ControlSocket> {
    const relay = cluster.relay(0);
    const socket = await ControlSocket.open(scope, relay, cluster.key, tunnel.id);
    socket.onMessage = ({ id }) => void serve(cluster, id);
    return socket;
  }

  async function serve(cluster: RelayCluster, id: string): Promise<void> {
    const data = new DataConnection(id, await openData(scope, cluster.relay(0), id));
    await data.receivedUpTo('\r\n\r\n');
    data.send(ANSWER);
  }

  /** The same reconnects and changes whatever the number of relays, and visitors on each of them. */
  async function load(
    cluster: RelayCluster,
    controls: Map<Tunnel, ControlSocket>,
    { reconnects, changes, visitorsARelay }: typeof LOAD,
  ): Promise<void> {
    const [first, second] = [...controls];
    assert.ok(first !== undefined && second !== undefined);
    for (let change = 0; change < changes; change += 1)
      await cluster.api(0).extend(first[0].id, { ttl: '1s' });
    for (const { port } of cluster.relays) {
      for (let visitor = 0; visitor < visitorsARelay; visitor += 1) {
        const answer = await visit(port, { host: `${first[0].slug}.localhost:${port}` });
        assert.equal(answer.status, 200);
      }
    }
    const [tunnel] = second;
    let [, control] = second;
    for (let time = 0; time < reconnects; time += 1) {
      const { child } = cluster.relay(0);
      const ended = child.stderr.length;
      control.socket.drop();
      // Its end is announced before it comes again.
      await eventually(20_000, () => assert.match(child.stderr.slice(ended), /client offline/));
      control = await online(cluster, tunnel);
    }
    controls.set(tunnel, control);
  }
});

function compare(counted: RedisCounters, relays: number, seconds: number): void {
  const visitors = (LOAD.visitorsARelay * relays) / seconds;
  const predicted = redisDemand({
    relays,
    tunnels: TUNNELS,
    reconnects: LOAD.reconnects / seconds,
    changes: LOAD.changes / seconds,
    requests: visitors,
    requestsPerConnection: 1,
    elsewhere: (relays - 1) / relays,
    hops: 0,
    busyTunnels: 1,
    relaysPerBusyTunnel: relays,
  });
  // One renewal more or less per relay, which is two scripts, depends on when counting begins.
  near('scripts', counted.scripts, predicted.scriptsPerSecond * seconds, 0.05, 2 * relays);
  near('messages', counted.published, predicted.published * seconds, 0.05, 3);
  near('bytes in', counted.bytesIn, predicted.bytesIn * seconds, 0.1, relays * 300);
  near('bytes out', counted.bytesOut, predicted.bytesOut * seconds, 0.1, relays * 300);
}

function near(what: string, counted: number, predicted: number, share: number, slack: number): void {
  const text = `${what}: ${counted} counted, ${Math.round(predicted)} predicted`;
  assert.ok(Math.abs(counted - predicted) <= predicted * share + slack, text);
}

function difference(before: RedisCounters, after: RedisCounters): RedisCounters {
  return {
    scripts: after.scripts - before.scripts,
    published: after.published - before.published,
    bytesIn: after.bytesIn - before.bytesIn,
    bytesOut: after.bytesOut - before.bytesOut,
    memory: after.memory - before.memory,
  };
}
