import assert from 'node:assert/strict';
import { eventually } from '../support/deadline.ts';
import { basic, bearer, BROWSER, cookiesOf, LockedTunnels, PREFLIGHT } from '../support/locked-tunnels.ts';
import { type Field, formatRequest, RawConnection, type Response, WEBSOCKET } from '../support/raw-http.ts';
import { administer } from '../support/accounts.ts';
import { relaySuite, sharedRelaySuite } from '../support/relay-suite.ts';
import type { NewLink } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';

const ANN = { user: 'ann', password: 'mild oak: fern' };
const AUTH = basic('ann', ANN.password);
const PASSWORD = 'mild oak fern';
const CI = `ci-${'x'.repeat(21)}`;
const NAVIGATION: Field = ['Sec-Fetch-Mode', 'navigate'];
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
  ['Surrogate-Control', 'max-age=600'],
  ['X-Accel-Expires', '600'],
  ['Expires', 'Fri, 01 Jan 2100 00:00:00 GMT'],
];

describe('access to a tunnel (protocol.md section 11)', () => {
  const suite = sharedRelaySuite();
  const { scope, relay } = suite;
  const locked = new LockedTunnels(suite, ({ url }, response) => {
    response.setHeader('Cache-Control', 'public, max-age=60');
    if (url?.startsWith('/fields') !== true) return false;
    for (const [name, value] of SERVICE_FIELDS) response.appendHeader(name, value);
    response.statusMessage = 'secret';
    response.writeProcessing();
    response.writeEarlyHints({ link: '</secret>; rel=preload' });
    if (url !== '/fields/endless') return false;
    return response.write('secret') || true;
  });

  describe('for its owner', () => {
    it('is shown without secrets, and replaced as a whole or not at all', async () => {
      const { api } = locked.account;
      const tunnel = await locked.start({ basic: [ANN], password: PASSWORD, allow: ['127.0.0.0/8'] });
      const shown = { allow: ['127.0.0.0/8'], basic: ['ann'], password: true };
      assert.deepEqual(tunnel.access, shown);
      assert.deepEqual((await api.get(tunnel.id)).access, shown);
      const wrong = { json: { password: PASSWORD, allow: ['10.0.0.0/33'] } };
      const { status, json } = await api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, wrong);
      assert.deepEqual([status, (json as { code: string }).code], [400, 'invalid-access']);
      assert.deepEqual((await api.get(tunnel.id)).access, shown);
      const replaced = await locked.setAccess(tunnel, { links: true, knock: true });
      assert.deepEqual(replaced.access, { links: true, knock: true });
      assert.deepEqual((await locked.setAccess(tunnel, {})).access, {});
      assert.ok(!JSON.stringify([tunnel, replaced]).includes('scrypt'));
    });
  });

  describe('with a password', () => {
    it('shows people a page, and programs JSON, in all forms of the address', async () => {
      const tunnel = await locked.start({ password: PASSWORD });
      for (const form of locked.forms(tunnel)) {
        const page = await locked.ask(form, [BROWSER], { target: '/a?b' });
        locked.assertRefused(page);
        assert.match(page.text, /<form method="post"/);
        assert.equal(page.head.field('cache-control'), 'no-store');
        const json = await locked.ask(form, [], { target: '/a?b' });
        locked.assertRefused(json);
        assert.equal((JSON.parse(json.text) as { code: string }).code, 'access-required');
        const head = await locked.ask(form, [], { method: 'HEAD' });
        locked.assertRefused(head);
        assert.equal(head.text, '');
      }
    });

    it('admits a visitor who types it, and remembers it for that form of the address', async () => {
      const tunnel = await locked.start({ password: PASSWORD });
      const forms = locked.forms(tunnel);
      const cookies: Field[] = [];
      for (const form of forms) {
        const { prefix } = form;
        const typed = await locked.submit(form, PASSWORD, '/a?b=c');
        assert.deepEqual([typed.status, typed.head.field('location')], [303, `${prefix}/a?b=c`]);
        assert.deepEqual(locked.seen, []);
        const [cookie = ''] = typed.head.all('set-cookie');
        assert.match(cookie, /; HttpOnly; SameSite=Lax$/);
        assert.ok(cookie.includes(`; Path=${prefix || '/'}; Max-Age=43200;`), cookie);
        const [, value] = cookiesOf(typed);
        cookies.push(['Cookie', value]);
        const inside = await locked.ask(form, [['Cookie', `theirs=1; ${value}`]], { target: '/a?b=c' });
        assert.equal(inside.text, 'ok');
        assert.equal(locked.last()?.headers['cookie'], 'theirs=1');
        locked.assertSeen('password', '/a?b=c');
      }
      for (const [form, cookie] of [
        [forms[0], cookies[1]],
        [forms[1], cookies[0]],
      ] as const)
        locked.assertRefused(await locked.ask(form, [cookie ?? BROWSER]));
    });

    it('reports a wrong one, and forwards no form to the tunnel, regardless of the sender', async () => {
      const tunnel = await locked.start({ password: PASSWORD });
      const wrong = await locked.submit(tunnel, 'mild oak ferm', '/x');
      locked.assertRefused(wrong);
      assert.match(wrong.text, /role="alert"/);
      assert.match(wrong.text, /action="\/x\?culvert_gate"/);
      assert.deepEqual(wrong.head.all('set-cookie'), []);
      const elsewhere = await locked.submit(tunnel, PASSWORD, '/', [['Sec-Fetch-Site', 'cross-site']]);
      locked.assertRefused(elsewhere);
      assert.deepEqual(elsewhere.head.all('set-cookie'), []);
      const cookie = cookiesOf(await locked.submit(tunnel, PASSWORD));
      assert.equal((await locked.submit(tunnel, PASSWORD, '/', [cookie])).status, 303);
      assert.equal((await locked.submit(tunnel, 'x'.repeat(5000))).status, 400);
      assert.deepEqual(locked.seen, []);
      assert.equal((await locked.submit(await locked.start({}), PASSWORD)).text, 'ok');
    });

    it('is required of requests of any kind, before their body', async () => {
      const tunnel = await locked.start({ password: PASSWORD });
      const [{ host }] = locked.forms(tunnel);
      const upload: Field[] = [['Content-Length', '1000000000']];
      for (const [method, version, headers] of [
        ['POST', 'HTTP/1.1', upload],
        ['POST', 'HTTP/1.1', [...upload, ['Expect', '100-continue']]],
        ['GET', 'HTTP/1.1', WEBSOCKET],
        ['OPTIONS', 'HTTP/1.1', PREFLIGHT],
        ['GET', 'HTTP/1.0', []],
      ] as [string, string, Field[]][]) {
        const visitor = await RawConnection.open(scope, relay.port);
        await visitor.write(formatRequest({ host, method, version, headers }));
        locked.assertRefused(await visitor.response(method));
      }
      const cookie = cookiesOf(await locked.submit(tunnel, PASSWORD));
      assert.equal((await locked.ask(tunnel, [...PREFLIGHT, cookie], { method: 'OPTIONS' })).status, 200);
      assert.equal((await locked.ask(tunnel, [cookie], { version: 'HTTP/1.0' })).text, 'ok');
    });

    it('removes fields that override Cache-Control for shared caches, and cookies of the relay', async () => {
      const [closed, open] = await Promise.all([locked.start({ password: PASSWORD }), locked.start({})]);
      const cookie = cookiesOf(await locked.submit(closed, PASSWORD));
      const { head } = await locked.ask(closed, [cookie], { target: '/fields' });
      assert.deepEqual(
        head.fields.filter(([name]) => /control$|expires$/i.test(name)),
        [
          ['Cache-Control', 'max-age=60'],
          ['Expires', '0'],
          ['Cache-Control', 'private'],
        ],
      );
      for (const form of locked.forms(open)) {
        const shown = (await locked.ask(form, [], { target: '/fields' })).head;
        assert.deepEqual(
          shown.all('set-cookie').map((each) => each.split(';', 1)[0]),
          ['secret=1'],
        );
        for (const name of ['cache-control', 'surrogate-control'])
          assert.match(shown.field(name) ?? '', /^(?:public, )?max-age=\d+$/);
      }
    });

    it('is required for a WebSocket of a page of another host, despite a cookie or HTTP Basic', async () => {
      const tunnel = await locked.start({ password: PASSWORD, basic: [ANN] });
      for (const form of locked.forms(tunnel)) {
        const cookie = cookiesOf(await locked.submit(form, PASSWORD));
        for (const shown of [cookie, AUTH])
          for (const [origin, status] of [
            [[], 101],
            [[['Origin', `http://${form.host}`]], 101],
            [[['Origin', `http://evil.${form.host}`]], 401],
            [[['Origin', 'null']], 401],
          ] as [Field[], number][])
            assert.equal(
              (await locked.enter(form, [...WEBSOCKET, shown, ...origin])).status,
              status,
              `${form.host} ${origin.join()}`,
            );
      }
    });
  });

  describe('with HTTP Basic', () => {
    it('sends a challenge that browsers and programs understand, and admits valid credentials', async () => {
      const tunnel = await locked.start({ basic: [ANN, { user: 'bob', password: 'x' }] });
      for (const form of locked.forms(tunnel)) {
        const asked = await locked.ask(form);
        locked.assertRefused(asked);
        // A browser sends a password again wherever the same realm appears on the same origin.
        const realm = `${form.prefix} Restricted`.trim();
        assert.equal(asked.head.field('www-authenticate'), `Basic realm="${realm}", charset="UTF-8"`);
        for (const wrong of [basic('bob', ANN.password), basic('eve', 'x')])
          locked.assertRefused(await locked.ask(form, [wrong]));
        for (const _ of ['first', 'remembered']) {
          const inside = await locked.ask(form, [AUTH], { method: 'POST', body: 'x'.repeat(100_000) });
          assert.deepEqual([inside.text, inside.head.all('set-cookie')], ['ok', []]);
          assert.equal(locked.last()?.headers['authorization'], undefined);
          locked.assertSeen('basic:ann', '/');
        }
      }
      // In the folder of all tunnels, for which browsers would reuse the password.
      const bare = await locked.ask({ host: `localhost:${relay.port}`, prefix: '' }, [], {
        target: `/t/${tunnel.slug}`,
      });
      locked.assertRefused(bare);
      assert.equal(bare.head.field('www-authenticate'), undefined);
    });

    for (const over of ['data sockets', 'trunks'])
      it(`passes on only the answer to a preflight without credentials, over ${over}`, async () => {
        const access = { basic: [ANN] };
        const tunnel = await (over === 'trunks' ? locked.startCulvert(access) : locked.start(access));
        const [form] = locked.forms(tunnel);
        for (const target of ['/fields', '/fields/endless']) {
          const visitor = await RawConnection.open(scope, relay.port, 60_000);
          const request = { host: form.host, target, method: 'OPTIONS', headers: PREFLIGHT };
          await visitor.write(formatRequest(request));
          const { head, text } = await visitor.response('OPTIONS');
          const own = head.fields.filter(([name]) => !/^(?:cache-control|x-robots-tag)$/i.test(name));
          assert.deepEqual(
            own.filter(([, value]) => value !== 'Service-Worker'),
            [...SERVICE_FIELDS.slice(0, 4), ['Content-Length', '0']],
          );
          assert.deepEqual([head.status, text], [200, '']);
          locked.assertSeen(undefined, target);
          // The connection continues, without any part of the withheld response.
          await visitor.write(formatRequest({ ...request, headers: [] }));
          locked.assertRefused(await visitor.response('OPTIONS'));
        }
        const full = { target: '/fields', method: 'OPTIONS' };
        const inside = await locked.ask(form, [...PREFLIGHT, AUTH], full);
        assert.deepEqual([inside.text, inside.head.field('x-secret')], ['ok', 'secret']);
        locked.seen = [];
        locked.assertRefused(await locked.ask(form, PREFLIGHT, { ...full, body: 'x' }));
      });

    it('gives browsers a cookie, with which the credentials are left to the service', async () => {
      const tunnel = await locked.start({ basic: [ANN] });
      const cookie = cookiesOf(await locked.ask(tunnel, [AUTH, NAVIGATION]));
      assert.equal((await locked.enter(tunnel, [...WEBSOCKET, cookie])).status, 101);
      for (const given of [basic('of-the-service', 'x'), bearer('abc')]) {
        assert.equal((await locked.ask(tunnel, [cookie, given])).text, 'ok');
        assert.equal(locked.last()?.headers['authorization'], given[1]);
      }
    });
  });

  it('from certain addresses is refused to others, regardless of their credentials', async () => {
    const elsewhere = await locked.start({ allow: ['192.0.2.0/24'], password: PASSWORD });
    locked.assertRefused(await locked.ask(elsewhere), 'access-address');
    locked.assertRefused(await locked.submit(elsewhere, PASSWORD), 'access-address');
    const both = await locked.start({ allow: ['127.0.0.1', '::1'], password: PASSWORD });
    locked.assertRefused(await locked.ask(both));
    assert.equal((await locked.submit(both, PASSWORD)).status, 303);
    assert.equal((await locked.ask(await locked.start({ allow: ['127.0.0.1', '::1'] }))).text, 'ok');
  });

  it('of several kinds requires only one of them, also over trunks', async () => {
    const tunnel = await locked.startCulvert({ basic: [ANN], password: PASSWORD, links: true, knock: true });
    locked.assertRefused(await locked.ask(tunnel));
    const cookie = cookiesOf(await locked.submit(tunnel, PASSWORD));
    for (let count = 0; count < 3; count += 1) {
      assert.equal((await locked.ask(tunnel, [cookie])).text, 'ok');
      locked.assertSeen('password', '/');
      assert.equal((await locked.ask(tunnel, [AUTH])).text, 'ok');
      locked.assertSeen('basic:ann', '/');
    }
  });

  describe('under attack', () => {
    it('trusts no claim of a visitor about identity', async () => {
      const [open, closed] = [await locked.start({}), await locked.start({ password: PASSWORD })];
      const cookie = cookiesOf(await locked.submit(closed, PASSWORD));
      for (const [tunnel, headers, visitor] of [
        [open, [], []],
        [closed, [cookie], [['culvert-visitor', ['password']]]],
      ] as [Tunnel, Field[], unknown[]][]) {
        for (const name of ['Culvert-Visitor', 'CULVERT_VISITOR', 'Culvert.Visitor', 'culvert~visitor']) {
          assert.equal((await locked.ask(tunnel, [...headers, [name, 'basic:ann']])).text, 'ok');
          const fields = Object.entries(locked.last()?.headersDistinct ?? {});
          assert.deepEqual(
            fields.filter(([key]) => /culvert.visitor/i.test(key)),
            visitor,
          );
        }
      }
    });

    it('rejects cookies of another tunnel or an earlier policy, and tampered ones', async () => {
      const [one, two] = await Promise.all([
        locked.start({ password: PASSWORD }),
        locked.start({ password: PASSWORD }),
      ]);
      const [name, value] = cookiesOf(await locked.submit(one, PASSWORD));
      locked.assertRefused(await locked.ask(two, [[name, value]]));
      locked.assertRefused(await locked.ask(one, [[name, value.replace(/\.\d+/, '.9999999999')]]));
      await locked.setAccess(one, { password: PASSWORD });
      locked.assertRefused(await locked.ask(one, [[name, value]]));
    });

    it("limits wrong attempts, then rejects even the right one, but not another tunnel's", async () => {
      const tunnel = await locked.start({ password: PASSWORD, basic: [ANN] });
      const other = await locked.start({ password: PASSWORD });
      // A password that was used recently is no easier to guess.
      assert.equal((await locked.submit(tunnel, PASSWORD)).status, 303);
      assert.equal((await locked.ask(tunnel, [AUTH])).text, 'ok');
      locked.seen = [];
      locked.assertRefused(await locked.ask(tunnel, [basic('', PASSWORD)]));
      // One attempt is regained every 6 s, which matters on a slow machine.
      await eventually(60_000, async () => {
        locked.seen = [];
        await tryWrong(tunnel);
        const late = await locked.submit(tunnel, PASSWORD);
        locked.assertRefused(late, 'access-attempts');
        assert.match(late.head.field('retry-after') ?? '', /^\d+$/);
        locked.assertRefused(await locked.ask(tunnel, [AUTH]), 'access-attempts');
      });
      assert.equal((await locked.submit(other, PASSWORD)).status, 303);
    });
  });

  describe('after a change', () => {
    it('applies to the next request, cuts WebSockets and event streams, and leaves others alone', async () => {
      const tunnel = await locked.start({});
      const [socket, events, long] = await Promise.all([
        locked.enter(tunnel, WEBSOCKET),
        locked.enter(tunnel, [], '/events'),
        locked.enter(tunnel, [], '/endless'),
      ]);
      locked.seen = [];
      await locked.setAccess(tunnel, { password: PASSWORD });
      await Promise.all([socket.ending, events.ending]);
      locked.assertRefused(await locked.ask(tunnel));
      assert.equal(long.socket.destroyed, false);
    });

    it('keeps connections of visitors who are still allowed', async () => {
      const tunnel = await locked.start({ password: PASSWORD });
      const cookie = cookiesOf(await locked.submit(tunnel, PASSWORD));
      const socket = await locked.enter(tunnel, [...WEBSOCKET, cookie]);
      await locked.setAccess(tunnel, { allow: ['127.0.0.1'] });
      await locked.setAccess(tunnel, {});
      assert.equal((await locked.ask(tunnel)).text, 'ok');
      assert.equal(socket.socket.destroyed, false);
      await locked.setAccess(tunnel, { allow: ['192.0.2.1'] });
      await socket.ending;
    });
  });

  /** Tries twelve wrong passwords in parallel, in both ways. */
  async function tryWrong(tunnel: Tunnel): Promise<void> {
    await Promise.all(
      Array.from({ length: 12 }, async (_, index) =>
        index % 2 === 0
          ? await locked.submit(tunnel, 'wrong')
          : await locked.ask(tunnel, [basic('ann', 'wrong')]),
      ),
    );
  }
});

