import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
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
import type { Tunnel } from '../../shared/tunnel.ts';

const BROWSER: Field = ['Accept', 'text/html,application/xhtml+xml,*/*;q=0.8'];
const FORM: Field = ['Content-Type', 'application/x-www-form-urlencoded'];
const ANN = { user: 'ann', password: 'mild oak: fern' };
const PASSWORD = 'mild oak fern';
/** Fields of a service that override caching or set cookies of the relay. */
const SERVICE_FIELDS: Field[] = [
  ['Access-Control-Allow-Origin', 'https://app.example'],
  ['Access-Control-Allow-Headers', 'authorization'],
  ['Vary', 'Origin'],
  ['Allow', 'GET, PUT'],
  ['X-Secret', 'secret'],
  ['ETag', '"secret"'],
  ['Set-Cookie', 'secret=1'],
  ['Set-Cookie', '=culvert-pass=planted; Path=/'],
  ['CDN-Cache-Control', 'max-age=600'],
  ['Cloudflare-CDN-Cache-Control', 'max-age=600'],
  ['Surrogate-Control', 'max-age=600'],
  ['Edge-Control', 'cache-maxage=600s'],
  ['X-Accel-Expires', '600'],
  ['Expires', 'Fri, 01 Jan 2100 00:00:00 GMT'],
];

