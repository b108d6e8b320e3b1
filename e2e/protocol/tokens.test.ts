import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { basic, bearer, BROWSER, cookiesOf, LockedTunnels, PREFLIGHT } from '../support/locked-tunnels.ts';
import { type Field, type Response, WEBSOCKET } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

/** What MCP clients send. */
const AGENT: Field = ['Accept', 'application/json, text/event-stream'];
const CI = `ci-${'x'.repeat(21)}`;
const ANN = { basic: [{ user: 'ann', password: 'fern' }] };
/** Where MCP clients look for an authorization server. */
const METADATA = '/.well-known/oauth-protected-resource';

/** The token that the relay has made, by its name. */
function tokenOf({ access }: Pick<Tunnel, 'access'>, name: string): string {
  const token = access.tokens?.find((shown) => shown.name === name)?.token;
  return token ?? assert.fail(`there is no token ${name}`);
}

/** The status and code of an error, which is always JSON. */
function errorOf({ text, head, status }: Response): unknown[] {
  assert.equal(head.field('content-type'), 'application/json; charset=utf-8');
  const { code } = JSON.parse(text) as { code: string };
  assert.equal(head.field('culvert-error'), code);
  return [status, code];
}

describe('tokens (protocol.md section 11.4)', () => {
  const suite = sharedRelaySuite();
  const locked = new LockedTunnels(suite, (_request, response) => {
    response.setHeader('Access-Control-Allow-Origin', 'https://app.example').setHeader('X-Secret', 'secret');
    return false;
  });

  /** The service has seen a program's name, and nothing of its token. */
  function assertSeen(visitor: string, token: string, url = '/'): void {
    const request = locked.last() ?? assert.fail('the service has seen nothing');
    assert.equal(request.headers.authorization, undefined);
    assert.ok(!request.rawHeaders.join('\n').includes(token));
    locked.assertSeen(visitor, url);
  }

  for (const over of ['data sockets', 'trunks'])
    it(`admit programs in all forms of the address, which the service knows by name, over ${over}`, async () => {
      const access = { tokens: [{ name: 'ci', token: CI }, { name: 'agent' }] };
      const tunnel = await (over === 'trunks' ? locked.startCulvert(access) : locked.start(access));
      const agent = tokenOf(tunnel, 'agent');
      assert.match(agent, /^cvp_[0-9A-Za-z]{32}$/);
      const request = { target: '/mcp?a=b', method: 'POST', body: '{}' };
      for (const form of locked.forms(tunnel)) {
        for (const [name, token] of [
          ['ci', CI],
          ['agent', agent],
        ] as const) {
          const inside = await locked.ask(form, [AGENT, bearer(token)], request);
          assert.equal(inside.text, 'ok');
          assert.deepEqual(inside.head.all('set-cookie'), []);
          assert.deepEqual(inside.head.all('cache-control'), ['private']);
          assertSeen(`token:${name}`, token, '/mcp?a=b');
        }
        for (const accept of [AGENT, BROWSER]) {
          const outside = await locked.ask(form, [accept], request);
          locked.assertRefused(outside);
          assert.deepEqual(outside.head.all('www-authenticate'), ['Bearer realm="culvert"']);
        }
        for (const [headers, status] of [
          [[bearer(CI)], 101],
          [[bearer(CI), ['Origin', 'https://evil.example']], 101],
          [[bearer(`${CI}x`)], 401],
        ] as [Field[], number][])
          assert.equal((await locked.enter(form, [...WEBSOCKET, ...headers])).status, status);
        assertSeen('token:ci', CI);
      }
    });

  it('are accepted with the scheme in any case, and as nothing but a single Authorization field', async () => {
    const tunnel = await locked.start({ tokens: [{ name: 'ci', token: CI }] });
    assert.equal((await locked.ask(tunnel, [bearer(CI, 'bEaReR ')])).status, 200);
    locked.seen = [];
    for (const [headers, target] of [
      [[], `/?token=${CI}&access_token=${CI}&culvert_pass=${CI}`],
      [[['Cookie', `token=${CI}; culvert-pass=${CI}`]], '/'],
      [[basic('ci', CI)], '/'],
      [[bearer(CI), bearer(CI)], '/'],
      [[bearer('x'.repeat(12_000))], '/'],
      [[bearer('\u00e4\u00f6\u00fc')], '/'],
    ] as [Field[], string][])
      assert.deepEqual(
        errorOf(await locked.ask(tunnel, headers, { target })),
        [401, 'access-required'],
        `${target} ${headers.join()}`,
      );
    assert.deepEqual(locked.seen, []);
  });

  it('of one tunnel do not admit to another, and neither does the key of its account', async () => {
    const one = await locked.start({ tokens: [{ name: 'ci' }] });
    const two = await locked.start({ tokens: [{ name: 'ci' }] });
    for (const other of [tokenOf(one, 'ci'), locked.account.key])
      locked.assertRefused(await locked.ask(two, [bearer(other)]));
    assert.equal((await locked.ask(two, [bearer(tokenOf(two, 'ci'))])).status, 200);
  });

  it('stay with the relay also if another way admits the visitor, unlike those of the service', async () => {
    const tunnel = await locked.start({ tokens: [{ name: 'ci', token: CI }], ...ANN });
    const cookie = cookiesOf(
      await locked.ask(tunnel, [basic('ann', 'fern'), ['Sec-Fetch-Mode', 'navigate']]),
    );
    for (const given of [[bearer(CI)], [bearer('of-the-service'), bearer(CI)]]) {
      assert.equal((await locked.ask(tunnel, [cookie, ...given])).status, 200);
      assertSeen('basic:ann', CI);
    }
    assert.equal((await locked.ask(tunnel, [cookie, bearer('of-the-service')])).status, 200);
    assert.equal(locked.last()?.headers.authorization, 'Bearer of-the-service');
    assert.deepEqual((await locked.ask(tunnel)).head.all('www-authenticate'), [
      'Basic realm="Restricted", charset="UTF-8"',
      'Bearer realm="culvert"',
    ]);
  });

  it('are not needed for a preflight, of whose response only what answers it is passed on', async () => {
    const tunnel = await locked.start({ tokens: [{ name: 'ci', token: CI }] });
    const request = { method: 'OPTIONS' };
    const { status, text, head } = await locked.ask(tunnel, PREFLIGHT, request);
    assert.deepEqual([status, text, head.field('x-secret')], [200, '', undefined]);
    assert.equal(head.field('access-control-allow-origin'), 'https://app.example');
    assert.equal((await locked.ask(tunnel, [...PREFLIGHT, bearer('wrong')], request)).status, 401);
    const full = await locked.ask(tunnel, [...PREFLIGHT, bearer(CI)], request);
    assert.deepEqual([full.text, full.head.field('x-secret')], ['ok', 'secret']);
  });

  it('get JSON at the addresses where MCP clients look for an authorization server', async () => {
    for (const [access, right] of [
      [{ tokens: [{ name: 'ci', token: CI }] }, bearer(CI)],
      [ANN, basic('ann', 'fern')],
    ] as const) {
      const tunnel = await locked.start(access);
      for (const form of locked.forms(tunnel))
        for (const accept of [AGENT, BROWSER])
          assert.deepEqual(errorOf(await locked.ask(form, [accept], { target: `${METADATA}/mcp?x` })), [
            404,
            'not-found',
          ]);
      assert.deepEqual(locked.seen, []);
      assert.equal((await locked.ask(tunnel, [right], { target: METADATA })).text, 'ok');
      locked.seen = [];
    }
  });

  it('are shown once, kept by their names, also in a takeover, and revoked by leaving them out', async () => {
    const access = { tokens: [{ name: 'ci' }, { name: 'agent' }] };
    const request = { local_port: locked.service.port, name: `kept-${locked.account.name}` };
    const tunnel = await locked.start(access, request);
    const [ci, agent] = [tokenOf(tunnel, 'ci'), tokenOf(tunnel, 'agent')];
    const { api } = locked.account;
    assert.deepEqual((await api.get(tunnel.id)).access, access);
    for (const shown of await api.list()) assert.deepEqual(shown.access, access);
    assert.deepEqual((await locked.setAccess(tunnel, access)).access, access);
    const taken = await api.send('POST', '/v1/tunnels', { json: { ...request, access, take_over: true } });
    assert.deepEqual([taken.status, (taken.json as Tunnel).access], [200, access]);
    assert.equal((await locked.ask(tunnel, [bearer(ci)])).status, 200);
    const added = await locked.setAccess(tunnel, { tokens: [{ name: 'agent' }, { name: 'new' }] });
    for (const kept of [tokenOf(added, 'new'), agent])
      assert.equal((await locked.ask(tunnel, [bearer(kept)])).status, 200);
    assert.equal((await locked.ask(tunnel, [bearer(ci)])).status, 401);
    const again = await locked.setAccess(tunnel, { tokens: [{ name: 'ci' }] });
    assert.notEqual(tokenOf(again, 'ci'), ci);
  });

  it('cut everything that was opened with them when they are revoked, and nothing else', async () => {
    const tunnel = await locked.start({ tokens: [{ name: 'ci', token: CI }, { name: 'agent' }] });
    const agent = bearer(tokenOf(tunnel, 'agent'));
    const open = async (token: Field) => [
      await locked.enter(tunnel, [...WEBSOCKET, token]),
      await locked.enter(tunnel, [token], '/events'),
      await locked.enter(tunnel, [token], '/endless'),
    ];
    const [revoked, kept] = [await open(bearer(CI)), await open(agent)];
    await locked.setAccess(tunnel, { tokens: [{ name: 'agent' }], allow: ['127.0.0.0/8'] });
    await Promise.all(revoked.map(({ ending }) => ending));
    assert.equal((await locked.ask(tunnel, [agent])).status, 200);
    for (const { socket } of kept) assert.equal(socket.destroyed, false);
    await locked.setAccess(tunnel, { tokens: [{ name: 'agent', token: CI }] });
    await Promise.all(kept.map(({ ending }) => ending));
  });
});
