import assert from 'node:assert/strict';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

describe('a relay with another CULVERT_CLUSTER_SECRET', function () {
  const scope = suiteScope();
  let cluster: RelayCluster;

  before(async () => {
    cluster = await RelayCluster.start(scope, 2);
  });

  it('does not start, and says which setting is wrong; the others are not affected', async () => {
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
    assert.match(
      child.stderr,
      /CULVERT_CLUSTER_SECRET takes the secret of the relays that are there already/,
    );
    assert.ok(!child.stderr.includes(secret));
    assert.deepEqual(child.lines, []);
    assert.equal(first.stderr, before);
    assert.equal((await cluster.api(1).send('GET', '/v1/tunnels')).status, 200);
  });

  it('is unknown to relays that meet it later, and the log says so', async () => {
    const number = 4242;
    await cluster.redis.command(`SADD culvert:relays ${number}`);
    await cluster.redis.command(
      `SET culvert:relay:${number} "stranger 127.0.0.1:1~${'0'.repeat(64)}" PX 10000`,
    );
    await eventually(20_000, () => assert.match(cluster.relay(0).child.stderr, /cluster stranger/));
  });
});