function basic(user: string, password: string): Field {
  return ['Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`];
}

/** The cookies of `Set-Cookie` fields, as a `Cookie` field. */
function cookiesOf({ head }: Response): Field {
  return [
    'Cookie',
    head
      .all('set-cookie')
      .map((cookie) => cookie.split(';', 1)[0])
      .join('; '),
  ];
}

/** Like {@link assertRefused}, after an earlier request has reached the service. */
function assertRefusedNow({ head, status }: Response): void {
  assert.deepEqual([status, head.field('culvert-error')], [401, 'access-required']);
}

describe('access to a tunnel (protocol.md section 11)', () => {
  const { scope, relay } = relaySuite();
  let service: HttpService;
  /** one for each test, because the rate of creating tunnels is limited per account */
  let account: TestAccount;
  let accounts = 0;
  let api: Api;
  /** the last request of the local service */
  let seen: IncomingMessage | undefined;

  before(async () => {
    service = await startHttpService(scope, (request, response) => {
      seen = request;
      if (request.url === '/events') {
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
        return;
      }
      if (request.url === '/long') {
        response.writeHead(200, { 'Content-Type': 'text/plain' }).write('first');
        return;
      }
      response.setHeader('Cache-Control', 'public, max-age=60');
      if (request.url?.startsWith('/fields') === true) {
        for (const [name, value] of SERVICE_FIELDS) response.appendHeader(name, value);
        response.statusMessage = 'secret';
        response.writeProcessing();
        response.writeEarlyHints({ link: '</secret>; rel=preload' });
      }
      if (request.url === '/fields/endless') return void response.write('secret');
      request.resume().on('end', () => response.end('ok'));
    });
    service.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
  });

  beforeEach(async () => {
    seen = undefined;
    accounts += 1;
    account = await createAccount(relay, { subdomain: `acme${accounts}` });
    api = new Api(relay, account.key);
  });

  /** The last request of the local service. */
  function last(): IncomingMessage | undefined {
    return seen;
  }

  /** Starts `culvert` with a tunnel over trunks. */
  async function startCulvert(access: object): Promise<Tunnel> {
    const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
    await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: access });
    return tunnel;
  }

  async function start(access: object): Promise<Tunnel> {
    return (await SpecClient.start(scope, relay, account.key, { local_port: service.port, access })).tunnel;
  }

  /** Host and prefix of a tunnel in the three forms of its address. */
  function forms({ slug }: Tunnel): [host: string, prefix: string][] {
    return [
      [`${slug}.localhost:${relay.port}`, ''],
      [`localhost:${relay.port}`, `/t/${slug}`],
      [`${slug}.acme${accounts}.localhost:${relay.port}`, ''],
    ];
  }

  async function ask(
    tunnel: Tunnel,
    headers: readonly Field[] = [],
    request: object = {},
  ): Promise<Response> {
    return await visit(relay.port, { host: hostOf(tunnel, relay), headers, ...request });
  }

  function assertRefused({ head, status }: Response, code: string): void {
    assert.equal(head.field('culvert-error'), code);
    assert.equal(status, { 'access-required': 401, 'access-address': 403, 'access-attempts': 429 }[code]);
    assert.equal(seen, undefined);
  }

  describe('for its owner', () => {
    it('is shown without secrets, and replaced as a whole', async () => {
      const tunnel = await api.create({
        local_port: 1,
        access: { basic: [ANN], password: PASSWORD, allow: ['127.0.0.0/8'] },
      });
      const shown = { allow: ['127.0.0.0/8'], basic: ['ann'], password: true };
      assert.deepEqual(tunnel.access, shown);
      assert.deepEqual((await api.get(tunnel.id)).access, shown);
      const path = `/v1/tunnels/${tunnel.id}/access`;
      const replaced = await api.send('PUT', path, { json: { links: true, knock: true } });
      assert.deepEqual(
        [replaced.status, (replaced.json as Tunnel).access],
        [200, { links: true, knock: true }],
      );
      const opened = await api.send('PUT', path, { json: {} });
      assert.deepEqual((opened.json as Tunnel).access, {});
      assert.ok(!JSON.stringify([tunnel, replaced.json]).includes('scrypt'));
    });

    it('is rejected as a whole if any part is invalid, without changing anything', async () => {
      const tunnel = await start({ password: PASSWORD });
      for (const wrong of [
        { pasword: PASSWORD },
        { password: 'abc' },
        { password: 'x'.repeat(129) },
        { allow: ['10.0.0.0/33'] },
        { allow: Array.from({ length: 65 }, () => '10.0.0.1') },
        { basic: [{ user: 'a:b', password: 'x' }] },
        { basic: [ANN, ANN] },
        { links: 'yes' },
        [],
      ]) {
        const { status, json } = await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: wrong });
        assert.deepEqual(
          [status, (json as { code: string }).code],
          [400, 'invalid-access'],
          JSON.stringify(wrong),
        );
      }
      assertRefused(await ask(tunnel), 'access-required');
    });

    it('cannot be changed by another account', async () => {
      const tunnel = await start({ password: PASSWORD });
      const stranger = await createAccount(relay);
      const path = `/v1/tunnels/${tunnel.id}/access`;
      assert.equal((await new Api(relay, stranger.key).send('PUT', path, { json: {} })).status, 404);
      assertRefused(await ask(tunnel), 'access-required');
    });

    it('survives a restart of the relay', async () => {
      const tunnel = await start({ password: PASSWORD });
      const cookie = cookiesOf(await submit(tunnel, '/', PASSWORD));
      await relay.stop();
      await relay.restart();
      assertRefused(await ask(tunnel), 'access-required');
      await eventually(30_000, async () => assert.equal((await ask(tunnel, [cookie])).status, 200));
    });
  });

  describe('with a password', () => {
    it('shows people a page, and programs JSON, in all forms of the address', async () => {
      const tunnel = await start({ password: PASSWORD });
      for (const [host, prefix] of forms(tunnel)) {
        const page = await visit(relay.port, { host, target: `${prefix}/a?b`, headers: [BROWSER] });
        assertRefused(page, 'access-required');
        assert.match(page.text, /<form method="post"/);
        assert.equal(page.head.field('cache-control'), 'no-store');
        const json = await visit(relay.port, { host, target: `${prefix}/a?b` });
        assertRefused(json, 'access-required');
        assert.equal((JSON.parse(json.text) as { code: string }).code, 'access-required');
        const head = await visit(relay.port, { host, target: `${prefix}/`, method: 'HEAD' });
        assertRefused(head, 'access-required');
        assert.equal(head.text, '');
      }
    });

    it('admits a visitor who types it, and remembers it for that form of the address', async () => {
      const tunnel = await start({ password: PASSWORD });
      const cookies: Field[] = [];
      for (const [host, prefix] of forms(tunnel)) {
        const { head, status } = await submit(tunnel, `${prefix}/a?b=c`, PASSWORD, host);
        assert.deepEqual([status, head.field('location')], [303, `${prefix}/a?b=c`]);
        assert.equal(seen, undefined);
        const [cookie = ''] = head.all('set-cookie');
        assert.match(cookie, /; HttpOnly; SameSite=Lax$/);
        assert.ok(cookie.includes(`; Path=${prefix || '/'}; Max-Age=43200;`), cookie);
        const own: Field = ['Cookie', `theirs=1; ${cookie.split(';', 1)[0]}`];
        cookies.push(own);
        const inside = await visit(relay.port, { host, target: `${prefix}/a?b=c`, headers: [own] });
        assert.equal(inside.text, 'ok');
        assert.deepEqual(
          [last()?.headers['cookie'], last()?.headers['culvert-visitor']],
          ['theirs=1', 'password'],
        );
        assert.equal(last()?.url, '/a?b=c');
        seen = undefined;
      }
      const { slug } = tunnel;
      for (const [form, cookie] of [
        [{ host: hostOf(tunnel, relay) }, cookies[1]],
        [{ host: `localhost:${relay.port}`, target: `/t/${slug}/` }, cookies[0]],
      ] as const)
        assertRefused(await visit(relay.port, { ...form, headers: [cookie ?? BROWSER] }), 'access-required');
    });

    it('reports a wrong password, and accepts another attempt', async () => {
      const tunnel = await start({ password: PASSWORD });
      const wrong = await submit(tunnel, '/x', 'mild oak ferm');
      assertRefused(wrong, 'access-required');
      assert.match(wrong.text, /role="alert"/);
      assert.deepEqual(wrong.head.all('set-cookie'), []);
      const [, action = ''] = /action="([^"]+)"/.exec(wrong.text) ?? [];
      assert.equal(action, '/x?culvert_gate');
      assert.equal((await submit(tunnel, '/x', PASSWORD)).status, 303);
    });

    it('never forwards its form to the tunnel, regardless of the sender', async () => {
      const tunnel = await start({ password: PASSWORD });
      const cookie = cookiesOf(await submit(tunnel, '/', PASSWORD));
      assert.equal((await submit(tunnel, '/', PASSWORD, undefined, [cookie])).status, 303);
      assert.equal(seen, undefined);
      const open = await start({});
      assert.equal((await submit(open, '/', PASSWORD)).status, 200);
      assert.equal(seen === undefined, false);
    });

    it('is required for an upload before its body, with and without Expect', async () => {
      const tunnel = await start({ password: PASSWORD });
      const visitor = await RawConnection.open(scope, relay.port);
      const headers: Field[] = [['Content-Length', '1000000000']];
      await visitor.write(formatRequest({ host: hostOf(tunnel, relay), method: 'POST', headers }));
      assertRefused(await visitor.response('POST'), 'access-required');
      const expecting = await RawConnection.open(scope, relay.port);
      headers.push(['Expect', '100-continue']);
      await expecting.write(formatRequest({ host: hostOf(tunnel, relay), method: 'POST', headers }));
      assertRefused(await expecting.response('POST'), 'access-required');
    });

    it('refuses a form that is too large to be its own', async () => {
      const tunnel = await start({ password: PASSWORD });
      assert.equal((await submit(tunnel, '/', 'x'.repeat(5000))).status, 400);
      assert.equal(seen, undefined);
    });

    it('marks only protected responses as uncacheable for shared caches', async () => {
      const tunnel = await start({ password: PASSWORD });
      const cookie = cookiesOf(await submit(tunnel, '/', PASSWORD));
      assert.deepEqual((await ask(tunnel, [cookie])).head.all('cache-control'), ['max-age=60', 'private']);
      assert.deepEqual((await ask(await start({}))).head.all('cache-control'), ['public, max-age=60']);
    });

    it('removes fields that override Cache-Control for some caches', async () => {
      const tunnel = await start({ password: PASSWORD });
      const cookie = cookiesOf(await submit(tunnel, '/', PASSWORD));
      const { head } = await ask(tunnel, [cookie], { target: '/fields' });
      const directing = head.fields.filter(([name]) => /control$|expires$/i.test(name));
      assert.deepEqual(directing, [
        ['Cache-Control', 'max-age=60'],
        ['Expires', '0'],
        ['Cache-Control', 'private'],
      ]);
      const open = await ask(await start({}), [], { target: '/fields' });
      assert.equal(open.head.field('surrogate-control'), 'max-age=600');
    });

    it('drops relay cookies that the service sets, even without a name', async () => {
      const tunnel = await start({});
      for (const [host, prefix] of forms(tunnel)) {
        const { head } = await visit(relay.port, { host, target: `${prefix}/fields` });
        assert.deepEqual(
          head.all('set-cookie').map((cookie) => cookie.split(';', 1)[0]),
          ['secret=1'],
        );
      }
    });

    it('rejects its form from a page of another site', async () => {
      const tunnel = await start({ password: PASSWORD });
      for (const from of [
        ['Sec-Fetch-Site', 'cross-site'],
        ['Sec-Fetch-Site', 'same-site'],
        ['Origin', 'https://evil.example'],
      ] as const) {
        const response = await submit(tunnel, '/', PASSWORD, undefined, [from]);
        assertRefused(response, 'access-required');
        assert.deepEqual(response.head.all('set-cookie'), []);
      }
      assert.equal(
        (await submit(tunnel, '/', PASSWORD, undefined, [['Sec-Fetch-Site', 'same-origin']])).status,
        303,
      );
    });

    it('is required for a WebSocket of a page of another host, despite a cookie or HTTP Basic', async () => {
      const tunnel = await start({ password: PASSWORD, basic: [ANN] });
      for (const [host, prefix] of forms(tunnel)) {
        const cookie = cookiesOf(await submit(tunnel, `${prefix}/`, PASSWORD, host));
        for (const shown of [cookie, basic('ann', ANN.password)]) {
          const open = async (...origin: Field[]): Promise<number> => {
            const visitor = await RawConnection.open(scope, relay.port, 60_000);
            const headers = [...WEBSOCKET, shown, ...origin];
            await visitor.write(formatRequest({ host, target: `${prefix}/`, headers }));
            return (await visitor.finalHead()).status;
          };
          assert.equal(await open(), 101);
          assert.equal(await open(['Origin', `http://${host}`]), 101);
          for (const other of [`http://evil.${host}`, 'http://localhost:1', 'https://evil.example', 'null'])
            assert.equal(await open(['Origin', other]), 401, `${host} ${other}`);
          assert.equal(await open(['Origin', `http://${host}`], ['Origin', 'https://evil.example']), 401);
        }
      }
    });

    it('applies to WebSockets, preflights and HTTP/1.0 like to other requests', async () => {
      const tunnel = await start({ password: PASSWORD });
      assertRefused(await ask(tunnel, WEBSOCKET), 'access-required');
      assertRefused(await ask(tunnel, PREFLIGHT, { method: 'OPTIONS' }), 'access-required');
      assertRefused(await ask(tunnel, [], { version: 'HTTP/1.0' }), 'access-required');
      const cookie = cookiesOf(await submit(tunnel, '/', PASSWORD));
      assert.equal((await ask(tunnel, [...PREFLIGHT, cookie], { method: 'OPTIONS' })).status, 200);
      assert.equal((await ask(tunnel, [cookie], { version: 'HTTP/1.0' })).text, 'ok');
      assert.equal(await switches(tunnel, [cookie]), 101);
    });
  });

  describe('with HTTP Basic', () => {
    it('sends a challenge that browsers and programs understand, and admits valid credentials', async () => {
      const tunnel = await start({ basic: [ANN, { user: 'bob', password: 'x' }] });
      for (const [host, prefix] of forms(tunnel)) {
        const target = `${prefix}/`;
        const asked = await visit(relay.port, { host, target });
        assertRefused(asked, 'access-required');
        // A browser sends a password again wherever the same realm appears on the same origin.
        const realm = `${prefix} Restricted`.trim();
        assert.equal(asked.head.field('www-authenticate'), `Basic realm="${realm}", charset="UTF-8"`);
        for (const wrong of [basic('ann', 'x'), basic('bob', ANN.password), basic('eve', 'x')])
          assertRefused(await visit(relay.port, { host, target, headers: [wrong] }), 'access-required');
        for (const _ of ['first', 'remembered']) {
          const inside = await visit(relay.port, { host, target, headers: [basic('ann', ANN.password)] });
          assert.equal(inside.text, 'ok');
          assert.deepEqual(inside.head.all('set-cookie'), []);
          assert.deepEqual(
            [last()?.headers['authorization'], last()?.headers['culvert-visitor']],
            [undefined, 'basic:ann'],
          );
        }
        seen = undefined;
      }
    });

    it('sends no challenge in the folder of all tunnels, for which browsers reuse passwords', async () => {
      const tunnel = await start({ basic: [ANN] });
      const host = `localhost:${relay.port}`;
      const bare = await visit(relay.port, { host, target: `/t/${tunnel.slug}` });
      assertRefused(bare, 'access-required');
      assert.equal(bare.head.field('www-authenticate'), undefined);
    });

    it('forwards the body of an authorized request, and preflights without credentials', async () => {
      const tunnel = await start({ basic: [ANN] });
      const auth = basic('ann', ANN.password);
      assert.equal((await ask(tunnel, [auth], { method: 'POST', body: 'x'.repeat(100_000) })).text, 'ok');
      assert.equal((await ask(tunnel, PREFLIGHT, { method: 'OPTIONS' })).status, 200);
      assert.equal(last()?.headers['culvert-visitor'], undefined);
    });

    for (const over of ['data sockets', 'trunks'])
      it(`passes on only the answer to a preflight without credentials, over ${over}`, async () => {
        const access = { basic: [ANN] };
        const tunnel = over === 'trunks' ? await startCulvert(access) : await start(access);
        for (const [host, prefix] of forms(tunnel)) {
          for (const path of ['/fields', '/fields/endless']) {
            const visitor = await RawConnection.open(scope, relay.port, 60_000);
            const request = { host, target: prefix + path, method: 'OPTIONS', headers: PREFLIGHT };
            await visitor.write(formatRequest(request));
            const { head, text } = await visitor.response('OPTIONS');
            const own = head.fields.filter(([name]) => !/^(?:cache-control|x-robots-tag)$/i.test(name));
            assert.deepEqual(
              own.filter(([, value]) => value !== 'Service-Worker'),
              [...SERVICE_FIELDS.slice(0, 4), ['Content-Length', '0']],
            );
            assert.deepEqual([head.status, text], [200, '']);
            // The connection continues, without any part of the withheld response.
            await visitor.write(formatRequest({ ...request, headers: [] }));
            assertRefusedNow(await visitor.response('OPTIONS'));
          }
          const full = [...PREFLIGHT, basic('ann', ANN.password)];
          const inside = await visit(relay.port, {
            host,
            target: `${prefix}/fields`,
            method: 'OPTIONS',
            headers: full,
          });
          assert.deepEqual([inside.text, inside.head.field('x-secret')], ['ok', 'secret']);
        }
      });

    it('requires credentials for a preflight with a body, regardless of its framing', async () => {
      const tunnel = await start({ basic: [ANN] });
      for (const [host, prefix] of forms(tunnel)) {
        for (const framing of [
          [['Content-Length', '6']],
          [['Transfer-Encoding', 'chunked']],
          [
            ['Content-Length', '6'],
            ['Expect', '100-continue'],
          ],
        ] as Field[][]) {
          const visitor = await RawConnection.open(scope, relay.port, 60_000);
          const headers = [...PREFLIGHT, ...framing];
          await visitor.write(formatRequest({ host, target: `${prefix}/`, method: 'OPTIONS', headers }));
          assertRefused(await visitor.response('OPTIONS'), 'access-required');
        }
      }
    });

    it('sets a cookie for browsers, which also authorizes their WebSockets', async () => {
      const tunnel = await start({ basic: [ANN] });
      const inside = await ask(tunnel, [basic('ann', ANN.password), ['Sec-Fetch-Mode', 'navigate']]);
      assert.equal(await switches(tunnel, [cookiesOf(inside)]), 101);
    });

    it('leaves credentials for the service to the service', async () => {
      const tunnel = await start({ basic: [ANN] });
      const inside = await ask(tunnel, [basic('ann', ANN.password), ['Sec-Fetch-Mode', 'navigate']]);
      const cookie = cookiesOf(inside);
      for (const [, value] of [basic('of-the-service', 'x'), ['Authorization', 'Bearer abc']] as const) {
        assert.equal((await ask(tunnel, [cookie, ['Authorization', value]])).text, 'ok');
        assert.equal(last()?.headers['authorization'], value);
      }
    });
  });

  describe('from certain addresses only', () => {
    it('admits those, and tells others so, regardless of their credentials', async () => {
      const here = await start({ allow: ['127.0.0.1', '::1'] });
      assert.equal((await ask(here)).text, 'ok');
      const elsewhere = await start({ allow: ['192.0.2.0/24'], password: PASSWORD });
      seen = undefined;
      assertRefused(await ask(elsewhere), 'access-address');
      assertRefused(await submit(elsewhere, '/', PASSWORD), 'access-address');
      const both = await start({ allow: ['127.0.0.1'], password: PASSWORD });
      assertRefused(await ask(both), 'access-required');
      assert.equal((await submit(both, '/', PASSWORD)).status, 303);
    });
  });

  describe('with several kinds of access', () => {
    it('requires only one of them', async () => {
      const tunnel = await start({ basic: [ANN], password: PASSWORD, links: true, knock: true });
      assert.equal((await ask(tunnel, [basic('ann', ANN.password)])).text, 'ok');
      assert.equal((await ask(tunnel, [cookiesOf(await submit(tunnel, '/', PASSWORD))])).text, 'ok');
    });
  });

  describe('under attack', () => {
    it('trusts no claim of a visitor about identity', async () => {
      const open = await start({});
      const locked = await start({ password: PASSWORD });
      const cookie = cookiesOf(await submit(locked, '/', PASSWORD));
      for (const [tunnel, headers, visitor] of [
        [open, [], undefined],
        [locked, [cookie], 'password'],
      ] as const) {
        for (const name of [
          'Culvert-Visitor',
          'culvert_visitor',
          'CULVERT-VISITOR',
          'Culvert_Visitor',
          'Culvert.Visitor',
          'culvert~visitor',
          'CULVERT+VISITOR',
          'Culvert!Visitor',
        ]) {
          assert.equal((await ask(tunnel, [...headers, [name, 'basic:ann']])).text, 'ok');
          const fields = Object.entries(last()?.headersDistinct ?? {}).filter(([key]) =>
            /culvert.visitor/i.test(key),
          );
          assert.deepEqual(fields, visitor === undefined ? [] : [['culvert-visitor', [visitor]]]);
        }
      }
    });

    it('rejects cookies of another tunnel or an earlier policy, tampered ones, and the tunnel’s own', async () => {
      const [one, two] = await Promise.all([start({ password: PASSWORD }), start({ password: PASSWORD })]);
      const [name, value] = cookiesOf(await submit(one, '/', PASSWORD));
      assertRefused(await ask(two, [[name, value]]), 'access-required');
      assertRefused(await ask(one, [[name, `${value}x`]]), 'access-required');
      assertRefused(
        await ask(one, [[name, value.replace(/\.[^.]+\.([^.]+)$/, '.YWRtaW4.$1')]]),
        'access-required',
      );
      assertRefused(await ask(one, [[name, value.replace(/\.\d+/, '.9999999999')]]), 'access-required');
      await api.send('PUT', `/v1/tunnels/${one.id}/access`, { json: { password: PASSWORD } });
      assertRefused(await ask(one, [[name, value]]), 'access-required');
    });

    it("limits wrong attempts to ten a minute, then rejects even the right one, but not others'", async () => {
      const tunnel = await start({ password: PASSWORD, basic: [ANN] });
      const other = await start({ password: PASSWORD });
      const since = performance.now();
      const tries = await tryWrong(tunnel);
      // One attempt is regained every 6 s, which matters on a slow machine.
      const grown = Math.ceil((performance.now() - since) / 6000);
      const taken = tries.filter(({ head }) => head.field('culvert-error') === 'access-required').length;
      assert.ok(taken >= Math.min(10, tries.length) && taken <= 10 + grown, `${taken} tries were taken`);
      await eventually(60_000, async () => {
        await tryWrong(tunnel);
        const late = await submit(tunnel, '/', PASSWORD);
        assertRefused(late, 'access-attempts');
        assert.match(late.head.field('retry-after') ?? '', /^\d+$/);
      });
      assert.equal((await submit(other, '/', PASSWORD)).status, 303);
    });
  });

  it('a password is no easier to guess after it was used recently', async () => {
    const tunnel = await start({ password: PASSWORD, basic: [ANN] });
    assert.equal((await submit(tunnel, '/', PASSWORD)).status, 303);
    const right = basic('ann', ANN.password);
    assert.equal((await ask(tunnel, [right])).text, 'ok');
    seen = undefined;
    assertRefused(await ask(tunnel, [basic('', PASSWORD)]), 'access-required');
    await eventually(60_000, async () => {
      seen = undefined;
      await tryWrong(tunnel);
      assertRefused(await submit(tunnel, '/', PASSWORD), 'access-attempts');
      assertRefused(await ask(tunnel, [right]), 'access-attempts');
    });
  });

  describe('after a change', () => {
    it('applies to the next request, cuts WebSockets and event streams, and leaves other responses alone', async () => {
      const tunnel = await start({});
      const [socket, events, long] = await Promise.all([
        enter(tunnel, WEBSOCKET),
        enter(tunnel, [], '/events'),
        enter(tunnel, [], '/long'),
      ]);
      await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: { password: PASSWORD } });
      await Promise.all([socket.ending, events.ending]);
      seen = undefined;
      assertRefused(await ask(tunnel), 'access-required');
      assert.equal(long.socket.destroyed, false);
    });

    it('keeps connections of visitors who are still allowed', async () => {
      const tunnel = await start({ password: PASSWORD });
      const cookie = cookiesOf(await submit(tunnel, '/', PASSWORD));
      const socket = await enter(tunnel, [...WEBSOCKET, cookie]);
      await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: { allow: ['127.0.0.1'] } });
      await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: {} });
      assert.equal((await ask(tunnel)).text, 'ok');
      assert.equal(socket.socket.destroyed, false);
      await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: { allow: ['192.0.2.1'] } });
      await socket.ending;
    });
  });

  it('works the same through culvert and its trunks', async () => {
    const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
    await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: { password: PASSWORD, basic: [ANN] } });
    assertRefused(await ask(tunnel), 'access-required');
    const cookie = cookiesOf(await submit(tunnel, '/', PASSWORD));
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await ask(tunnel, [cookie])).text, 'ok');
      assert.equal(last()?.headers['culvert-visitor'], 'password');
      assert.equal((await ask(tunnel, [basic('ann', ANN.password)])).text, 'ok');
      assert.equal(last()?.headers['culvert-visitor'], 'basic:ann');
    }
  });

  const PREFLIGHT: Field[] = [
    ['Origin', 'https://app.example'],
    ['Access-Control-Request-Method', 'PUT'],
  ];

  /** Tries twelve wrong passwords in parallel, in both ways. */
  async function tryWrong(tunnel: Tunnel): Promise<Response[]> {
    return await Promise.all(
      Array.from({ length: 12 }, async (_, index) =>
        index % 2 === 0 ? await submit(tunnel, '/', 'wrong') : await ask(tunnel, [basic('ann', 'wrong')]),
      ),
    );
  }

  /** Submits the form of the page. */
  async function submit(
    tunnel: Tunnel,
    path: string,
    password: string,
    host = hostOf(tunnel, relay),
    headers: readonly Field[] = [],
  ): Promise<Response> {
    return await visit(relay.port, {
      host,
      method: 'POST',
      target: `${path}${path.includes('?') ? '&' : '?'}culvert_gate`,
      headers: [BROWSER, FORM, ...headers],
      body: new URLSearchParams({ culvert_password: password }).toString(),
    });
  }

  /** A visitor whose response has begun. */
  async function enter(tunnel: Tunnel, headers: readonly Field[], target = '/'): Promise<RawConnection> {
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    await visitor.write(formatRequest({ host: hostOf(tunnel, relay), target, headers }));
    await visitor.finalHead();
    return visitor;
  }

  async function switches(tunnel: Tunnel, headers: readonly Field[]): Promise<number> {
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    await visitor.write(formatRequest({ host: hostOf(tunnel, relay), headers: [...WEBSOCKET, ...headers] }));
    return (await visitor.finalHead()).status;
  }
});
