/** What takes a clock that the test sets, a store that fails, or a bug. `e2e/protocol` has the other promises. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { ACCESS_POLL_MS } from '../accounts/authenticator.ts';
import { ApiFixture, anAccount, codeOf } from '../testing/fixtures.ts';
import { READY_TIMEOUT_MS } from './relay-routes.ts';

const PROBES = ['/healthz', '/readyz'];

describe('the REST interface', () => {
  const account = anAccount();
  let api: ApiFixture;
  let key: string;

  beforeEach(async () => {
    api = await ApiFixture.start(account);
    key = await api.keyOf(account);
  });

  afterEach(() => api.stop());

  /** Sends a request in pieces, and reads until the server closes. */
  async function send(line: string, fields: string, body = '', between?: () => Promise<void>) {
    const socket = connect(api.port, '127.0.0.1');
    socket.write(`${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}\r\n${body.slice(0, 1)}`);
    await between?.();
    socket.end(body.slice(1));
    return await text(socket);
  }

  for (const isRevoked of [false, true])
    it(`checks again after a slow body whether the key ${isRevoked ? 'is revoked' : 'is valid'}`, async () => {
      const used = new Promise<void>((resolve) => (api.onKeyUse = resolve));
      const body = '{"local_port":3000}';
      const fields = `Authorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n`;
      const answer = await send('POST /v1/tunnels', fields, body, async () => {
        await used;
        if (isRevoked) await api.revoke(key);
        api.clock.advance(ACCESS_POLL_MS);
      });
      assert.match(answer, isRevoked ? /^HTTP\/1.1 401 / : /^HTTP\/1.1 201 /);
    });

  it('responds 404 to a path that Koa would correct', async () => {
    assert.match(await send('GET /healthz', ''), /^HTTP\/1\.1 200 /);
    assert.match(await send('GET /healthz#x', ''), /^HTTP\/1\.1 404 /);
  });

  for (const [what, storeDown, draining, ready] of [
    ['at first', false, false, 200],
    ['while the store is down', true, false, 503],
    ['while it shuts down', false, true, 503],
  ] as const)
    it(`is healthy, and ready with ${ready}, ${what}`, async () => {
      api.storeDown = storeDown;
      api.draining = draining;
      for (const method of ['GET', 'HEAD']) {
        const [health, answer] = await Promise.all(PROBES.map((path) => api.call(method, path)));
        assert.deepEqual([health?.status, answer?.status], [200, ready]);
        assert.equal(answer?.headers.get('retry-after'), ready === 503 ? '1' : null);
      }
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
    assert.equal(codeOf(await answer), '503 unavailable');
  });

  it('responds to a bug with an id that is in the log, and nothing else', async () => {
    api.tunnels.list = () => {
      throw new Error('secret details');
    };
    const { status, headers, body } = await api.call('GET', '/v1/tunnels', key);
    assert.deepEqual([status, body], [500, { error: 'internal error', code: 'internal-error' }]);
    const internal = api.logged.filter(([event]) => event === 'internal error');
    assert.deepEqual(
      internal.map(([, { request_id, at, error }]) => ({ request_id, at, error })),
      [{ request_id: headers.get('x-request-id'), at: 'GET /v1/tunnels', error: 'secret details' }],
    );
  });

  it('gives each request its own id and accepts none from the sender', async () => {
    const given = '2c6a8f0e-7d4b-4f3a-9a51-0d9c3f1b2e47';
    const answers = [
      await send('GET /healthz', `X-Request-Id: ${given}\r\n`),
      await send('GET /none', `X-Request-Id: ${given}\r\n`),
    ];
    const ids = answers.map((answer) => /^X-Request-Id: ([-0-9a-f]{36})\r$/m.exec(answer)?.[1]);
    assert.equal(new Set([...ids, undefined, given]).size, 4);
  });

  it('does not report a client that aborts its request', async () => {
    await send('POST /v1/tunnels', `Authorization: Bearer ${key}\r\nContent-Length: 99\r\n`, '{');
    assert.deepEqual(api.logged, []);
  });
});
