import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Access, type AccessView, OPEN } from '../../../shared/access.ts';
import { ACCOUNT, TUNNEL } from '../../testing/fake-platform.ts';
import { startProxy, closedPort, closeServers, startHttp } from '../../testing/servers.ts';
import { Network } from '../network/network.ts';
import { ApiClient } from './api-client.ts';
import { AccessUnsupported, refusesKey, RelayRefusal, RelayUnreachable } from './errors.ts';
import { parseRelayAddress } from './relay-address.ts';

const KEY = `cvt_${'k'.repeat(32)}`;
interface Seen {
  line: string;
  authorization: string | undefined;
  body: string;
}

/**
 * A client of a relay that responds to every request with `status` and `body`, with the requests that the relay
 * received.
 */
async function setUp(status: number, body: unknown, headers: Record<string, string> = {}) {
  const seen: Seen[] = [];
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization } = request.headers;
    seen.push({ line: `${request.method} ${request.url}`, authorization, body: await text(request) });
    response.writeHead(status, headers);
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }
  const relay = await startHttp((request, response) => void answer(request, response));
  return { api: new ApiClient(relay, KEY), relay, seen };
}

/** A check for `assert.rejects`. */
const refusal = (status: number, message: string, retryAfterMs?: number) => (error: unknown) => {
  assert.ok(error instanceof RelayRefusal, String(error));
  const { status: got, message: said, retryAfterMs: wait } = error;
  assert.deepEqual({ got, said, wait }, { got: status, said: message, wait: retryAfterMs });
  return true;
};

/** The result of a call whose connections get these responses, and how many connections there were. */
async function outcome(...answers: [number, object, Record<string, string>?][]) {
  const connections = new Set<Socket>();
  const relay = await startHttp(({ socket }, response) => {
    const [status, body, headers] = answers[connections.size] ?? answers.at(-1) ?? assert.fail();
    connections.add(socket);
    response.writeHead(status, headers).end(JSON.stringify(body));
  });
  const error: unknown = await new ApiClient(relay, KEY).getAccount().catch((failure: unknown) => failure);
  return { error, connections: connections.size };
}

