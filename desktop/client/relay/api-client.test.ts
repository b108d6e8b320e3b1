import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type Access, type AccessView, OPEN } from '../../../shared/access.ts';
import { ACCOUNT, TUNNEL } from '../../testing/fake-platform.ts';
import { closedPort, closeServers, startHttp } from '../../testing/servers.ts';
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

const { id: ID } = TUNNEL;
const ASKED: Access = {
  allow: ['10.0.0.0/8'],
  basic: [{ user: 'ann', password: 'secret' }],
  password: 'mild-oak-fern',
  links: true,
  knock: true,
  tokens: [{ name: 'ci', token: 'x'.repeat(24) }],
  sign_in: ['*@example.com'],
  oauth: true,
};
const SHOWN: AccessView = {
  allow: ['10.0.0.0/8'],
  basic: ['ann'],
  password: true,
  links: true,
  knock: true,
  tokens: [{ name: 'ci' }],
  sign_in: ['*@example.com'],
  oauth: true,
};
const LOCKED = { ...TUNNEL, access: SHOWN };
const NUMBER_1 = { ...TUNNEL, local_port: 1 };
const { subdomain, path } = TUNNEL.urls;
const WITHOUT_SUBDOMAIN = { ...TUNNEL, public_url: subdomain, urls: { subdomain, path } };
const { access: _access, ...WITHOUT_ACCESS } = TUNNEL;
const { created_at, expires_at } = TUNNEL;
const ENTRY = { id: '0123456789abcdef', note: 'für Ann', created_at, expires_at };
const START = { ...ENTRY, url: 'http://localhost:8080/t/my-app/?culvert_pass=abc' };
const LINK = { ...ENTRY, path: '/x?a=1&b', url: 'http://my-app.localhost:8080/x?a=1&b&culvert_pass=abc.def' };
const TO_LINK = { ttl: '2h', note: 'für Ann', path: '/x?a=1&b' };
const KNOCK = {
  id: '0123456789abcdef',
  status: 'admitted',
  address: '2001:db8::7',
  agent: 'Mozilla/5.0 \u202e',
  at: TUNNEL.created_at,
  ends_at: TUNNEL.expires_at,
};

const AGENT = {
  id: '0123456789abcdef',
  name: '',
  host: 'claude.ai',
  returns_to: 'claude.ai',
  user: null,
  created_at: TUNNEL.created_at,
  first_used_at: null,
  last_used_at: TUNNEL.created_at,
};

/** Calls by the request that they send; its response; and the result, if that is not the response. */
const calls: Record<
  string,
  readonly [call: (api: ApiClient) => Promise<unknown>, answer?: unknown, result?: unknown]
