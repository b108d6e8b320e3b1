import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { within } from '../support/deadline.ts';
import { DataConnection } from '../support/manual-client.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { ControlSocket } from '../support/spec-client/control.ts';
import { WebSocketClient } from '../support/spec-client/websocket.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwarm';
const A = 0;
const C = 1;

async function closeCode({ socket }: DataConnection): Promise<number> {
  return (await within(20_000, 'end of the data socket', socket.closed)).code;
}

/** A balancer spreads a client's offers over all relays: each serves the visitors of the relay where it landed. */
describe('a warm data socket that lands on a relay without the control socket', function () {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;
  let tunnel: Tunnel;

  before(async () => {
    cluster = await RelayCluster.start(suite, 2);
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(A), { plan: 'team' });
    tunnel = await new Api(cluster.relay(A), account.key).create({ local_port: 9 });
  });

  async function offer(): Promise<DataConnection> {
    const { port } = cluster.relay(C);
    const socket = await WebSocketClient.open(scope, {
      port,
      host: `localhost:${port}`,
      target: `/ws/data?tunnel_id=${tunnel.id}`,
      headers: [['Authorization', `Bearer ${account.key}`]],
    });
    return new DataConnection('', socket);
  }

  async function control(): Promise<ControlSocket> {
    return await ControlSocket.open(scope, cluster.relay(A), account.key, tunnel.id);
  }

  it('serves a visitor there, without a message', async () => {
    const { messages } = await control();
    const warm = await offer();
    const { port } = cluster.relay(C);
    const visitor = await RawConnection.open(scope, port);
    await visitor.write(formatRequest({ host: `${tunnel.slug}.localhost:${port}`, target: '/some' }));
    assert.match(await warm.receivedUpTo('\r\n\r\n'), /^GET \/some HTTP\/1\.1\r\n/);
    warm.send(ANSWER);
    assert.equal((await visitor.response()).text, 'warm');
    assert.deepEqual(messages, []);
  });

  it('is refused with 404 while there is no control socket at all', async () => {
    await assert.rejects(offer(), /404/);
  });

  it('ends when the control socket is replaced or has ended, or the tunnel is closed', async () => {
    await control();
    const replaced = await offer();
    const second = await control();
    assert.equal(await closeCode(replaced), 4000);
    const left = await offer();
    second.socket.drop();
    assert.equal(await closeCode(left), 1001);
    await control();
    const closed = await offer();
    await new Api(cluster.relay(A), account.key).close(tunnel.id);
    assert.equal(await closeCode(closed), 4001);
  });

  it('ends with 4003 when the key is revoked', async () => {
    await control();
    const warm = await offer();
    await administer(cluster.relay(A), 'key', 'revoke', account.keyId);
    assert.equal(await closeCode(warm), 4003);
  });

  it('is not asked about again while the control socket stays', async () => {
    await control();
    await offer();
    const before = (await cluster.redis.counters()).scripts;
    for (let count = 0; count < 7; count += 1) await offer();
    // Two relays may have renewed their leases meanwhile, which takes two scripts each.
    assert.ok((await cluster.redis.counters()).scripts - before <= 4);
  });
});
