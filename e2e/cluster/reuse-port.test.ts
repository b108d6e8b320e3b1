import assert from 'node:assert/strict';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { Load } from '../support/load.ts';
import { Culvert, RelayProgram, spawnRelay } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { closedPort, startHttpService } from '../support/services/listen.ts';

/** Visitors, API calls and the client's own sockets land on whichever relay the kernel picks. */
describe('three relays on one port (CULVERT_REUSE_PORT)', function () {
  const suite = suiteScope();
  const scope = testScope();
  let port: number;
  let cluster: RelayCluster;
  let culvert: Culvert;
  let host: string;

  before(async () => {
    port = await closedPort();
    cluster = await RelayCluster.start(suite, 3, {
      CULVERT_PORT: String(port),
      CULVERT_REUSE_PORT: 'true',
      CULVERT_METRICS_PORT: '0',
    });
    const service = await startHttpService(suite, ({ url: path }, response) => response.end(path));
    const url = `http://localhost:${port}`;
    culvert = await Culvert.start(suite, { url }, cluster.key, service.port);
    host = `${culvert.tunnel.slug}.localhost:${port}`;
  });

  it('all get connections', async () => {
    const before = await Promise.all(cluster.relays.map(connectionsOf));
    for (let index = 0; index < 100; index += 1) {
      const target = `/${index}`;
      const answer = await visit(port, { host, target });
      assert.deepEqual([answer.status, answer.text], [200, target]);
    }
    const after = await Promise.all(cluster.relays.map(connectionsOf));
    after.forEach((count, index) => assert.ok(count > (before[index] ?? 0), `relay ${index} got none`));
  });

  it('keep serving while they are restarted one after the other', async () => {
    let count = 0;
    const load = new Load(port, 60, 12, () => ({ host, target: `/${(count += 1)}` }));
    for (const relay of cluster.relays) {
      assert.deepEqual(await relay.stop('SIGTERM', 35_000), { code: 0, signal: null });
      await relay.restart();
      const { length } = load.asked;
      await eventually(20_000, () => assert.ok(load.asked.length > length + 30));
    }
    await load.stop();
    const failed = load.asked.map(({ outcome }) => outcome).filter((outcome) => !isServed(outcome));
    assert.deepEqual(failed, [], `of ${load.asked.length}`);
  });

  it('are refused on a port that another program does not share', async () => {
    const alone = await RelayProgram.start(scope);
    const child = spawnRelay(scope, ['serve'], {
      ...cluster.relay(0).databaseSettings,
      CULVERT_REDIS_URL: cluster.redis.url,
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
      CULVERT_PORT: String(alone.port),
      CULVERT_REUSE_PORT: 'true',
    });
    assert.equal((await child.exit()).code, 1);
    assert.match(child.stderr, /another program is using it and does not share it/);
  });
});

function isServed(outcome: { readonly status: number } | Error): boolean {
  return !(outcome instanceof Error) && outcome.status === 200;
}

/** Connections that a relay has accepted. */
async function connectionsOf(relay: RelayProgram): Promise<number> {
  const at = /"url":"http:\/\/127\.0\.0\.1:(\d+)\/metrics"/.exec(relay.child.stderr)?.[1];
  const { text } = await visit(Number(at), { host: 'localhost', target: '/metrics' });
  return Number(/^culvert_connections_total (\d+)$/m.exec(text)?.[1]);
}