> = {
  'POST tunnels {"local_port":1,"ttl":"1h"}': [
    (api) => api.createTunnel({ local_port: 1, ttl: '1h' }),
    NUMBER_1,
  ],
  [`POST tunnels ${JSON.stringify({ local_port: 3000, access: ASKED })}`]: [
    (api) => api.createTunnel({ local_port: 3000, access: ASKED }),
    LOCKED,
  ],
  'POST tunnels {"local_port":3000,"access":{"knock":true}}': [
    (api) => api.createTunnel({ local_port: 3000, access: { ...OPEN, knock: true } }),
    LOCKED,
  ],
  'POST tunnels {"local_port":3000}': [(api) => api.createTunnel({ local_port: 3000, access: OPEN }), TUNNEL],
  'GET tunnels': [(api) => api.listTunnels(), { tunnels: [TUNNEL, WITHOUT_ACCESS] }, [TUNNEL, TUNNEL]],
  'GET tunnels/ID': [(api) => api.getTunnel(ID), WITHOUT_SUBDOMAIN],
  'GET account': [(api) => api.getAccount(), ACCOUNT],
  'DELETE tunnels/ID': [(api) => api.closeTunnel(ID)],
  'PUT tunnels/ID/extend {"ttl":"30m"}': [(api) => api.extendTunnel(ID, '30m'), TUNNEL],
  'PUT tunnels/ID/extend {}': [(api) => api.extendTunnel(ID), TUNNEL],
  [`PUT tunnels/ID/access ${JSON.stringify(ASKED)}`]: [(api) => api.setAccess(ID, ASKED), LOCKED],
  'PUT tunnels/ID/access {}': [(api) => api.setAccess(ID, OPEN), TUNNEL],
  [`POST tunnels/ID/links ${JSON.stringify(TO_LINK)}`]: [(api) => api.createLink(ID, TO_LINK), LINK],
  'POST tunnels/ID/links {}': [(api) => api.createLink(ID, {}), START],
  'GET tunnels/ID/links': [(api) => api.listLinks(ID), { links: [LINK, START] }, [LINK, START]],
  'DELETE tunnels/ID/links/l1': [(api) => api.deleteLink(ID, 'l1')],
  'GET tunnels/ID/knocks': [(api) => api.listKnocks(ID), { knocks: [KNOCK] }, [KNOCK]],
  'GET tunnels/ID/agents': [(api) => api.listAgents(ID), { agents: [AGENT] }, [AGENT]],
  'DELETE tunnels/ID/agents/a1': [(api) => api.revokeAgent(ID, 'a1')],
  'PUT tunnels/ID/knocks/k1 {"admit":true,"for":"2h"}': [(api) => api.answerKnock(ID, 'k1', true, '2h')],
  'PUT tunnels/ID/knocks/k1 {"admit":false}': [(api) => api.answerKnock(ID, 'k1', false)],
};

/** Calls whose response with these changes in it is rejected. */
const malformed: readonly [call: (api: ApiClient) => Promise<unknown>, answers: readonly unknown[]][] = [
  [(api) => api.getAccount(), [{}, TUNNEL, { ...ACCOUNT, name: '\u001b[2J' }, { ...ACCOUNT, limits: {} }]],
  [(api) => api.listLinks(ID), [{ links: [{}] }]],
  [(api) => api.createLink(ID, {}), [{}, { ...START, note: '\u001b[2J' }, { ...START, id: '../account' }]],
  [
    (api) => api.listAgents(ID),
    [{ id: '../account' }, { host: '' }, { name: '\u001b[2J' }, { last_used_at: 1 }].map((bad) => ({
      agents: [{ ...AGENT, ...bad }],
    })),
  ],
  [
    (api) => api.listKnocks(ID),
    [{ id: '../account' }, { status: 'asleep' }, { address: '' }, { agent: null }, { ends_at: 1 }].map(
      (bad) => ({ knocks: [{ ...KNOCK, ...bad }] }),
    ),
  ],
  [
    (api) => api.createTunnel({ local_port: 3000 }),
    [
      'hello',
      {},
      ...[
        { id: undefined },
        { id: '../account' },
        { public_url: 'http://a\u001b[2J' },
        { public_url: 'javascript:alert(1)' },
        { slug: 'a\u009b2J' },
        { ttl: '1h\u202e' },
        { urls: { ...TUNNEL.urls, path: 'file:///etc/passwd' } },
        { urls: { ...TUNNEL.urls, account: 'ssh://a' } },
        { urls: { ...TUNNEL.urls, subdomain: 'http://a;id' } },
        { access: { password: 'secret' } },
        { access: { basic: ['\u001b[2J'] } },
      ].map((bad) => ({ ...TUNNEL, ...bad })),
    ],
  ],
];

