import assert from 'node:assert/strict';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually, within } from '../support/deadline.ts';
import { testScope } from '../support/scope.ts';
import { ControlSocket } from '../support/spec-client/client.ts';

const SOON_MS = 15_000;

describe('resuming a tunnel at another relay (protocol.md section 3.2)', () => {
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let apis: Api[];

  before(async () => {
    cluster = await RelayCluster.shared();
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(0), { plan: 'team' });
    apis = [0, 1, 2].map((index) => new Api(cluster.relay(index), account.key));
  });

  async function everywhere(check: (api: Api) => Promise<void>): Promise<void> {
    for (const api of apis) await eventually(SOON_MS, () => check(api));
  }

  it('every relay knows whether the client is connected, wherever it is', async () => {
    const [first] = apis;
    assert.ok(first !== undefined);
    const tunnel = await first.create({ local_port: 3000, name: 'there' });
    await everywhere(async (api) => assert.equal((await api.get(tunnel.id)).online, false));
    const control = await ControlSocket.open(scope, cluster.relay(1), account.key, tunnel.id);
    await everywhere(async (api) =>
      assert.deepEqual(
        (await api.list()).map(({ online }) => online),
        [true],
      ),
    );
    control.socket.drop();
    await everywhere(async (api) => assert.equal((await api.get(tunnel.id)).online, false));
  });

  it('all relays follow, and the previous client is disconnected when the new one connects', async () => {
    const [first, , third] = apis;
    assert.ok(first !== undefined && third !== undefined);
    const tunnel = await first.create({ local_port: 3000, name: 'moved', ttl: '4h' });
    const control = await ControlSocket.open(scope, cluster.relay(1), account.key, tunnel.id);
    const json = { local_port: 4000, name: 'moved', ttl: '20s', take_over: true };
    const taken = await third.send('POST', '/v1/tunnels', { json });
    assert.equal(taken.status, 200);
    await everywhere(async (api) => {
      const { id, local_port, ttl, expires_at } = await api.get(tunnel.id);
      assert.deepEqual([id, local_port, ttl], [tunnel.id, 4000, '20s']);
      assert.equal(expires_at, (taken.json as { expires_at: string }).expires_at);
    });
    const newer = await ControlSocket.open(scope, cluster.relay(2), account.key, tunnel.id);
    assert.equal((await within(SOON_MS, 'replacement', control.closed)).code, 4000);
    assert.equal((await within(40_000, 'expiry', newer.closed)).code, 4002);
    await everywhere(async (api) => assert.deepEqual(await api.list(), []));
  });
});
