import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually } from '../support/deadline.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { Relay } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { suiteScope } from '../support/scope.ts';
import { ControlSocket } from '../support/spec-client/client.ts';

describe('a relay that has lost Redis while the others have it', function () {
  const scope = suiteScope();

  it('tells the others to check the database once Redis is back, so that closed tunnels end', async () => {
    const cluster = await RelayCluster.start(scope, 1);
    const whole = cluster.relay(0);
    const way = await FaultProxy.start(scope, cluster.redis.port);
    const cut = await Relay.start(scope, {
      CULVERT_DATABASE_URL: cluster.database,
      CULVERT_REDIS_URL: `redis://127.0.0.1:${way.port}`,
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
    });
    const { key, api } = await createAccount(whole, { plan: 'team' });
    const { id, slug } = await api.create({ local_port: 9 });
    const control = await ControlSocket.open(scope, whole, key, id);
    await way.cut();
    await eventually(20_000, () => assert.match(cut.child.stderr, /redis failing/));
    await new Api(cut, key).close(id);
    assert.doesNotMatch(whole.child.stderr, /tunnel closed/);
    await way.restore();
    assert.equal((await control.closed).code, 4001);
    const answer = await visit(whole.port, { host: `${slug}.localhost:${whole.port}` });
    assert.equal(answer.status, 404);
  });
});
