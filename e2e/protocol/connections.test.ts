import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { TestAccount } from '../support/accounts.ts';
import { bothClients, type TunnelClient } from '../support/clients.ts';
import { hostOf } from '../support/manual-client.ts';
import { formatRequest, RawConnection, type Request } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import type { Scope } from '../support/scope.ts';
import { echo, readEcho } from '../support/services/echo.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

/** An echo service that identifies itself by a number. */
async function startNumberedEcho(scope: Scope, index: number): Promise<HttpService> {
  return await startHttpService(scope, (request, response) => {
    response.setHeader('Served-By', index);
    echo(request, response).catch(() => request.destroy());
  });
}

bothClients('several requests on one connection', (kind) => {
  const { scope, relay, pool } = sharedRelaySuite();
  let account: TestAccount;
  let clients: TunnelClient[];

  before(async () => {
    account = await pool.take();
    const services = await Promise.all([0, 1].map((index) => startNumberedEcho(scope, index)));
    clients = await Promise.all(
      services.map((service) => kind.start(scope, relay, account.key, { localPort: service.port })),
    );
  });

  function request(tunnel: number, target: string): Request {
    return { host: hostOf(clients[tunnel]?.tunnel ?? { slug: '' }, relay), target };
  }

  async function open(): Promise<RawConnection> {
    return await RawConnection.open(scope, relay.port);
  }

  it('to one tunnel', async () => {
    const connection = await open();
    for (let i = 0; i < 20; i += 1) {
      const body = 'x'.repeat(i * 100);
      const seen = readEcho(await connection.request({ ...request(0, `/${i}`), method: 'POST', body }));
      assert.deepEqual([seen.url, seen.length], [`/${i}`, body.length]);
    }
  });

  it('to two tunnels in turn', async () => {
    const connection = await open();
    for (let i = 0; i < 10; i += 1) {
      const answer = await connection.request(request(i % 2, `/${i}`));
      assert.equal(readEcho(answer).url, `/${i}`);
      assert.equal(answer.head.field('served-by'), String(i % 2));
    }
  });

  it('to tunnels, the API and unknown hosts in turn', async () => {
    const connection = await open();
    const api: Request = {
      host: `localhost:${relay.port}`,
      target: '/v1/tunnels',
      headers: [['Authorization', `Bearer ${account.key}`]],
    };
    for (let i = 0; i < 4; i += 1) {
      assert.equal(readEcho(await connection.request(request(0, `/${i}`))).url, `/${i}`);
      const list = JSON.parse((await connection.request(api)).text) as { tunnels: Tunnel[] };
      assert.equal(list.tunnels.length, 2);
      const onPath = `/t/${clients[1]?.tunnel.slug ?? ''}/${i}`;
      const answer = await connection.request({ host: api.host, target: onPath });
      assert.equal(answer.head.field('served-by'), '1');
      assert.equal((await connection.request({ host: api.host, target: '/healthz' })).status, 200);
    }
  });

  it('pipelined, with responses in their order', async () => {
    const connection = await open();
    const order = [0, 0, 1, 0, 1, 1];
    const bytes = order.map((tunnel, i) =>
      formatRequest({ ...request(tunnel, `/${i}`), method: 'PUT', body: `${i}` }),
    );
    await connection.write(Buffer.concat(bytes));
    for (const [i, tunnel] of order.entries()) {
      const answer = await connection.response();
      assert.equal(answer.head.field('served-by'), String(tunnel));
      assert.deepEqual([readEcho(answer).url, readEcho(answer).length], [`/${i}`, 1]);
    }
  });

  it('pipelined in the middle of a body and of a head', async () => {
    const connection = await open();
    const bytes = Buffer.concat([
      formatRequest({ ...request(0, '/first'), method: 'POST', body: 'hello' }),
      formatRequest(request(1, '/second')),
    ]);
    for (let at = 0; at < bytes.length; at += 37) {
      await connection.write(bytes.subarray(at, at + 37));
      await new Promise(setImmediate);
    }
    assert.equal(readEcho(await connection.response()).url, '/first');
    assert.equal(readEcho(await connection.response()).url, '/second');
  });

  it('until the visitor asks for the end', async () => {
    const connection = await open();
    readEcho(await connection.request(request(0, '/')));
    const last = await connection.request({ ...request(0, '/last'), headers: [['Connection', 'close']] });
    assert.equal(readEcho(last).url, '/last');
    assert.equal(await connection.ending, 'end');
  });
});
