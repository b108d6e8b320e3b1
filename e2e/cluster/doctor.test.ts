import assert from 'node:assert/strict';
import { RelayCluster } from '../support/cluster.ts';
import { spawnRelay, temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

interface Finding {
  readonly check: string;
  readonly result: string;
  readonly detail: string;
}

describe('culvert-relay doctor, on a cluster', () => {
  const scope = suiteScope();
  let cluster: RelayCluster;

  before(async () => {
    cluster = await RelayCluster.start(scope, 2);
  });

  async function doctor(secret: string): Promise<(check: string) => string> {
    const child = spawnRelay(scope, ['doctor', '--json'], {
      CULVERT_DATA_DIR: temporaryDirectory(scope),
      CULVERT_PORT: String(cluster.relay(0).port),
      CULVERT_DATABASE_URL: cluster.database,
      CULVERT_REDIS_URL: cluster.redis.url,
      CULVERT_CLUSTER_SECRET: secret,
    });
    await child.exit();
    const findings = child.lines.map((line) => JSON.parse(line) as Finding);
    return (wanted) => {
      const { result = '', detail = '' } = findings.find(({ check }) => check === wanted) ?? {};
      return `${result}: ${detail}`;
    };
  }

  it('finds the relays, their secret and their clocks', async () => {
    const said = await doctor('s'.repeat(32));
    assert.match(said('database'), /^ok: postgres:/);
    assert.match(said('cluster'), /^ok: 2 relays, with the same secret: 127\.0\.0\.1:\d+, 127\.0\.0\.1:\d+$/);
    assert.equal(said('clock'), "ok: this machine's clock is right");
    assert.equal(said('redis'), 'ok: it responds');
  });

  it('names a relay with another secret', async () => {
    const said = await doctor('t'.repeat(32));
    assert.match(
      said('cluster'),
      /^failed: a relay in the cluster has a different secret: 127\.0\.0\.1:\d+$/,
    );
  });
});
