import assert from 'node:assert/strict';
import type { Account, Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api, type ApiResponse, assertError } from '../support/api.ts';
import { newApiKey, type Relay } from '../support/programs.ts';
import { RawConnection, visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const ENDPOINTS: [method: string, path: string][] = [
  ['POST', '/v1/tunnels'],
  ['GET', '/v1/tunnels'],
  ['GET', '/v1/tunnels/2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47'],
  ['DELETE', '/v1/tunnels/2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47'],
  ['PUT', '/v1/tunnels/2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47/extend'],
  ['GET', '/v1/account'],
];

/** Lists tunnels with a given `Authorization` field. */
async function authorized(relay: Relay, value: string): Promise<ApiResponse> {
  return await new Api(relay, undefined).send('GET', '/v1/tunnels', { headers: [['Authorization', value]] });
}

describe('the REST interface', () => {
  const { scope, relay } = sharedRelaySuite();
  let account: TestAccount;
  let tunnel: Tunnel;

  before(async () => {
    account = await createAccount(relay);
    tunnel = await account.api.create({ local_port: 1 });
  });

  describe('authentication (protocol.md section 2.1)', () => {
    for (const [method, path] of ENDPOINTS) {
      it(`${method} ${path} needs a key`, async () => {
        const answer = await new Api(relay, undefined).send(method, path, { body: 'not even JSON' });
        assertError(answer, 401, 'missing api key');
        assert.equal(answer.head.field('www-authenticate'), 'Bearer');
      });

      it(`${method} ${path} needs a valid key`, async () => {
        const answer = await new Api(relay, newApiKey()).send(method, path, { body: 'not even JSON' });
        assertError(answer, 401, 'invalid api key');
        assert.equal(answer.head.field('www-authenticate'), 'Bearer');
      });
    }

    for (const form of ['Bearer KEY', 'bearer KEY', 'BEARER KEY', 'bEaReR   KEY']) {
      it(`accepts "${form}"`, async () => {
        assert.equal((await authorized(relay, form.replace('KEY', account.key))).status, 200);
      });
    }

    for (const form of ['Bearer', 'Bearer ', 'Basic KEY', 'KEY', 'Token KEY', '']) {
      it(`finds no key in "${form}"`, async () => {
        assertError(await authorized(relay, form.replace('KEY', account.key)), 401, 'missing api key');
      });
    }

    for (const form of [
      'Bearer x',
      'Bearer KEYx',
      'Bearer KEY KEY',
      'Bearer cvt_',
      `Bearer ${'x'.repeat(4000)}`,
    ]) {
      it(`does not accept "${form.slice(0, 20)}"`, async () => {
        assertError(await authorized(relay, form.replaceAll('KEY', account.key)), 401, 'invalid api key');
      });
    }

    it('is checked before the size of the body', async () => {
      const answer = await new Api(relay, undefined).send('POST', '/v1/tunnels', {
        body: 'x'.repeat(17_000),
      });
      assertError(answer, 401, 'missing api key');
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
    for (const path of others) {
      it(`${path} does not exist`, async () => {
        assertError(await account.api.send('GET', path.replace('ID', tunnel.id)), 404, 'not found');
      });
    }

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
        const answers = await Promise.all(
          others.map((method) => account.api.send(method, path.replace('ID', tunnel.id), { json: {} })),
        );
        for (const answer of answers) {
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

  describe('health', () => {
    for (const path of ['/healthz', '/readyz']) {
      it(`${path} answers 200 without a key`, async () => {
        assert.equal(
          (await visit(relay.port, { host: `localhost:${relay.port}`, target: path })).status,
          200,
        );
      });
    }
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
