import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { startEchoService } from '../support/services/echo.ts';
import { ControlSocket, SpecClient } from '../support/spec-client/client.ts';

describe('a relay with another CULVERT_CLUSTER_SECRET', function () {
  const scope = suiteScope();
  let cluster: RelayCluster;

  before(async () => {
    cluster = await RelayCluster.start(scope, 2);
  });

  it('does not start, and names the wrong setting; the others are not affected', async () => {
    const { databaseSettings, child: first } = cluster.relay(0);
    await eventually(20_000, () => assert.match(first.stderr, /"msg":"listening"/));
    const before = first.stderr;
    const secret = 'x'.repeat(32);
    const child = spawnRelay(scope, ['serve'], {
      ...databaseSettings,
      CULVERT_DATA_DIR: temporaryDirectory(scope),
      CULVERT_PORT: '0',
      CULVERT_REDIS_URL: cluster.redis.url,
      CULVERT_CLUSTER_SECRET: secret,
    });
    assert.equal((await child.exit()).code, 2);
    assert.match(child.stderr, /CULVERT_CLUSTER_SECRET must be the secret that the other relays/);
    assert.ok(!child.stderr.includes(secret));
    assert.deepEqual(child.lines, []);
    assert.equal(first.stderr, before);
    assert.equal((await cluster.api(1).send('GET', '/v1/tunnels')).status, 200);
  });

  it('is a stranger to relays that discover it later, which log it', async () => {
    const number = 4242;
    await cluster.redis.command(`SADD culvert:relays ${number}`);
    await cluster.redis.command(
      `SET culvert:relay:${number} "stranger 127.0.0.1:1~${'0'.repeat(64)}" PX 10000`,
    );
    await eventually(20_000, () => assert.match(cluster.relay(0).child.stderr, /cluster stranger/));
  });
});

describe('a stranger who can read and write Redis messages', () => {
  const scope = suiteScope();
  let cluster: RelayCluster;
  let client: SpecClient;

  before(async () => {
    cluster = await RelayCluster.start(scope, 2);
    const service = await startEchoService(scope);
    client = await SpecClient.start(scope, cluster.relay(0), cluster.key, { local_port: service.port });
  });

  function visitAt(index: number): Promise<{ readonly status: number }> {
    return visit(cluster.relay(index).port, { host: `${client.tunnel.slug}.localhost`, target: '/' });
  }

  it('ends no tunnel', async () => {
    const { id } = client.tunnel;
    for (const text of [`ended ${id} closed`, `ended ${id} displaced`, `sealed forged ${id}`])
      await cluster.redis.command(`PUBLISH culvert:all "${text}"`);
    // A later event of the relay proves that the forged message has been processed.
    const other = await cluster.api(1).create({ local_port: 9 });
    const control = await ControlSocket.open(scope, cluster.relay(0), cluster.key, other.id);
    await cluster.api(1).send('DELETE', `/v1/tunnels/${other.id}`);
    assert.equal((await control.closed).code, 4001);
    for (const index of [0, 1]) assert.equal((await visitAt(index)).status, 200);
  });

  it('learns no id that would allow it to take over a visitor', async () => {
    const heard: string[] = [];
    const listener = connect(cluster.redis.port, '127.0.0.1');
    listener.on('error', () => {}).on('data', (chunk: Buffer) => heard.push(chunk.toString('latin1')));
    scope.defer(() => void listener.destroy());
    listener.write('PSUBSCRIBE culvert:*\r\n');
    await eventually(20_000, () => assert.match(heard.join(''), /psubscribe/));
    assert.equal((await visitAt(1)).status, 200);
    // Everything that the visit has caused was published before this.
    await cluster.api(1).extend(client.tunnel.id, { ttl: '1h' });
    await eventually(20_000, () => assert.match(heard.join(''), /culvert:all\r\n\$\d+\r\nsealed /));
    assert.doesNotMatch(heard.join(''), /culvert:to:/);
  });
});
