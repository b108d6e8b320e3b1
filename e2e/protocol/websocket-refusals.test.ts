import assert from 'node:assert/strict';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { documentedCode } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import { ManualClient } from '../support/manual-client.ts';
import { newApiKey } from '../support/programs.ts';
import {
  type Field,
  formatRequest,
  RawConnection,
  type Response,
  visit,
  WEBSOCKET,
} from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const UNKNOWN = '2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47';

function bearer(key: string): Field {
  return ['Authorization', `Bearer ${key}`];
}

function assertRefused(answer: Response, status: number, text?: string): void {
  assert.equal(answer.status, status);
  assert.equal(answer.head.field('content-type'), 'application/json; charset=utf-8');
  const body = JSON.parse(answer.text) as { error: string };
  assert.deepEqual(body, { error: body.error, code: documentedCode(body.error) });
  if (text !== undefined) assert.equal(body.error, text);
}

describe('refusals before a WebSocket is opened (protocol.md section 5.4)', () => {
  const { scope, relay, pool } = sharedRelaySuite();
  let stranger: TestAccount;

  before(async () => {
    stranger = await createAccount(relay);
  });

  async function ask(target: string, headers: readonly Field[]): Promise<Response> {
    return await visit(relay.port, { host: `localhost:${relay.port}`, target, headers });
  }

  it('426 before any other check without an upgrade, which keeps the connection open', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    const host = `localhost:${relay.port}`;
    for (const [target, status] of [
      ['/ws/control', 426],
      ['/ws/data', 426],
      [`/ws/data?id=${UNKNOWN}`, 426],
      ['/v1/account', 401],
      ['/healthz', 200],
    ] as const) {
      assert.equal((await connection.request({ host, target })).status, status);
    }
  });

  describe('/ws/control', () => {
    it('400 without tunnel_id, even before the key', async () => {
      assertRefused(await ask('/ws/control', WEBSOCKET), 400);
      assertRefused(await ask('/ws/control?tunnel_id=', WEBSOCKET), 400);
      assertRefused(await ask(`/ws/control?id=${UNKNOWN}`, WEBSOCKET), 400);
    });

    it('401 without a key, and with one that does not exist, even before the tunnel', async () => {
      const target = `/ws/control?tunnel_id=${UNKNOWN}`;
      assertRefused(await ask(target, WEBSOCKET), 401, 'missing api key');
      assertRefused(await ask(target, [...WEBSOCKET, bearer(newApiKey())]), 401, 'invalid api key');
    });

    it('404 for a tunnel that is unknown, closed, expired, not a UUID or owned by another account', async () => {
      const account = await createAccount(relay);
      const closed = await account.api.create({ local_port: 1 });
      await account.api.close(closed.id);
      const expired = await account.api.create({ local_port: 1, ttl: '1s' });
      const foreign = await stranger.api.create({ local_port: 1 });
      await eventually(20_000, async () =>
        assert.equal((await account.api.send('GET', `/v1/tunnels/${expired.id}`)).status, 404),
      );
      for (const id of [UNKNOWN, closed.id, expired.id, 'my-app', foreign.id]) {
        const answer = await ask(`/ws/control?tunnel_id=${id}`, [...WEBSOCKET, bearer(account.key)]);
        assertRefused(answer, 404, 'tunnel not found');
      }
    });
  });

  describe('/ws/data', () => {
    it('400 without id, and with id and tunnel_id together, even before the key', async () => {
      assertRefused(await ask('/ws/data', WEBSOCKET), 400);
      assertRefused(await ask('/ws/data?id=', WEBSOCKET), 400);
      assertRefused(await ask(`/ws/data?id=${UNKNOWN}&tunnel_id=${UNKNOWN}`, WEBSOCKET), 400);
    });

    it('401 for a key that does not exist, even before the id', async () => {
      const answer = await ask(`/ws/data?id=${UNKNOWN}`, [...WEBSOCKET, bearer(newApiKey())]);
      assertRefused(answer, 401, 'invalid api key');
    });

    it('404 for an id that is unknown or not a UUID', async () => {
      for (const id of [UNKNOWN, 'x']) {
        assertRefused(await ask(`/ws/data?id=${id}`, WEBSOCKET), 404, 'connection not found');
      }
    });

    it('404 for a tunnel_id, even if its client is connected: data sockets can no longer be offered', async () => {
      const { tunnel, account } = await ManualClient.start(scope, relay, pool);
      const target = `/ws/data?tunnel_id=${tunnel.id}`;
      assertRefused(await ask(target, [...WEBSOCKET, bearer(account.key)]), 404, 'connection not found');
      assertRefused(await ask(target, WEBSOCKET), 404, 'connection not found');
      assertRefused(await ask(target, [...WEBSOCKET, bearer(newApiKey())]), 401, 'invalid api key');
      assertRefused(await ask(target, [bearer(account.key)]), 426);
    });

    it('404 for an id already used', async () => {
      const client = await ManualClient.start(scope, relay, pool);
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      const data = await client.accept();
      assertRefused(await ask(`/ws/data?id=${data.id}`, WEBSOCKET), 404, 'connection not found');
      data.send('HTTP/1.1 204 No Content\r\n\r\n');
      assert.equal((await visitor.response()).status, 204);
      assertRefused(await ask(`/ws/data?id=${data.id}`, WEBSOCKET), 404, 'connection not found');
    });

    it('404 for another account’s id, and no refused attempt uses it up', async () => {
      const client = await ManualClient.start(scope, relay, pool);
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      const id = await client.announced();
      const target = `/ws/data?id=${id}`;
      assertRefused(await ask(target, []), 426);
      assertRefused(await ask(`${target}&tunnel_id=${client.tunnel.id}`, WEBSOCKET), 400);
      assertRefused(await ask(target, [...WEBSOCKET, bearer(newApiKey())]), 401, 'invalid api key');
      assertRefused(await ask(target, [...WEBSOCKET, bearer(stranger.key)]), 404, 'connection not found');
      const data = await client.open(id);
      data.send('HTTP/1.1 204 No Content\r\n\r\n');
      assert.equal((await visitor.response()).status, 204);
    });

    it('an id is accepted with the owner’s key as well as without', async () => {
      const client = await ManualClient.start(scope, relay, pool);
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write(
        formatRequest({
          host: `localhost:${relay.port}`,
          target: `/ws/data?id=${await client.announced()}`,
          headers: [...WEBSOCKET, bearer(client.account.key)],
        }),
      );
      assert.equal((await connection.finalHead()).status, 101);
    });
  });

  describe('the handshake', () => {
    it('accepts the key as RFC 6455 says and negotiates no extension', async () => {
      const { tunnel, account } = await pool.tunnel();
      const connection = await RawConnection.open(scope, relay.port);
      const offer: Field = ['Sec-WebSocket-Extensions', 'permessage-deflate; client_max_window_bits'];
      await connection.write(
        formatRequest({
          host: `localhost:${relay.port}`,
          target: `/ws/control?tunnel_id=${tunnel.id}`,
          headers: [...WEBSOCKET, offer, bearer(account.key)],
        }),
      );
      const head = await connection.finalHead();
      assert.equal(head.status, 101);
      // The example of RFC 6455 section 1.3.
      assert.equal(head.field('sec-websocket-accept'), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
      assert.equal(head.field('sec-websocket-extensions'), undefined);
    });

    it('negotiates no extension on a data socket either', async () => {
      const client = await ManualClient.start(scope, relay, pool);
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(formatRequest({ host: client.host }));
      const connection = await RawConnection.open(scope, relay.port);
      await connection.write(
        formatRequest({
          host: `localhost:${relay.port}`,
          target: `/ws/data?id=${await client.announced()}`,
          headers: [...WEBSOCKET, ['Sec-WebSocket-Extensions', 'permessage-deflate']],
        }),
      );
      const head = await connection.finalHead();
      assert.deepEqual([head.status, head.field('sec-websocket-extensions')], [101, undefined]);
    });

    it('asks for version 13 if another is offered', async () => {
      const { tunnel, account } = await pool.tunnel();
      const headers = WEBSOCKET.map(([name, value]): Field => [
        name,
        name === 'Sec-WebSocket-Version' ? '8' : value,
      ]);
      const answer = await ask(`/ws/control?tunnel_id=${tunnel.id}`, [...headers, bearer(account.key)]);
      assert.ok(answer.status === 426 || answer.status === 400, String(answer.status));
    });
  });
});
