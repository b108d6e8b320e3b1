import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { ACCESS_POLL_MS, READY_TIMEOUT_MS } from '../limits.ts';
import { ApiFixture, type ApiResponse, anAccount } from '../testing/fixtures.ts';

describe('the REST interface', () => {
  const account = anAccount({ name: 'acme', plan: 'free' });
  let api: ApiFixture;

  beforeEach(async () => {
    api = await ApiFixture.start(account);
  });

  afterEach(() => api.stop());

  /** Sends bytes as they are and reads until the server closes. */
  function send(bytes: string): Promise<string> {
    const socket = connect(api.port, '127.0.0.1');
    socket.end(bytes);
    return text(socket);
  }

  it('checks the key again after a slow body', async () => {
    const key = await api.keyOf(account);
    const body = '{"local_port":3000}';
    const slowly = async (meanwhile: () => void | Promise<void>): Promise<string> => {
      const socket = connect(api.port, '127.0.0.1');
      const fields = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}`;
      const good = new Promise<void>((resolve) => (api.onKeyUse = resolve));
      socket.write(`POST /v1/tunnels HTTP/1.1\r\n${fields}\r\n\r\n{`);
      await good;
      await meanwhile();
      socket.end(body.slice(1));
      return await text(socket);
    };
    assert.match(await slowly(() => api.clock.advance(ACCESS_POLL_MS)), /^HTTP\/1.1 201 /);
    const revoked = slowly(async () => {
      await api.revoke(key);
      api.clock.advance(ACCESS_POLL_MS);
    });
    assert.match(await revoked, /^HTTP\/1.1 401 /);
  });

  it('treats null in an optional field of a request as missing', async () => {
    const key = await api.keyOf(account);
    const ask = async (method: string, path: string, body: object, as = key): Promise<ApiResponse> =>
      await api.call(method, path, { key: as, body: JSON.stringify(body) });
    const open = { allow: null, basic: null, password: null, links: null, knock: null };
    const optional = { name: null, ttl: null, idle_ttl: null, access: null, take_over: null, domain: null };
    const { status, body } = await ask('POST', '/v1/tunnels', { local_port: 1, ...optional });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal((await ask('POST', '/v1/tunnels', { local_port: 1, access: open })).status, 201);
    const path = `/v1/tunnels/${String(body['id'])}`;
    assert.equal((await ask('PUT', `${path}/extend`, { ttl: null })).status, 200);
    assert.equal((await ask('PUT', `${path}/access`, open)).status, 200);
    assert.equal((await ask('PUT', `${path}/access`, { ...open, links: true })).status, 200);
    assert.equal((await ask('POST', `${path}/links`, { ttl: null, note: null, path: null })).status, 201);
    const admin = await api.keyOf(account, { scope: { kind: 'admin' } });
    const made = { name: 'beta', plan: null, subdomain: null, with_key: null };
    const { body: beta } = await ask('POST', '/v1/admin/accounts', made, admin);
    assert.equal(beta['plan'], 'dev');
    const invite = { account: 'beta', plan: null, ttl: null, count: null };
    const { body: invited } = await ask('POST', '/v1/admin/invites', invite, admin);
    const [{ url }] = invited['invites'] as [{ url: string }];
    const taken = await ask('POST', `/v1/invites/${url.split('/').at(-1)}`, { machine: null }, '');
    assert.equal(taken.status, 201);
    const keyPath = `/v1/admin/accounts/${String(beta['id'])}/keys`;
    assert.equal((await ask('POST', keyPath, { label: null, expires: null, name: null }, admin)).status, 201);
  });

  it('shows the account behind a key', async () => {
    const { status, body } = await api.call('GET', '/v1/account', { key: await api.keyOf(account) });
    assert.equal(status, 200);
    assert.deepEqual(body, {
      client_id: account.id,
      name: 'acme',
      plan: 'free',
      subdomain: null,
      agent_key: null,
      limits: {
        default_ttl: '1h0m0s',
        max_ttl: '24h0m0s',
        creates_per_minute: 10,
        create_burst: 5,
        max_tunnels: 20,
        max_connections: 200,
        max_domains: 0,
      },
    });
  });

  for (const path of ['/v1/account', '/v1/tunnels', '/v1/tunnels/x']) {
    it(`asks for a key at ${path}`, async () => {
      const { status, headers, body } = await api.call('GET', path);
      assert.deepEqual([status, body], [401, { error: 'missing api key', code: 'missing-key' }]);
      assert.equal(headers.get('www-authenticate'), 'Bearer');
    });
  }

  const otherPaths = [
    '/',
    '/v1',
    '/v1/',
    '/v1/tunnels/',
    '/V1/tunnels',
    '/v1/Tunnels',
    '/v1//tunnels',
    '//v1/tunnels',
    '/v1/t%75nnels',
    '/v1/tunnels/x/extend/',
    '/v1/tunnels/x/y',
    '/healthz/',
  ];
  for (const path of otherPaths) {
    it(`answers ${path} with 404`, async () => {
      const { status, body } = await api.call('GET', path);
      assert.deepEqual([status, body], [404, { error: 'not found', code: 'not-found' }]);
    });
  }

  it('responds 404 to a path that Koa would correct', async () => {
    assert.match(await send(getRequest('/healthz')), /^HTTP\/1\.1 200 /);
    assert.match(await send(getRequest('/healthz#x')), /^HTTP\/1\.1 404 /);
  });

  const methods: [method: string, path: string, allow: string][] = [
    ['PUT', '/v1/tunnels', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/tunnels', 'GET, HEAD, POST'],
    ['POST', '/v1/tunnels/x', 'DELETE, GET, HEAD'],
    ['GET', '/v1/tunnels/x/extend', 'PUT'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['POST', '/ws/control', 'GET, HEAD'],
    ['DELETE', '/ws/data', 'GET, HEAD'],
  ];
  for (const [method, path, allow] of methods) {
    it(`refuses ${method} ${path} and says what is allowed`, async () => {
      const { status, headers, body } = await api.call(method, path);
      assert.deepEqual([status, body], [405, { error: 'method not allowed', code: 'method-not-allowed' }]);
      assert.equal(headers.get('allow')?.split(', ').sort().join(', '), allow);
    });
  }

  it('answers HEAD like GET, without the body', async () => {
    const [get, head] = [await api.call('GET', '/healthz'), await api.call('HEAD', '/healthz')];
    assert.deepEqual([head.status, head.body], [200, {}]);
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  });

  for (const path of ['/ws/control?tunnel_id=x', '/ws/data?id=x']) {
    it(`says that ${path} needs an upgrade`, async () => {
      const { status, headers, body } = await api.call('GET', path);
      assert.deepEqual(
        [status, body],
        [426, { error: 'websocket upgrade required', code: 'upgrade-required' }],
      );
      assert.equal(headers.get('upgrade'), 'websocket');
      assert.equal(headers.get('connection'), 'Upgrade');
    });
  }

  it('is healthy even when it is not ready', async () => {
    const statuses = async () => {
      const [health, ready] = [await api.call('GET', '/healthz'), await api.call('GET', '/readyz')];
      return [health.status, ready.status];
    };
    assert.deepEqual(await statuses(), [200, 200]);
    api.storeDown = true;
    assert.deepEqual(await statuses(), [200, 503]);
    api.storeDown = false;
    api.draining = true;
    assert.deepEqual(await statuses(), [200, 503]);
    assert.deepEqual((await api.call('HEAD', '/readyz')).status, 503);
    const { headers, body } = await api.call('GET', '/readyz');
    assert.deepEqual(
      [headers.get('retry-after'), body],
      ['1', { error: 'service unavailable', code: 'unavailable' }],
    );
  });

  it('is not ready if the store takes longer than a probe waits', async () => {
    const asked = new Promise<void>((resolve) => {
      api.ping = () => {
        resolve();
        return new Promise(() => {});
      };
    });
    const answer = api.call('GET', '/readyz');
    await asked;
    api.clock.advance(READY_TIMEOUT_MS);
    assert.equal((await answer).status, 503);
  });

  it('responds to a bug with an id that is in the log, and nothing else', async () => {
    api.tunnels.list = () => {
      throw new Error('secret details');
    };
    const { status, headers, body } = await api.call('GET', '/v1/tunnels', { key: await api.keyOf(account) });
    assert.deepEqual([status, body], [500, { error: 'internal error', code: 'internal-error' }]);
    const internal = api.logged.filter(([event]) => event === 'internal error');
    assert.deepEqual(
      internal.map(([, { request_id, at, error }]) => ({ request_id, at, error })),
      [{ request_id: headers.get('x-request-id'), at: 'GET /v1/tunnels', error: 'secret details' }],
    );
  });

  it('gives each request its own id and accepts none from the sender', async () => {
    const given = '2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47';
    const answer = await send(
      `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${given}\r\n\r\nGET /none HTTP/1.1\r\nHost: x\r\n\r\n`,
    );
    const ids = [...answer.matchAll(/^X-Request-Id: ([-0-9a-f]{36})\r$/gm)].map(([, id]) => id);
    assert.equal(new Set([...ids, given]).size, 3);
  });

  it('does not report a client that aborts its request', async () => {
    const key = await api.keyOf(account);
    await send(
      `POST /v1/tunnels HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 99\r\n\r\n{`,
    );
    assert.deepEqual(api.logged, []);
  });

  it('does not decompress bodies', async () => {
    const key = await api.keyOf(account);
    const answer = await send(
      `POST /v1/tunnels HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Encoding: gzip\r\n` +
        'Connection: close\r\nContent-Length: 2\r\n\r\n{}',
    );
    assert.match(answer, /^HTTP\/1\.1 400 [^]*\{"error":"invalid request body","code":"invalid-body"\}$/);
  });
});

function getRequest(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
}