describe('ApiClient', () => {
  afterEach(closeServers);

  it('creates a tunnel', async () => {
    const { api, seen } = await setUp(201, TUNNEL);
    assert.deepEqual(await api.createTunnel({ local_port: 3000, ttl: '1h' }), TUNNEL);
    const body = '{"local_port":3000,"ttl":"1h"}';
    assert.deepEqual(seen, [{ line: 'POST /v1/tunnels', authorization: `Bearer ${KEY}`, body }]);
  });

  it('accepts a tunnel of an account without a subdomain', async () => {
    const { subdomain, path } = TUNNEL.urls;
    const tunnel = { ...TUNNEL, public_url: subdomain, urls: { subdomain, path } };
    assert.deepEqual(await (await setUp(200, tunnel)).api.getTunnel(TUNNEL.id), tunnel);
  });

  it('lists tunnels', async () => {
    const { api, seen } = await setUp(200, { tunnels: [TUNNEL] });
    assert.deepEqual(await api.listTunnels(), [TUNNEL]);
    assert.equal(seen[0]?.line, 'GET /v1/tunnels');
  });

  it('gets a tunnel', async () => {
    const { api, seen } = await setUp(200, TUNNEL);
    assert.deepEqual(await api.getTunnel(TUNNEL.id), TUNNEL);
    assert.equal(seen[0]?.line, `GET /v1/tunnels/${TUNNEL.id}`);
  });

  it('gets the account, and accepts nothing else as one', async () => {
    const { api, seen } = await setUp(200, ACCOUNT);
    assert.deepEqual(await api.getAccount(), ACCOUNT);
    assert.equal(seen[0]?.line, 'GET /v1/account');
    for (const other of [{}, TUNNEL, { ...ACCOUNT, name: '\u001b[2J' }, { ...ACCOUNT, limits: {} }]) {
      await assert.rejects((await setUp(200, other)).api.getAccount(), RelayUnreachable);
    }
  });

  it('closes a tunnel', async () => {
    const { api, seen } = await setUp(200, { status: 'closed' });
    await api.closeTunnel(TUNNEL.id);
    assert.equal(seen[0]?.line, `DELETE /v1/tunnels/${TUNNEL.id}`);
  });

  it('extends a tunnel by a given time or its own ttl', async () => {
    const { api, seen } = await setUp(200, TUNNEL);
    await api.extendTunnel(TUNNEL.id, '30m');
    await api.extendTunnel(TUNNEL.id);
    const line = `PUT /v1/tunnels/${TUNNEL.id}/extend`;
    assert.deepEqual(
      seen.map((request) => [request.line, request.body]),
      [
        [line, '{"ttl":"30m"}'],
        [line, '{}'],
      ],
    );
  });

  const ASKED: Access = {
    allow: ['10.0.0.0/8'],
    basic: [{ user: 'ann', password: 'secret' }],
    password: 'mild-oak-fern',
    links: true,
    knock: true,
    tokens: [{ name: 'ci', token: 'x'.repeat(24) }],
  };
  const SHOWN: AccessView = {
    allow: ['10.0.0.0/8'],
    basic: ['ann'],
    password: true,
    links: true,
    knock: true,
    tokens: [{ name: 'ci' }],
  };

  it('creates a tunnel with an access policy, and sends only the fields that are set', async () => {
    const { api, seen } = await setUp(201, { ...TUNNEL, access: SHOWN });
    assert.deepEqual((await api.createTunnel({ local_port: 3000, access: ASKED })).access, SHOWN);
    await api.createTunnel({ local_port: 3000, access: { ...OPEN, knock: true } });
    await api.createTunnel({ local_port: 3000, access: OPEN });
    assert.deepEqual(
      seen.map(({ body }): unknown => JSON.parse(body)),
      [
        { local_port: 3000, access: ASKED },
        { local_port: 3000, access: { knock: true } },
        { local_port: 3000 },
      ],
    );
  });

  it('treats a tunnel of a relay without access policies as open', async () => {
    const { access: _access, ...old } = TUNNEL;
    assert.deepEqual(await (await setUp(200, old)).api.getTunnel(TUNNEL.id), TUNNEL);
    assert.deepEqual(await (await setUp(200, { tunnels: [old] })).api.listTunnels(), [TUNNEL]);
  });

  it('immediately closes a tunnel that was created more open than requested', async () => {
    const { access: _access, ...old } = TUNNEL;
    const { allow: _allow, ...withoutAllow } = SHOWN;
    for (const answer of [
      old,
      { ...TUNNEL, access: {} },
      { ...TUNNEL, access: withoutAllow },
      { ...TUNNEL, access: { ...SHOWN, allow: [] } },
      { ...TUNNEL, access: { ...SHOWN, basic: ['bob'] } },
    ]) {
      const { api, seen } = await setUp(200, answer);
      await assert.rejects(api.createTunnel({ local_port: 3000, access: ASKED }), AccessUnsupported);
      assert.deepEqual(
        seen.map(({ line }) => line),
        ['POST /v1/tunnels', `DELETE /v1/tunnels/${TUNNEL.id}`],
      );
    }
  });

  it('reports when a tunnel that was created too open could not be closed', async () => {
    const relay = await startHttp(({ method }, response) => {
      response.writeHead(method === 'POST' ? 201 : 503);
      response.end(JSON.stringify(method === 'POST' ? TUNNEL : { error: 'service unavailable' }));
    });
    await assert.rejects(
      new ApiClient(relay, KEY).createTunnel({ local_port: 3000, access: ASKED }),
      /cannot restrict access.* could not be closed, but no client is serving it: service unavailable$/,
    );
  });

  it('replaces the access policy', async () => {
    const { api, seen } = await setUp(200, { ...TUNNEL, access: SHOWN });
    assert.deepEqual((await api.setAccess(TUNNEL.id, ASKED)).access, SHOWN);
    await api.setAccess(TUNNEL.id, OPEN);
    const line = `PUT /v1/tunnels/${TUNNEL.id}/access`;
    assert.deepEqual(
      seen.map((request): unknown => [request.line, JSON.parse(request.body)]),
      [
        [line, ASKED],
        [line, {}],
      ],
    );
    await assert.rejects((await setUp(200, TUNNEL)).api.setAccess(TUNNEL.id, ASKED), AccessUnsupported);
  });

  it('creates, lists and revokes signed links', async () => {
    const entry = {
      id: '0123456789abcdef',
      note: 'für Ann',
      path: '/x?a=1&b',
      created_at: TUNNEL.created_at,
      expires_at: TUNNEL.expires_at,
    };
    const link = { ...entry, url: 'http://my-app.localhost:8080/x?a=1&b&culvert_pass=abc.def' };
    const { api, seen } = await setUp(201, link);
    const asked = { ttl: '2h', note: 'für Ann', path: '/x?a=1&b' };
    assert.deepEqual(await api.createLink(TUNNEL.id, asked), link);
    await api.deleteLink(TUNNEL.id, entry.id);
    assert.deepEqual(
      seen.map(({ line, body }) => `${line} ${body}`.trim()),
      [
        `POST /v1/tunnels/${TUNNEL.id}/links ${JSON.stringify(asked)}`,
        `DELETE /v1/tunnels/${TUNNEL.id}/links/${entry.id}`,
      ],
    );
    const { path: _path, ...start } = { ...link, url: 'http://localhost:8080/t/my-app/?culvert_pass=abc' };
    assert.deepEqual(await (await setUp(201, start)).api.createLink(TUNNEL.id, {}), start);
    assert.deepEqual(await (await setUp(200, { links: [entry, start] })).api.listLinks(TUNNEL.id), [
      entry,
      start,
    ]);
  });

  it('lists approval requests, and rejects malformed lists', async () => {
    const knock = {
      id: '0123456789abcdef',
      status: 'admitted',
      address: '2001:db8::7',
      agent: 'Mozilla/5.0 \u202e',
      at: TUNNEL.created_at,
      ends_at: TUNNEL.expires_at,
    };
    const { api, seen } = await setUp(200, { knocks: [knock] });
    assert.deepEqual(await api.listKnocks(TUNNEL.id), [knock]);
    assert.equal(seen[0]?.line, `GET /v1/tunnels/${TUNNEL.id}/knocks`);
    for (const bad of [
      { id: '../account' },
      { status: 'asleep' },
      { address: '' },
      { agent: null },
      { ends_at: 1 },
    ])
      await assert.rejects(
        (await setUp(200, { knocks: [{ ...knock, ...bad }] })).api.listKnocks(TUNNEL.id),
        RelayUnreachable,
        JSON.stringify(bad),
      );
  });

  it('rejects malformed signed links', async () => {
    const link = {
      id: '0123456789abcdef',
      note: '',
      created_at: TUNNEL.created_at,
      expires_at: TUNNEL.expires_at,
    };
    for (const url of [
      'http://my-app.localhost/x',
      'http://my-app.localhost/?culvert_pass=a',
      'http://my-app.localhost/x?culvert_pass=',
      'http://my-app.localhost/x?culvert_pass=a&reboot',
      'http://my-app.localhost/x?culvert_pass=a#b',
      'http://my-app.localhost/x?b&culvert_pass=a',
      'javascript:alert(1)//x?culvert_pass=a',
      'http://a.example/$(reboot)/x?culvert_pass=a',
    ])
      await assert.rejects(
        (await setUp(201, { ...link, url })).api.createLink(TUNNEL.id, { path: '/x' }),
        /link that points somewhere else/,
        url,
      );
    const url = 'http://my-app.localhost/?culvert_pass=a';
    for (const bad of [{}, { ...link, url, note: '\u001b[2J' }, { ...link, url, id: '../account' }])
      await assert.rejects((await setUp(201, bad)).api.createLink(TUNNEL.id, {}), RelayUnreachable);
    await assert.rejects((await setUp(200, { links: [{}] })).api.listLinks(TUNNEL.id), RelayUnreachable);
  });

  it('answers approval requests', async () => {
    const { api, seen } = await setUp(200, {});
    await api.answerKnock(TUNNEL.id, 'k1', true, '2h');
    await api.answerKnock(TUNNEL.id, 'k1', false);
    const line = `PUT /v1/tunnels/${TUNNEL.id}/knocks/k1`;
    assert.deepEqual(
      seen.map((request) => `${request.line} ${request.body}`),
      [`${line} {"admit":true,"for":"2h"}`, `${line} {"admit":false}`],
    );
  });

  it('reports that a relay does not support access policies', async () => {
    const { api } = await setUp(404, { error: 'not found', code: 'not-found' });
    for (const call of [
      api.setAccess(TUNNEL.id, ASKED),
      api.createLink(TUNNEL.id, {}),
      api.listLinks(TUNNEL.id),
    ])
      await assert.rejects(call, AccessUnsupported);
    const gone = await setUp(404, { error: 'tunnel not found', code: 'tunnel-not-found' });
    await assert.rejects(gone.api.setAccess(TUNNEL.id, OPEN), refusal(404, 'tunnel not found'));
  });

  it("reports the relay's error message, and when to try again", async () => {
    const { api } = await setUp(429, { error: 'rate limit exceeded' }, { 'retry-after': '6' });
    await assert.rejects(api.listTunnels(), refusal(429, 'rate limit exceeded', 6000));
  });

  describe('asked about a key', () => {
    const CHALLENGE = { 'www-authenticate': 'Bearer' };
    const INVALID = { error: 'invalid api key' };

    it('believes a refusal that a second connection confirms', async () => {
      const { error, connections } = await outcome([401, INVALID, CHALLENGE]);
      assert.ok(refusesKey(error));
      assert.equal(connections, 2);
    });

    it('does not believe a refusal that a second connection does not confirm', async () => {
      for (const second of [
        [200, { tunnels: [] }],
        [503, { error: 'service unavailable' }],
        [401, { error: 'no' }, CHALLENGE],
      ] as [number, object, Record<string, string>?][]) {
        const { error, connections } = await outcome([401, INVALID, CHALLENGE], second);
        assert.ok(error instanceof RelayRefusal);
        assert.deepEqual([refusesKey(error), connections], [false, 2]);
        assert.match(error.message, /rejected the key once/);
      }
    });

    it("does not mistake the 401 of a proxy for the relay's", async () => {
      for (const answer of [
        [401, INVALID, { 'www-authenticate': 'Basic realm="x"' }],
        [401, INVALID],
        [401, { error: 'missing api key' }, CHALLENGE],
        [401, {}, CHALLENGE],
        [403, INVALID, CHALLENGE],
      ] as [number, object, Record<string, string>?][]) {
        const { error, connections } = await outcome(answer);
        assert.deepEqual([refusesKey(error), connections], [false, 1]);
      }
    });
  });

  it('rejects a response to another request', async () => {
    const { api } = await setUp(200, TUNNEL);
    const other = '11111111-1111-4111-8111-111111111111';
    for (const asked of [
      api.getTunnel(other),
      api.extendTunnel(other),
      api.createTunnel({ local_port: 3001 }),
      api.createTunnel({ local_port: 3000, name: 'other' }),
    ])
      await assert.rejects(asked, /response to a different request/);
  });

  it('has a message for an error that comes without one', async () => {
    const { api } = await setUp(502, '<html>Bad gateway</html>');
    await assert.rejects(api.listTunnels(), refusal(502, 'it responded with status 502'));
  });

  it('names the field of a response that is invalid', async () => {
    const { api } = await setUp(200, { tunnels: [{ ...TUNNEL, public_url: 'javascript:alert(1)' }] });
    await assert.rejects(api.listTunnels(), /does not understand: "tunnels\[0\]\.public_url" is invalid/);
  });

  it('does not show a script as the address of a redirect', async () => {
    const { api } = await setUp(301, '', { location: 'javascript:alert(1)' });
    await assert.rejects(api.listTunnels(), refusal(301, 'it redirects to not a web address'));
  });

  it('follows no redirect, but reports its target', async () => {
    const { api } = await setUp(301, '', { location: 'https://elsewhere.example/v1/tunnels' });
    await assert.rejects(api.listTunnels(), refusal(301, 'it redirects to https://elsewhere.example'));
  });

  const strange: [string, unknown][] = [
    ['no JSON', 'hello'],
    ['no tunnel', {}],
    ['a tunnel without an id', { ...TUNNEL, id: undefined }],
    ['an id that leads elsewhere', { ...TUNNEL, id: '../account' }],
    ['control characters for the terminal', { ...TUNNEL, public_url: 'http://a\u001b[2J' }],
    ['C1 control characters for the terminal', { ...TUNNEL, slug: 'a\u009b2J' }],
    ['text that runs backwards', { ...TUNNEL, ttl: '1h\u202e' }],
    ['a script for an address', { ...TUNNEL, public_url: 'javascript:alert(1)' }],
    ['a file for an address', { ...TUNNEL, urls: { ...TUNNEL.urls, path: 'file:///etc/passwd' } }],
    ['another program for an address', { ...TUNNEL, urls: { ...TUNNEL.urls, account: 'ssh://a' } }],
    ['an access that is none', { ...TUNNEL, access: { password: 'secret' } }],
    ['control characters in a user', { ...TUNNEL, access: { basic: ['\u001b[2J'] } }],
    ['a command for an address', { ...TUNNEL, urls: { ...TUNNEL.urls, subdomain: 'http://a;id' } }],
  ];
  for (const [name, body] of strange) {
    it(`rejects ${name} as a relay's response`, async () => {
      const { api } = await setUp(201, body);
      await assert.rejects(api.createTunnel({ local_port: 1 }), RelayUnreachable);
    });
  }

  it('does not read an endless response', async () => {
    const { api } = await setUp(200, ' '.repeat(5 * 1024 * 1024));
    await assert.rejects(api.listTunnels(), /too large/);
  });

  it('reports which relay cannot be reached, and why', async () => {
    const origin = `http://127.0.0.1:${await closedPort()}`;
    const error = {
      name: 'RelayUnreachable',
      message: `The relay at ${origin} cannot be reached: nothing is listening there`,
    };
    await assert.rejects(new ApiClient(parseRelayAddress(origin), KEY).listTunnels(), error);
  });

  it('uses a proxy, and reports its failures', async () => {
    const { relay } = await setUp(200, { tunnels: [] });
    const proxy = await startProxy((authorization) =>
      authorization === undefined ? 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n' : undefined,
    );
    const address = parseRelayAddress(relay.origin.replace('127.0.0.1', 'relay.test'));
    const over = (user: string) =>
      new ApiClient(address, KEY, new Network({ httpProxy: `http://${user}127.0.0.1:${proxy.port}` }));
    assert.deepEqual(await over('u:p@').listTunnels(), []);
    await assert.rejects(over('').listTunnels(), /cannot be reached: the proxy .* requires a login/);
  });
});
