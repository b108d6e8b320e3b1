import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { eventually, within } from '../support/deadline.ts';
import { formatRequest, RawConnection } from '../support/raw-http.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { ControlSocket } from '../support/spec-client/control.ts';
import { TrunkClient, type TrunkClientStream } from '../support/spec-client/trunk.ts';

/** 'half' of 'halfdone' */
const HALF = 'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf';
const A = 0;
const C = 1;

async function closeCode(trunk: TrunkClient): Promise<number> {
  return (await within(20_000, 'end of the trunk', trunk.closed)).code;
}

/** A balancer spreads a client's trunks over all relays: each brings the visitors that come to where it landed. */
describe('a trunk that lands on a relay without the control socket', function () {
  this.timeout(600_000);
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

  async function open(): Promise<TrunkClient> {
    return await TrunkClient.open(scope, cluster.relay(C), account.key, tunnel.id);
  }

  async function control(): Promise<ControlSocket> {
    return await ControlSocket.open(scope, cluster.relay(A), account.key, tunnel.id);
  }

  /** A visitor of a relay who has sent a request. */
  async function visitor(relay: number): Promise<RawConnection> {
    const { port } = cluster.relay(relay);
    const connection = await RawConnection.open(scope, port);
    await connection.write(formatRequest({ host: `${tunnel.slug}.localhost:${port}`, target: '/some' }));
    return connection;
  }

  /** One who has come through the trunk and been sent half of a response. */
  async function halfway(trunk: TrunkClient): Promise<{ stream: TrunkClientStream; rest: Promise<string> }> {
    const connection = await visitor(C);
    const stream = await trunk.accept();
    assert.match(await stream.receivedUpTo('\r\n\r\n'), /^GET \/some HTTP\/1\.1\r\n/);
    stream.send(HALF);
    const head = await connection.finalHead();
    const rest = connection.rest(head).then(
      ({ text }) => text,
      () => 'broken',
    );
    return { stream, rest };
  }

  it('brings the visitors who come there, without a message; others are announced', async () => {
    const { messages } = await control();
    const trunk = await open();
    const { stream, rest } = await halfway(trunk);
    assert.deepEqual(messages, []);
    stream.send('done');
    assert.equal(await rest, 'halfdone');
    await visitor(A);
    await eventually(20_000, () => assert.equal(messages.length, 1));
    assert.equal(trunk.waiting, 0);
  });

  it('is refused with 404 while there is no control socket at all', async () => {
    await assert.rejects(open(), /404/);
  });

  for (const [what, end] of [
    ['is replaced', () => control()],
    ['has ended', (held: ControlSocket) => held.socket.drop()],
  ] as const) {
    it(`brings nobody when the control socket ${what}, and closes behind the last it has`, async () => {
      const held = await control();
      const trunk = await open();
      const { stream, rest } = await halfway(trunk);
      const unused = await open();
      await end(held);
      assert.equal(await closeCode(unused), 1000);
      stream.send('done');
      assert.equal(await rest, 'halfdone');
      stream.end();
      assert.equal(await closeCode(trunk), 1000);
    });
  }

  it('ends with 4001 when the tunnel is closed, and its visitors are cut', async () => {
    await control();
    const trunk = await open();
    const { rest } = await halfway(trunk);
    await new Api(cluster.relay(A), account.key).close(tunnel.id);
    assert.equal(await closeCode(trunk), 4001);
    assert.equal(await rest, 'broken');
  });

  it('ends with 4003 when the key is revoked, and its visitors are cut', async () => {
    await control();
    const trunk = await open();
    const { rest } = await halfway(trunk);
    await administer(cluster.relay(A), 'key', 'revoke', account.keyId);
    assert.equal(await closeCode(trunk), 4003);
    assert.equal(await rest, 'broken');
  });
});
