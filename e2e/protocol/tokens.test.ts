import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import { Culvert } from '../support/programs.ts';
import {
  type Field,
  formatRequest,
  RawConnection,
  type Response,
  visit,
  WEBSOCKET,
} from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

const BROWSER: Field = ['Accept', 'text/html,application/xhtml+xml,*/*;q=0.8'];
/** What MCP clients send. */
const AGENT: Field = ['Accept', 'application/json, text/event-stream'];
const CI = `ci-${'x'.repeat(21)}`;
const METADATA = [
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
];
const PREFLIGHT: Field[] = [
  ['Origin', 'https://app.example'],
  ['Access-Control-Request-Method', 'POST'],
  ['Access-Control-Request-Headers', 'authorization'],
];

function bearer(token: string, scheme = 'Bearer'): Field {
  return ['Authorization', `${scheme} ${token}`];
}

function basic(user: string, password: string): Field {
  return ['Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`];
}

/** The token that the relay has made, by its name. */
function tokenOf({ access }: Pick<Tunnel, 'access'>, name: string): string {
  const token = access.tokens?.find((shown) => shown.name === name)?.token;
  return token ?? assert.fail(`there is no token ${name}`);
}

/** The code of an error, which is always JSON. */
function codeOf({ text, head }: Response): unknown {
  assert.equal(head.field('content-type'), 'application/json; charset=utf-8');
  const { code } = JSON.parse(text) as { code: string };
  assert.equal(head.field('culvert-error'), code);
  return code;
}

describe('tokens (protocol.md section 11.4)', () => {
  const { scope, relay } = relaySuite({ CULVERT_LOG_LEVEL: 'debug', CULVERT_ACCESS_LOG: 'stderr' });
  let service: HttpService;
  /** one for each test, because the rate of creating tunnels is limited per account */
  let account: TestAccount;
  let accounts = 0;
  /** requests of the local service */
  let seen: IncomingMessage[];

  before(async () => {
    service = await startHttpService(scope, (request, response) => {
      seen.push(request);
      if (request.url === '/events') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
        return;
      }
      if (request.url === '/long') {
        response.writeHead(200, { 'Content-Type': 'text/plain' }).write('first');
        return;
      }
      response
        .setHeader('Access-Control-Allow-Origin', 'https://app.example')
        .setHeader('X-Secret', 'secret');
      request.resume().on('end', () => response.end('ok'));
    });
    service.server.on('upgrade', (request, socket) => {
      seen.push(request);
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
  });

  beforeEach(async () => {
    seen = [];
    accounts += 1;
    account = await createAccount(relay, { subdomain: `tok${accounts}` });
  });

  async function start(access: object): Promise<Tunnel> {
    return (await SpecClient.start(scope, relay, account.key, { local_port: service.port, access })).tunnel;
  }

  async function set({ id }: Tunnel, access: object): Promise<Tunnel> {
    const { status, json } = await account.api.send('PUT', `/v1/tunnels/${id}/access`, { json: access });
    assert.equal(status, 200);
    return json as Tunnel;
  }

  async function ask(tunnel: Tunnel, headers: Field[] = [], request: object = {}): Promise<Response> {
    return await visit(relay.port, { host: hostOf(tunnel, relay), headers, ...request });
  }

  /** Host and prefix of a tunnel in the three forms of its address. */
  function forms({ slug }: Tunnel): [host: string, prefix: string][] {
    return [
      [`${slug}.localhost:${relay.port}`, ''],
      [`localhost:${relay.port}`, `/t/${slug}`],
      [`${slug}.tok${accounts}.localhost:${relay.port}`, ''],
    ];
  }

  /** The service has seen a program's name, and nothing of its token. */
  function assertSeen(visitor: string, ...tokens: string[]): void {
    const request = seen.at(-1) ?? assert.fail('the service has seen nothing');
    assert.equal(request.headers['culvert-visitor'], visitor);
    assert.equal(request.headers.authorization, undefined);
    for (const token of tokens) assert.ok(!request.rawHeaders.join('\n').includes(token));
  }

  /** A visitor whose response has begun. */
  async function enter(tunnel: Tunnel, headers: Field[], target = '/'): Promise<RawConnection> {
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    await visitor.write(formatRequest({ host: hostOf(tunnel, relay), target, headers }));
    await visitor.finalHead();
    return visitor;
  }

  // First: a relay waits for open connections before it stops.
  it('survive a restart of the relay, with the time of their last use', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }, { name: 'agent' }] });
    const since = Date.now();
    assert.equal((await ask(tunnel, [bearer(CI)])).status, 200);
    const used = async (): Promise<number> => {
      const { tokens = [] } = (await account.api.get(tunnel.id)).access;
      assert.deepEqual(
        tokens.map(({ name, last_used_at }) => [name, last_used_at !== undefined]),
        [
          ['ci', true],
          ['agent', false],
        ],
      );
      return Date.parse(tokens[0]?.last_used_at ?? '');
    };
    const at = await used();
    assert.ok(at >= since - 1 && at <= Date.now());
    await relay.stop();
    await relay.restart();
    assert.equal(await used(), at);
    await eventually(30_000, async () => assert.equal((await ask(tunnel, [bearer(CI)])).status, 200));
  });

  it('admit programs in all forms of the address, which the service knows by name', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }, { name: 'agent' }] });
    const agent = tokenOf(tunnel, 'agent');
    assert.match(agent, /^cvp_[0-9A-Za-z]{32}$/);
    for (const [host, prefix] of forms(tunnel)) {
      for (const [name, token] of [
        ['ci', CI],
        ['agent', agent],
      ] as const) {
        const request = { host, target: `${prefix}/mcp?a=b`, method: 'POST', body: '{}' };
        const inside = await visit(relay.port, { ...request, headers: [AGENT, bearer(token)] });
        assert.equal(inside.text, 'ok');
        assert.deepEqual(inside.head.all('set-cookie'), []);
        assert.deepEqual(inside.head.all('cache-control'), ['private']);
        assertSeen(`token:${name}`, token);
        assert.equal(seen.at(-1)?.url, '/mcp?a=b');
      }
      seen = [];
      for (const accept of [AGENT, BROWSER]) {
        const outside = await visit(relay.port, { host, target: `${prefix}/mcp`, headers: [accept] });
        assert.deepEqual([outside.status, outside.head.field('culvert-error')], [401, 'access-required']);
        assert.deepEqual(outside.head.all('www-authenticate'), ['Bearer realm="culvert"']);
      }
      assert.deepEqual(seen, []);
    }
  });

  it('are accepted with the scheme in any case, and as nothing but a single Authorization field', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }] });
    for (const scheme of ['bearer', 'BEARER', 'bEaReR', 'Bearer  '])
      assert.equal((await ask(tunnel, [bearer(CI, scheme)])).status, 200, scheme);
    seen = [];
    for (const request of [
      { target: `/?token=${CI}&access_token=${CI}&culvert_pass=${CI}` },
      { headers: [['Cookie', `token=${CI}; culvert-pass=${CI}`]] },
      { headers: [['Proxy-Authorization', `Bearer ${CI}`]] },
      { headers: [['X-Api-Key', CI]] },
      { headers: [['Authorization', CI]] },
      { headers: [basic('ci', CI)] },
      { headers: [basic(CI, '')] },
    ] as { target?: string; headers?: Field[] }[]) {
      const refused = await ask(tunnel, [], request);
      assert.deepEqual([refused.status, codeOf(refused)], [401, 'access-required'], JSON.stringify(request));
    }
    assert.deepEqual(seen, []);
  });

  it('are refused in any other form, whatever else the request has', async () => {
    for (const [headers, access] of [
      [[bearer(CI), bearer(CI)], {}],
      [[bearer(CI), basic('ann', 'fern')], { basic: [{ user: 'ann', password: 'fern' }] }],
      [[bearer(`${CI} ${CI}`)], {}],
      [[bearer(`"${CI}"`)], {}],
      [[bearer(`${CI},`)], {}],
      [[['Authorization', `Basic YTpi, Bearer ${CI}`]], {}],
      [[bearer(CI.slice(0, -1))], {}],
      [[bearer('x'.repeat(12_000))], {}],
      [[bearer('')], {}],
      [[bearer('\u00e4\u00f6\u00fc')], {}],
    ] as [Field[], object][]) {
      const tunnel = await start({ tokens: [{ name: 'ci', token: CI }], ...access });
      const refused = await ask(tunnel, headers);
      assert.deepEqual([refused.status, codeOf(refused)], [401, 'access-required'], JSON.stringify(headers));
      accounts += 1;
      account = await createAccount(relay, { subdomain: `tok${accounts}` });
    }
    assert.deepEqual(seen, []);
  });

  it('of one tunnel do not admit to another, and never reach its service', async () => {
    const [one, two] = [await start({ tokens: [{ name: 'ci' }] }), await start({ tokens: [{ name: 'ci' }] })];
    const refused = await ask(two, [bearer(tokenOf(one, 'ci'))]);
    assert.deepEqual([refused.status, codeOf(refused)], [401, 'access-required']);
    const key = await ask(two, [bearer(account.key)]);
    assert.equal(key.status, 401);
    assert.deepEqual(seen, []);
    assert.equal((await ask(two, [bearer(tokenOf(two, 'ci'))])).status, 200);
  });

  it('stay with the relay also if another way admits the visitor, unlike those of the service', async () => {
    const tunnel = await start({
      tokens: [{ name: 'ci', token: CI }],
      basic: [{ user: 'ann', password: 'fern' }],
    });
    const { head } = await ask(tunnel, [basic('ann', 'fern'), ['Sec-Fetch-Mode', 'navigate']]);
    const cookie: Field = ['Cookie', (head.field('set-cookie') ?? '').split(';', 1)[0] ?? ''];
    assert.equal((await ask(tunnel, [cookie, bearer(CI)])).status, 200);
    assertSeen('basic:ann', CI);
    assert.equal((await ask(tunnel, [cookie, bearer('of-the-service'), bearer(CI)])).status, 200);
    assertSeen('basic:ann', CI);
    assert.equal((await ask(tunnel, [cookie, bearer('of-the-service')])).status, 200);
    assert.equal(seen.at(-1)?.headers.authorization, 'Bearer of-the-service');
    assert.deepEqual((await ask(tunnel)).head.all('www-authenticate'), [
      'Basic realm="Restricted", charset="UTF-8"',
      'Bearer realm="culvert"',
    ]);
  });

  it('admit WebSockets, also of pages of other hosts, which have to know the token', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }] });
    for (const [host, prefix] of forms(tunnel)) {
      for (const [headers, status] of [
        [[bearer(CI)], 101],
        [[bearer(CI), ['Origin', 'https://evil.example']], 101],
        [[bearer(`${CI}x`)], 401],
        [[], 401],
      ] as [Field[], number][]) {
        const visitor = await RawConnection.open(scope, relay.port, 60_000);
        await visitor.write(
          formatRequest({ host, target: `${prefix}/`, headers: [...WEBSOCKET, ...headers] }),
        );
        assert.equal((await visitor.finalHead()).status, status);
      }
      assertSeen('token:ci', CI);
    }
  });

  it('are not needed for a preflight, of whose response only what answers it is passed on', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }] });
    const answer = await ask(tunnel, PREFLIGHT, { method: 'OPTIONS' });
    assert.deepEqual(
      [
        answer.status,
        answer.text,
        answer.head.field('x-secret'),
        answer.head.field('access-control-allow-origin'),
      ],
      [200, '', undefined, 'https://app.example'],
    );
    assert.equal((await ask(tunnel, PREFLIGHT, { method: 'OPTIONS', body: 'x' })).status, 401);
    assert.equal((await ask(tunnel, [...PREFLIGHT, bearer('wrong')], { method: 'OPTIONS' })).status, 401);
    const full = await ask(tunnel, [...PREFLIGHT, bearer(CI)], { method: 'OPTIONS' });
    assert.deepEqual([full.text, full.head.field('x-secret')], ['ok', 'secret']);
  });

  it('limit wrong ones to ten a minute, always in JSON, and the right one still passes', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }], allow: ['127.0.0.1'] });
    const other = await start({ tokens: [{ name: 'ci', token: CI }] });
    await eventually(60_000, async () => {
      const tries = Array.from({ length: 12 }, (_, index) => ask(tunnel, [AGENT, bearer(`${CI}${index}`)]));
      for (const response of await Promise.all(tries)) codeOf(response);
      const late = await ask(tunnel, [AGENT, bearer(`${CI}x`)]);
      assert.deepEqual([late.status, codeOf(late)], [429, 'access-attempts']);
      assert.match(late.head.field('retry-after') ?? '', /^\d+$/);
    });
    assert.deepEqual(seen, []);
    for (const each of [tunnel, other]) assert.equal((await ask(each, [bearer(CI)])).status, 200);
    await set(other, { tokens: [{ name: 'ci' }], allow: ['192.0.2.1'] });
    const elsewhere = await ask(other, [AGENT, bearer(CI)]);
    assert.deepEqual([elsewhere.status, codeOf(elsewhere)], [403, 'access-address']);
  });

  it('get JSON at the addresses where MCP clients look for an authorization server', async () => {
    const ann = { user: 'ann', password: 'fern' };
    for (const access of [{ tokens: [{ name: 'ci', token: CI }] }, { basic: [ann] }]) {
      const tunnel = await start(access);
      for (const [host, prefix] of forms(tunnel)) {
        for (const path of METADATA.flatMap((each) => [each, `${each}/mcp`, `${each}?x`]))
          for (const accept of [AGENT, BROWSER]) {
            const missing = await visit(relay.port, { host, target: prefix + path, headers: [accept] });
            assert.deepEqual([missing.status, codeOf(missing)], [404, 'not-found'], path);
          }
      }
      seen = [];
      const right = 'basic' in access ? basic('ann', 'fern') : bearer(CI);
      assert.equal((await ask(tunnel, [right], { target: METADATA[0] })).text, 'ok');
      assert.equal(seen[0]?.url, METADATA[0]);
    }
    const locked = await start({ tokens: [{ name: 'ci' }], password: 'mild oak fern' });
    assert.equal((await ask(locked, [AGENT], { target: METADATA[0] })).status, 401);
  });

  it('are shown once, kept by their names, and revoked by leaving them out', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci' }, { name: 'agent' }] });
    const [ci, agent] = [tokenOf(tunnel, 'ci'), tokenOf(tunnel, 'agent')];
    const named = { tokens: [{ name: 'ci' }, { name: 'agent' }] };
    assert.deepEqual((await account.api.get(tunnel.id)).access, named);
    for (const { access } of await account.api.list()) assert.deepEqual(access, named);
    assert.deepEqual((await set(tunnel, named)).access, named);
    assert.equal((await ask(tunnel, [bearer(ci)])).status, 200);
    const added = await set(tunnel, { tokens: [{ name: 'agent' }, { name: 'new' }] });
    assert.equal((await ask(tunnel, [bearer(tokenOf(added, 'new'))])).status, 200);
    assert.equal((await ask(tunnel, [bearer(agent)])).status, 200);
    assert.equal((await ask(tunnel, [bearer(ci)])).status, 401);
    const again = await set(tunnel, { tokens: [{ name: 'ci' }] });
    assert.notEqual(tokenOf(again, 'ci'), ci);
    assert.equal((await ask(tunnel, [bearer(ci)])).status, 401);
  });

  it('are kept when their tunnel is taken over', async () => {
    const request = {
      local_port: service.port,
      name: `kept${accounts}`,
      access: { tokens: [{ name: 'ci' }] },
    };
    const { tunnel } = await SpecClient.start(scope, relay, account.key, request);
    const ci = tokenOf(tunnel, 'ci');
    const { status, json } = await account.api.send('POST', '/v1/tunnels', {
      json: { ...request, take_over: true },
    });
    assert.deepEqual([status, (json as Tunnel).access], [200, request.access]);
    assert.equal((await ask(tunnel, [bearer(ci)])).status, 200);
  });

  it('cut everything that was opened with them when they are revoked, and nothing else', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }, { name: 'agent' }] });
    const agent = bearer(tokenOf(tunnel, 'agent'));
    const open = async (token: Field) => [
      await enter(tunnel, [...WEBSOCKET, token]),
      await enter(tunnel, [token], '/events'),
      await enter(tunnel, [token], '/long'),
    ];
    const [revoked, kept] = [await open(bearer(CI)), await open(agent)];
    await set(tunnel, { tokens: [{ name: 'agent' }], allow: ['127.0.0.0/8'] });
    await Promise.all(revoked.map(({ ending }) => ending));
    assert.equal((await ask(tunnel, [agent])).status, 200);
    for (const { socket } of kept) assert.equal(socket.destroyed, false);
    await set(tunnel, { tokens: [{ name: 'agent', token: CI }] });
    await Promise.all(kept.map(({ ending }) => ending));
  });

  it('work through culvert and its trunks', async () => {
    const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
    const ci = tokenOf(await set(tunnel, { tokens: [{ name: 'ci' }] }), 'ci');
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await ask(tunnel, [bearer(ci)])).text, 'ok');
      assertSeen('token:ci', ci);
    }
    assert.equal((await ask(tunnel)).status, 401);
  });

  it('are in none of the relay’s logs', async () => {
    const tunnel = await start({ tokens: [{ name: 'ci', token: CI }, { name: 'agent' }] });
    const agent = tokenOf(tunnel, 'agent');
    for (const token of [CI, agent, `${CI}wrong`]) await ask(tunnel, [bearer(token)]);
    await eventually(20_000, () => assert.ok(relay.child.stderr.includes(tunnel.id)));
    for (const token of [CI, agent]) assert.ok(!relay.child.stderr.includes(token));
  });
});