describe('ApiClient', () => {
  afterEach(closeServers);

  for (const [request, [call, answer, result = answer]] of Object.entries(calls))
    it(`sends ${request}, and returns what the relay responds`, async () => {
      const { api, seen } = await setUp(200, answer ?? {});
      assert.deepEqual(await call(api), result);
      const sent = seen.map(({ line, body }) =>
        `${line} ${body}`.replace('/v1/', '').replace(ID, 'ID').trim(),
      );
      assert.deepEqual([sent, seen[0]?.authorization], [[request], `Bearer ${KEY}`]);
    });

  for (const [call, answers] of malformed)
    for (const answer of answers)
      it(`rejects ${JSON.stringify(answer)} as the response to ${call.toString().replace(/.*api\./, '')}`, async () => {
        await assert.rejects(call((await setUp(200, answer)).api), RelayUnreachable);
      });

  it('rejects what no relay with access policies responds', async () => {
    await assert.rejects((await setUp(200, TUNNEL)).api.setAccess(ID, ASKED), AccessUnsupported);
  });

  it('immediately closes a tunnel that was created more open than requested', async () => {
    const { allow: _allow, ...withoutAllow } = SHOWN;
    for (const answer of [
      WITHOUT_ACCESS,
      { ...TUNNEL, access: {} },
      { ...TUNNEL, access: withoutAllow },
      { ...TUNNEL, access: { ...SHOWN, allow: [] } },
      { ...TUNNEL, access: { ...SHOWN, basic: ['bob'] } },
    ]) {
      const { api, seen } = await setUp(200, answer);
      await assert.rejects(api.createTunnel({ local_port: 3000, access: ASKED }), AccessUnsupported);
      assert.deepEqual(
        seen.map(({ line }) => line),
        ['POST /v1/tunnels', `DELETE /v1/tunnels/${ID}`],
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
    it(`rejects ${url} as a signed link to /x`, async () => {
      const made = (await setUp(201, { ...ENTRY, url })).api.createLink(ID, { path: '/x' });
      await assert.rejects(made, /link that points somewhere else/);
    });

  it('revokes a link for everyone that a relay has created instead of one for a single browser', async () => {
    const { api, seen } = await setUp(201, START);
    await assert.rejects(api.createLink(ID, { once: true }), /cannot create links for one browser/);
    assert.equal(seen.at(-1)?.line, `DELETE /v1/tunnels/${ID}/links/${START.id}`);
    const once = await setUp(201, { ...START, once: true });
    assert.equal((await once.api.createLink(ID, { once: true })).once, true);
  });

  for (const [status, body, headers, message, retryAfterMs] of [
    [429, { error: 'rate limit exceeded' }, { 'retry-after': '6' }, 'rate limit exceeded', 6000],
    [502, '<html>Bad gateway</html>', {}, 'it responded with status 502', undefined],
    [301, '', { location: 'javascript:alert(1)' }, 'it redirects to not a web address', undefined],
    [301, '', { location: 'https://a.example/v1/x' }, 'it redirects to https://a.example', undefined],
  ] as const)
    it(`reports about a response with status ${status}: ${message}`, async () => {
      const { api, seen } = await setUp(status, body, headers);
      await assert.rejects(api.listTunnels(), refusal(status, message, retryAfterMs));
      assert.equal(seen.length, 1);
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

    it("does not mistake the 401 of a proxy for the relay's, and asks only once", async () => {
      const { error, connections } = await outcome([401, INVALID, { 'www-authenticate': 'Basic realm="x"' }]);
      assert.deepEqual([refusesKey(error), connections], [false, 1]);
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

  it('names the field of a response that is invalid', async () => {
    const { api } = await setUp(200, { tunnels: [{ ...TUNNEL, public_url: 'javascript:alert(1)' }] });
    await assert.rejects(api.listTunnels(), /does not understand: "tunnels\[0\]\.public_url" is invalid/);
  });

  it('does not read an endless response', async () => {
    const { api } = await setUp(200, ' '.repeat(5 * 1024 * 1024));
    await assert.rejects(api.listTunnels(), /too large/);
  });

  it('reports which relay cannot be reached, and why', async () => {
    const origin = `http://127.0.0.1:${await closedPort()}`;
    const message = `The relay at ${origin} cannot be reached: nothing is listening there`;
    const call = new ApiClient(parseRelayAddress(origin), KEY).listTunnels();
    await assert.rejects(call, { name: 'RelayUnreachable', message });
  });
});
