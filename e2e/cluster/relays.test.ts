import assert from 'node:assert/strict';
import { LEAVE_TIMEOUT_MS } from '../../server/edge/timeouts.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { RelayCluster } from '../support/cluster.ts';
import { assertAtLimit, assertWithin, eventually, timed } from '../support/deadline.ts';
import { DataConnection } from '../support/manual-client.ts';
import { formatRequest, RawConnection, type Response, visit } from '../support/raw-http.ts';
import { assertBurst, CREATES } from '../support/rate-limit.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { ControlSocket, openData } from '../support/spec-client/client.ts';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const A = 0;
const B = 1;
const C = 2;

describe('three relays', function () {
  const suite = suiteScope();
  const scope = testScope();
  let cluster: RelayCluster;
  let account: TestAccount;

  before(async () => {
    cluster = await RelayCluster.start(suite, 3);
  });

  beforeEach(async () => {
    account = await createAccount(cluster.relay(A), { plan: 'team' });
  });

  function api(index: number): Api {
    return new Api(cluster.relay(index), account.key);
  }

  async function control(index: number, tunnel: Tunnel): Promise<ControlSocket> {
    return await ControlSocket.open(scope, cluster.relay(index), account.key, tunnel.id);
  }

  /** Responds to the connections announced on a control socket, through data sockets that land on a relay. */
  function serve(socket: ControlSocket, index: number, answer = ANSWER): void {
    socket.onMessage = ({ id }) => void serveOne(id, index, answer);
  }

  async function serveOne(id: string, index: number, answer: string): Promise<void> {
    const data = new DataConnection(id, await openData(scope, cluster.relay(index), id));
    await data.receivedUpTo('\r\n\r\n');
    data.send(answer);
  }

  async function request(index: number, tunnel: Tunnel): Promise<Response> {
    const { port } = cluster.relay(index);
    return await visit(port, { host: `${tunnel.slug}.localhost:${port}` });
  }

  for (const visitor of [A, B, C]) {
    for (const data of [A, B, C]) {
      it(`serve a visitor on ${'ABC'[visitor]} whose client is on A, through a data socket on ${'ABC'[data]}`, async () => {
        const tunnel = await api(C).create({ local_port: 9 });
        serve(await control(A, tunnel), data);
        const { status, body } = await request(visitor, tunnel);
        assert.deepEqual([status, body.toString()], [200, 'ok']);
      });
    }
  }

  it("pass bodies of a megabyte in both directions over a hop, and the visitor's end of the connection", async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    const socket = await control(A, tunnel);
    const { port } = cluster.relay(B);
    const visitor = await RawConnection.open(scope, port);
    const body = 'x'.repeat(1_000_000);
    void visitor.write(formatRequest({ method: 'POST', host: `${tunnel.slug}.localhost:${port}`, body }));
    const { id } = await eventually(20_000, () => {
      assert.ok(socket.messages[0] !== undefined);
      return socket.messages[0];
    });
    const data = new DataConnection(id, await openData(scope, cluster.relay(C), id));
    await eventually(20_000, () => assert.ok(data.received.length > body.length));
    data.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
    data.send(body);
    const answer = await visitor.response();
    assert.equal(answer.body.length, body.length);
    visitor.socket.destroy();
    await data.socket.closed;
  });

  it('end the data socket of a visitor who half-closes and receives nothing for 10 s, over a hop', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    const socket = await control(A, tunnel);
    const { port } = cluster.relay(B);
    const visitor = await RawConnection.open(scope, port);
    await visitor.write(formatRequest({ host: `${tunnel.slug}.localhost:${port}` }));
    const { id } = await eventually(20_000, () => socket.messages[0] ?? assert.fail('nothing was announced'));
    const data = new DataConnection(id, await openData(scope, cluster.relay(C), id));
    await eventually(20_000, () => assert.ok(data.received.length > 0));
    const { ms } = await timed(async () => {
      visitor.socket.destroy();
      await data.socket.closed;
    });
    assertAtLimit(ms, LEAVE_TIMEOUT_MS);
  });

  it('refuse a data socket with a used or unknown id, with the response of the relay that issued it', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    const socket = await control(A, tunnel);
    serve(socket, C);
    await request(B, tunnel);
    const id = socket.messages[0]?.id ?? '';
    for (const index of [A, B, C]) {
      await assert.rejects(openData(scope, cluster.relay(index), id), /404/);
    }
  });

  it('know a tunnel immediately after another one has created it, even if its name was requested before', async () => {
    const name = `n${Date.now().toString(36)}`;
    for (const index of [A, B, C]) assert.equal((await request(index, { slug: name } as Tunnel)).status, 404);
    const tunnel = await api(A).create({ local_port: 9, name });
    for (const index of [B, C]) {
      assert.equal((await api(index).get(tunnel.id)).id, tunnel.id);
      assert.equal((await request(index, tunnel)).head.field('culvert-error'), 'tunnel-offline');
    }
    await assert.rejects(api(B).create({ local_port: 9, name }), /409/);
  });

  it('close a tunnel everywhere within 1 s', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    const socket = await control(A, tunnel);
    serve(socket, B);
    assert.equal((await request(C, tunnel)).status, 200);
    await api(B).close(tunnel.id);
    await eventually(9000, async () => {
      for (const index of [A, B, C]) assert.equal((await request(index, tunnel)).status, 404);
    });
    assert.equal((await socket.closed).code, 4001);
  });

  it('extend a tunnel everywhere', async () => {
    const tunnel = await api(A).create({ local_port: 9, ttl: '1m' });
    await request(B, tunnel);
    const extended = await api(C).extend(tunnel.id, { ttl: '1h' });
    for (const index of [A, B])
      assert.equal((await api(index).get(tunnel.id)).expires_at, extended.expires_at);
  });

  it('let the newest control socket win', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    const first = await control(A, tunnel);
    const second = await control(B, tunnel);
    assert.equal((await first.closed).code, 4000);
    serve(second, C);
    assert.equal((await request(A, tunnel)).status, 200);
  });

  it('count across all relays, without losing or doubling anything', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    serve(await control(A, tunnel), B);
    for (let round = 0; round < 10; round += 1)
      await Promise.all([A, B, C].map((index) => request(index, tunnel)));
    await eventually(20_000, async () => {
      for (const index of [A, B, C]) assert.equal((await api(index).get(tunnel.id)).requests, 30);
    });
  });

  it('limit creates together', async () => {
    const { value, ms } = await timed(() =>
      Promise.allSettled(Array.from({ length: 9 }, (_, at) => api(at % 3).create({ local_port: 9 }))),
    );
    assertBurst({ count: value.filter(({ status }) => status === 'fulfilled').length, ms }, CREATES);
  });

  it('send one message through Redis for a request between relays, and none within one', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    serve(await control(A, tunnel), C);
    await request(A, tunnel);
    const count = async (index: number): Promise<{ sent: number; renewals: number }> => {
      const [before, begin] = [await cluster.redis.messages(), performance.now()];
      for (let time = 0; time < 50; time += 1) await request(index, tunnel);
      const sent = (await cluster.redis.messages()) - before;
      // Leases are renewed at the same time: three relays, two commands every 3 s each.
      const renewals = 6 * Math.ceil((performance.now() - begin) / 3000);
      return { sent, renewals };
    };
    const [within, between] = [await count(A), await count(B)];
    assert.ok(within.sent <= within.renewals + 6, `${within.sent} within`);
    assert.ok(between.sent <= 50 + between.renewals + 6 && between.sent >= 50, `${between.sent} between`);
  });

  it('hold the visitors of a client that moves to another relay', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    const first = await control(A, tunnel);
    first.socket.drop();
    await eventually(20_000, () => assert.match(cluster.relay(A).child.stderr, /client offline/));
    const waiting = request(B, tunnel);
    serve(await control(C, tunnel), A);
    assert.equal((await waiting).status, 200);
  });

  it('lose nothing else when one of them dies', async () => {
    const tunnel = await api(A).create({ local_port: 9 });
    serve(await control(A, tunnel), C);
    assert.equal((await request(B, tunnel)).status, 200);
    await cluster.relay(A).stop('SIGKILL');
    const { value, ms } = await timed(async () => {
      const waiting = request(B, tunnel);
      serve(await control(C, tunnel), B);
      return await waiting;
    });
    assert.equal(value.status, 200);
    assertWithin(ms, 10_000);
    await cluster.relay(A).restart();
    assert.equal((await request(A, tunnel)).status, 200);
  });

  it('without Redis, serve requests within one relay, otherwise report why not, and recover within 5 s', async () => {
    const [here, there] = [await api(A).create({ local_port: 9 }), await api(A).create({ local_port: 9 })];
    serve(await control(B, here), B);
    serve(await control(A, there), A);
    assert.equal((await request(B, there)).status, 200);
    await cluster.redis.stop();
    await eventually(20_000, () => assert.match(cluster.relay(B).child.stderr, /redis failing/));
    assert.equal((await request(B, here)).status, 200);
    const { status, body } = await request(B, there);
    assert.equal(status, 503);
    assert.match(body.toString(), /relays of this service cannot reach each other/);
    await cluster.redis.resume();
    const { ms } = await timed(() =>
      eventually(20_000, async () => assert.equal((await request(B, there)).status, 200)),
    );
    assertWithin(ms, 5000);
    assert.equal((await request(B, here)).status, 200);
  });
});