describe('access to the tunnels of a relay', () => {
  const suite = relaySuite({ CULVERT_LOG_LEVEL: 'debug', CULVERT_ACCESS_LOG: 'stderr' });
  const { relay } = suite;
  const locked = new LockedTunnels(suite);

  async function link({ id }: Tunnel): Promise<NewLink> {
    return (await locked.account.api.send('POST', `/v1/tunnels/${id}/links`, { json: {} })).json as NewLink;
  }

  async function open({ url }: NewLink): Promise<Response> {
    const { host, pathname, search } = new URL(url);
    return await locked.ask({ host, prefix: '' }, [BROWSER], { target: pathname + search });
  }

  it('survives a restart, as do revocations, and the time at which a token was used', async () => {
    const tunnel = await locked.start({
      password: PASSWORD,
      links: true,
      tokens: [{ name: 'ci', token: CI }],
    });
    const [form, , own] = locked.forms(tunnel);
    const [good, revoked] = [await link(tunnel), await link(tunnel)];
    const typed = cookiesOf(await locked.submit(form, PASSWORD));
    const [linked, ended] = [cookiesOf(await open(good)), cookiesOf(await open(revoked))];
    await locked.account.api.send('DELETE', `/v1/tunnels/${tunnel.id}/links/${revoked.id}`);
    const since = Date.now();
    assert.equal((await locked.ask(form, [bearer(CI)])).status, 200);
    const used = async (): Promise<number> =>
      Date.parse((await locked.account.api.get(tunnel.id)).access.tokens?.[0]?.last_used_at ?? '');
    // Another process of the relay may have seen it, which stores it soon.
    const at = await eventually(20_000, async () => {
      const seen = await used();
      assert.ok(seen >= since - 1 && seen <= Date.now());
      return seen;
    });
    await relay.stop();
    await relay.restart();
    locked.seen = [];
    locked.assertRefused(await locked.ask(form));
    locked.assertRefused(await open(revoked));
    locked.assertRefused(await locked.ask(own, [ended]));
    assert.equal((await open(good)).status, 303);
    assert.equal(await used(), at);
    for (const [to, field] of [
      [form, typed],
      [own, linked],
      [form, bearer(CI)],
    ] as const)
      await eventually(30_000, async () => assert.equal((await locked.ask(to, [field])).status, 200));
  });

  it('writes no token into a log', async () => {
    const tunnel = await locked.start({ tokens: [{ name: 'ci', token: CI }] });
    for (const token of [CI, `${CI}wrong`]) await locked.ask(tunnel, [bearer(token)]);
    await eventually(20_000, () => assert.ok(relay.child.stderr.includes(tunnel.id)));
    assert.ok(!relay.child.stderr.includes(CI));
  });

  it('ends with links and their cookies when its secrets are rotated, and new links work', async () => {
    const tunnel = await locked.start({ links: true });
    const before = await link(tunnel);
    const [, , own] = locked.forms(tunnel);
    const cookie = cookiesOf(await open(before));
    assert.equal((await locked.ask(own, [cookie])).status, 200);
    const { links_ended: ended } = await administer(relay, 'secrets', 'renew');
    assert.ok(Number(ended) >= 1);
    await eventually(20_000, async () => assert.equal((await open(before)).status, 401));
    await eventually(20_000, async () => assert.equal((await locked.ask(own, [cookie])).status, 401));
    await eventually(20_000, async () => assert.equal((await open(await link(tunnel))).status, 303));
  });
});
