import assert from 'node:assert/strict';
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api, assertError } from '../support/api.ts';
import { type Field, RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

/** Values of `Authorization`, and the error that they get. */
const FORMS: [text: string | undefined, forms: string[]][] = [
  [undefined, ['Bearer KEY', 'bearer KEY', 'BEARER KEY', 'bEaReR   KEY']],
  ['missing api key', ['Bearer', 'Bearer ', 'Basic KEY', 'KEY', 'Token KEY', '']],
  [
    'invalid api key',
    ['Bearer x', 'Bearer KEYx', 'Bearer KEY KEY', 'Bearer cvt_', `Bearer ${'x'.repeat(4000)}`],
  ],
];

describe('the REST interface', () => {
  const { scope, relay } = sharedRelaySuite();
  let account: TestAccount;
  let tunnel: Tunnel;

  before(async () => {
    account = await createAccount(relay);
    tunnel = await account.api.create({ local_port: 1 });
  });

  describe('authentication (protocol.md section 2.1)', () => {
    for (const [text, forms] of FORMS)
      for (const form of forms)
        it(`answers ${text ?? 'with the list'} to "${form.slice(0, 20)}"`, async () => {
          const headers: Field[] = [['Authorization', form.replaceAll('KEY', account.key)]];
          const answer = await new Api(relay, undefined).send('GET', '/v1/tunnels', { headers });
          if (text === undefined) assert.equal(answer.status, 200);
          else assertError(answer, 401, text);
        });

    it('is checked before the body', async () => {
      for (const body of ['not even JSON', 'x'.repeat(17_000)])
        assertError(
          await new Api(relay, undefined).send('POST', '/v1/tunnels', { body }),
          401,
          'missing api key',
        );
    });

    it('accepts the bootstrap key, whose account has the Dev plan', async () => {
      const { name, plan } = await new Api(relay, relay.bootstrapKey).account();
      assert.deepEqual([name, plan], ['default', 'dev']);
    });
  });

  describe('paths are exact', () => {
    const others = [
      '/',
      '/v1',
      '/v1/',
      '/v1/tunnels/',
      '/V1/tunnels',
      '/v1/Tunnels',
      '/v1/%74unnels',
      '//v1/tunnels',
      '/v1//tunnels',
      '/v1/./tunnels',
      '/v1/x/../tunnels',
      '/v1/tunnels/ID/',
      '/v1/tunnels/ID/extend/',
      '/v1/tunnels/ID/Extend',
      '/v1/tunnels/ID/close',
      '/v1/account/',
      '/v2/tunnels',
      '/tunnels',
      '/healthz/',
    ];
    for (const path of others)
      it(`${path} does not exist`, async () => {
        assertError(await account.api.send('GET', path.replace('ID', tunnel.id)), 404, 'not found');
      });

    it('a query does not matter', async () => {
      assert.equal((await account.api.send('GET', '/v1/tunnels?limit=1')).status, 200);
    });
  });

  describe('methods', () => {
    const routes: [path: string, allowed: string[], others: string[]][] = [
      ['/v1/tunnels', ['GET', 'POST'], ['PUT', 'DELETE', 'PATCH', 'OPTIONS']],
      ['/v1/tunnels/ID', ['GET', 'DELETE'], ['POST', 'PUT', 'PATCH']],
      ['/v1/tunnels/ID/extend', ['PUT'], ['GET', 'POST', 'DELETE']],
      ['/v1/account', ['GET'], ['POST', 'DELETE']],
      ['/healthz', ['GET'], ['POST']],
      ['/readyz', ['GET'], ['POST']],
      ['/ws/control', ['GET'], ['POST']],
      ['/ws/data', ['GET'], ['DELETE']],
    ];
    for (const [path, allowed, others] of routes) {
      it(`${path} allows ${allowed.join(', ')}`, async () => {
        for (const other of others) {
          const answer = await account.api.send(other, path.replace('ID', tunnel.id), { json: {} });
          assertError(answer, 405, 'method not allowed');
          const allow = (answer.head.field('allow') ?? '').split(/, */);
          assert.deepEqual(
            allow.filter((method) => method !== 'HEAD' && method !== 'OPTIONS').sort(),
            allowed.toSorted(),
          );
        }
      });
    }
  });

  describe('GET /v1/account', () => {
    it('shows the account and its limits', async () => {
      assert.deepEqual(await account.api.account(), {
        client_id: account.id,
        name: account.name,
        plan: 'dev',
        subdomain: null,
        limits: {
          default_ttl: '1h0m0s',
          max_ttl: '168h0m0s',
          creates_per_minute: 10,
          create_burst: 5,
          max_tunnels: 1000,
          max_connections: 10_000,
          max_domains: 5,
          max_tcp_tunnels: 2,
          name_hold: '24h0m0s',
        },
        agent_key: null,
      } satisfies Account);
    });

    it('shows plan and subdomain', async () => {
      const [free, acme] = await Promise.all([
        createAccount(relay, { plan: 'free' }),
        createAccount(relay, { plan: 'team', subdomain: 'shown' }),
      ]);
      assert.equal((await free.api.account()).plan, 'free');
      const { plan, subdomain } = await acme.api.account();
      assert.deepEqual([plan, subdomain], ['team', 'shown']);
    });
  });

  it('answers HEAD like GET, without the body', async () => {
    const [get, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) =>
        visit(relay.port, { method, host: `localhost:${relay.port}`, target: '/healthz' }),
      ),
    );
    assert.deepEqual([head?.status, head?.text], [200, '']);
    assert.equal(head?.head.field('content-length'), get?.head.field('content-length'));
  });

  it('accepts a chunked body of at most 16 KiB', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    const head = (length: number): string =>
      `POST /v1/tunnels HTTP/1.1\r\nHost: localhost:${relay.port}\r\nAuthorization: Bearer ${account.key}\r\n` +
      `Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n`;
    await connection.write(`${head(16)}{"local_port":1}\r\n0\r\n\r\n`);
    assert.equal((await connection.response()).status, 201);
    await connection.write(`${head(17_000)}${'{"local_port":1}'.padEnd(17_000)}\r\n0\r\n\r\n`);
    assert.equal((await connection.response()).status, 413);
  });

  it('writes no stack, path or version into an error', async () => {
    const answer = await account.api.send('GET', '/v1/tunnels/%00');
    assert.equal(answer.status, 404);
    assert.equal(answer.head.field('x-powered-by'), undefined);
  });
});
