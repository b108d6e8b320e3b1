import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { within } from '../support/deadline.ts';
import type { Relay } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { ControlSocket } from '../support/spec-client/client.ts';

const HOUR_MS = 3_600_000;
const PASSWORD = { password: 'mild-oak-fern' };

describe("an agent's key on three relays (protocol.md section 2.1)", () => {
  const scope = suiteScope();
  let cluster: RelayCluster;
  let relays: readonly [Relay, Relay, Relay];
  let agents: readonly [Api, Api, Api];
  let owner: Api;
  let ownerKey: string;
  let agentKey: string;

  before(async () => {
    cluster = await RelayCluster.shared();
    relays = [cluster.relay(0), cluster.relay(1), cluster.relay(2)];
    await administer(relays[0], 'account', 'create', '--name', 'acme', '--plan', 'team');
    [ownerKey, agentKey] = [await key(), await key('--agent', '--prefix', 'ai')];
    owner = new Api(relays[2], ownerKey);
    agents = [new Api(relays[0], agentKey), new Api(relays[1], agentKey), new Api(relays[2], agentKey)];
  });

  async function key(...options: string[]): Promise<string> {
    return String((await administer(relays[0], 'key', 'create', '--account', 'acme', ...options))['key']);
  }

  it('has the same bounds on each of them, also for requests at the same time', async () => {
    const { id } = await agents[0].create({ local_port: 9, name: 'ai-x', ttl: '25m', access: PASSWORD });
    const each = await Promise.all(
      agents.map((api) => api.send('PUT', `/v1/tunnels/${id}/extend`, { json: { ttl: '25m' } })),
    );
    assert.equal(each.filter(({ status }) => status === 200).length, 1);
    for (const api of agents) {
      assert.ok(Date.parse((await api.get(id)).expires_at) <= Date.now() + HOUR_MS);
      const opened = await api.send('PUT', `/v1/tunnels/${id}/access`, { json: {} });
      assert.equal((opened.json as { code: string }).code, 'agent-access');
    }
    await agents[1].close(id);
  });

  it('loses a tunnel on all of them as soon as another key has taken it over on one', async () => {
    const { id } = await agents[0].create({ local_port: 9, name: 'ai-y', access: PASSWORD });
    const control = await ControlSocket.open(scope, relays[1], agentKey, id);
    const json = { local_port: 9, name: 'ai-y', take_over: true, ttl: '24h' };
    const taken = await owner.send('POST', '/v1/tunnels', { json });
    assert.deepEqual([taken.status, (taken.json as Tunnel).id], [200, id]);
    for (const [index, api] of agents.entries()) {
      const path = `/v1/tunnels/${id}`;
      assert.equal((await api.send('PUT', `${path}/access`, { json: PASSWORD })).status, 404);
      assert.equal((await api.send('PUT', `${path}/extend`, { json: { ttl: '1m' } })).status, 404);
      const opened = ControlSocket.open(scope, cluster.relay(index), agentKey, id);
      await assert.rejects(opened, /tunnel-not-found/);
      assert.deepEqual(await api.list(), []);
    }
    assert.equal((await within(10_000, 'the end of its control socket', control.closed)).code, 4000);
    assert.deepEqual((await owner.get(id)).access, {});
  });

  it('either keeps a tunnel within its bounds or loses it, when another key changes it at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const name = `ai-race-${round}`;
      // A key may create five tunnels in a burst.
      const [owners, agent] = [await key(), await key('--agent', '--prefix', 'ai')];
      const api = new Api(relays[2], owners);
      const [first, second] = [new Api(relays[0], agent), new Api(relays[1], agent)];
      const tunnel = await first.create({ local_port: 9, name, ttl: '10m', access: PASSWORD });
      const [taken, ...changes] = await Promise.all([
        api.send('POST', '/v1/tunnels', { json: { local_port: 9, name, take_over: true, ttl: '24h' } }),
        first.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: { links: true } }),
        second.send('PUT', `/v1/tunnels/${tunnel.id}/extend`, { json: { ttl: '5m' } }),
        second.send('POST', '/v1/tunnels', {
          json: { local_port: 9, name, take_over: true, access: { knock: true } },
        }),
      ]);
      assert.equal(taken.status, 200);
      // 400: it has the owner's 24 hours already, which no agent may extend.
      for (const { status } of changes) assert.ok([200, 400, 404, 409].includes(status), String(status));
      // The takeover of the owner is the last change, whenever it was.
      const { access, ttl } = await api.get(tunnel.id);
      assert.deepEqual([access, ttl], [{}, '24h0m0s']);
    }
  });
});
