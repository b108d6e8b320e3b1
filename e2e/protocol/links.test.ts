import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Link, NewLink } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { createAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
import { basic, BROWSER, cookiesOf, type Form, LockedTunnels, PREFLIGHT } from '../support/locked-tunnels.ts';
import { type Field, type Request, type Response, WEBSOCKET } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';

const LINKS = { links: true };

type Asked = Pick<Partial<Request>, 'method' | 'target' | 'body'>;

function tokenOf({ url }: NewLink): string {
  return new URL(url).searchParams.get('culvert_pass') ?? '';
}

describe('signed links (protocol.md section 11.2)', () => {
  const suite = sharedRelaySuite();
  const { relay } = suite;
  const locked = new LockedTunnels(suite);

  async function link({ id }: Tunnel, request: object = {}): Promise<NewLink> {
    const { api } = locked.account;
    const { status, json } = await api.send('POST', `/v1/tunnels/${id}/links`, { json: request });
    assert.equal(status, 201, JSON.stringify(json));
    return json as NewLink;
  }

  async function revoke(tunnel: Tunnel, { id }: NewLink): Promise<void> {
    const { json } = await locked.account.api.send('DELETE', `/v1/tunnels/${tunnel.id}/links/${id}`);
    assert.deepEqual(json, { status: 'revoked' });
  }

  async function listed({ id }: Tunnel): Promise<Link[]> {
    const { json } = await locked.account.api.send('GET', `/v1/tunnels/${id}/links`);
    return (json as { links: Link[] }).links;
  }

  /** Follows a link as created, in a browser by default. */
  async function open({ url }: NewLink, headers: readonly Field[] = [BROWSER]): Promise<Response> {
    const { host, pathname, search } = new URL(url);
    return await locked.ask({ host, prefix: '' }, headers, { target: pathname + search });
  }

  function assertRefused(response: Response, isEnded = true): void {
    locked.assertRefused(response);
    assert.equal(/The link that you followed no longer gives access/.test(response.text), isEnded);
    assert.deepEqual(response.head.all('set-cookie'), []);
  }

  /** Allows a second for other relays to learn of a change. */
  async function becomesRefused(request: () => Promise<Response>, isEnded = true): Promise<void> {
    await eventually(20_000, async () => {
      locked.seen = [];
      assertRefused(await request(), isEnded);
    });
  }

  it("admit anyone who opens one, in all forms of the address, with the link's identity", async () => {
    const tunnel = await locked.start(LINKS);
    const token = tokenOf(await link(tunnel, { note: 'for the review' }));
    for (const form of locked.forms(tunnel)) {
      assertRefused(await locked.ask(form, [], { target: '/a' }), false);
      const led = await locked.ask(form, [BROWSER], { target: `/a?b=%2F&culvert_pass=${token}&&c` });
      assert.deepEqual([led.status, led.head.field('location')], [303, `${form.prefix}/a?b=%2F&&c`]);
      assert.deepEqual(locked.seen, []);
      assert.equal(led.head.field('cache-control'), 'no-store');
      const [cookie = ''] = led.head.all('set-cookie');
      const [, seconds] = /; Max-Age=(\d+); HttpOnly; SameSite=Lax$/.exec(cookie) ?? [];
      assert.ok(Number(seconds) > 80_000 && Number(seconds) <= 86_401, cookie);
      assert.ok(cookie.includes(`; Path=${form.prefix || '/'}; `), cookie);
      assert.equal((await locked.ask(form, [cookiesOf(led)], { target: '/a?b=%2F&&c' })).text, 'ok');
      assert.equal(locked.last()?.headers['cookie'], undefined);
      locked.assertSeen('link:for the review', '/a?b=%2F&&c');
    }
  });

  it('immediately admit programs, a body and a WebSocket, without the parameter', async () => {
    const tunnel = await locked.start(LINKS);
    const target = `/up?x&culvert_pass=${tokenOf(await link(tunnel))}`;
    for (const form of locked.forms(tunnel)) {
      assert.equal((await locked.ask(form, [], { target })).text, 'ok');
      locked.assertSeen('link', '/up?x');
      const posted = await locked.ask(form, [], { target, method: 'POST', body: 'x'.repeat(100_000) });
      assert.equal(posted.text, 'ok');
      locked.assertSeen('link', '/up?x');
      assert.equal((await locked.ask(form, [cookiesOf(posted)])).text, 'ok');
      assert.equal((await locked.enter(form, WEBSOCKET, target)).status, 101);
      locked.assertSeen('link', '/up?x');
    }
  });

  for (const over of ['data sockets', 'trunks'])
    it(`end when they are revoked, for the visitors who used them and nobody else, over ${over}`, async () => {
      const tunnel = await (over === 'trunks' ? locked.startCulvert(LINKS) : locked.start(LINKS));
      const [form, pathForm] = locked.forms(tunnel);
      const [one, two] = [await link(tunnel, { note: 'one' }), await link(tunnel, { note: 'two' })];
      const enterBy = async (made: NewLink, to = form): Promise<Field> =>
        cookiesOf(await locked.ask(to, [], { target: `/?culvert_pass=${tokenOf(made)}` }));
      const [first, second, pathCookie] = [
        await enterBy(one),
        await enterBy(two),
        await enterBy(one, pathForm),
      ];
      const cut = [
        await locked.enter(form, [...WEBSOCKET, first]),
        await locked.enter(form, [first], '/events'),
        await locked.enter(form, [first], '/endless'),
        await locked.enter(pathForm, [pathCookie], '/events'),
      ];
      const stays = await locked.enter(form, [...WEBSOCKET, second]);
      await revoke(tunnel, one);
      await Promise.all(cut.map(({ ending }) => ending));
      await becomesRefused(() => locked.ask(form, [first]), false);
      await becomesRefused(() => locked.ask(pathForm, [pathCookie]), false);
      await becomesRefused(() => open(one));
      assert.equal((await locked.ask(form, [second])).text, 'ok');
      assert.equal(stays.socket.destroyed, false);
    });

  it('do not replace the identity of a visitor who has access', async () => {
    const tunnel = await locked.start(LINKS);
    const [one, two] = [await link(tunnel, { note: 'one' }), await link(tunnel, { note: 'two' })];
    const cookie = cookiesOf(await open(one));
    const led = await open(two, [BROWSER, cookie]);
    assert.deepEqual([led.status, led.head.all('set-cookie')], [303, []]);
    const posted = await open(two, [cookie]);
    assert.deepEqual([posted.text, posted.head.all('set-cookie')], ['ok', []]);
    locked.assertSeen('link:one', '/');
  });

  it('redirect to their path without restricting the visitor to it, and never to another host', async () => {
    const tunnel = await locked.start(LINKS);
    const made = await link(tunnel, { path: '/a/b?c=d' });
    const led = await open(made);
    assert.deepEqual([led.status, led.head.field('location')], [303, '/a/b?c=d']);
    const [form, pathForm, own] = locked.forms(tunnel);
    assert.equal((await locked.ask(own, [cookiesOf(led)], { target: '/other' })).text, 'ok');
    for (const [to, location] of [
      [form, '/.//evil.example/'],
      [pathForm, `${pathForm.prefix}//evil.example/`],
    ] as const) {
      const target = `//evil.example/?culvert_pass=${tokenOf(made)}`;
      assert.equal((await locked.ask(to, [BROWSER], { target })).head.field('location'), location);
    }
  });

  it('tell people and programs that they have ended, and stay out of the form for a password', async () => {
    const tunnel = await locked.start({ ...LINKS, password: 'mild oak fern' });
    const made = await link(tunnel, { path: '/a?b' });
    await revoke(tunnel, made);
    await becomesRefused(() => open(made));
    const page = await open(made);
    assert.equal(page.head.field('content-type'), 'text/html; charset=utf-8');
    assert.match(page.text, /action="\/a\?b&amp;culvert_gate"/);
    assert.doesNotMatch(page.text, /culvert_pass=/);
    await locked.setAccess(tunnel, LINKS);
    assert.match((await open(made)).text, /<h1>This link is no longer valid<\/h1>/);
    const json = await open(made, []);
    assertRefused(json);
    assert.equal((JSON.parse(json.text) as { code: string }).code, 'access-required');
  });

  it('admit nobody while the access policy has no links, and are valid again afterwards', async () => {
    const tunnel = await locked.start(LINKS);
    const made = await link(tunnel);
    const [, , form] = locked.forms(tunnel);
    const cookie = cookiesOf(await open(made));
    await locked.setAccess(tunnel, { password: 'mild oak fern' });
    await becomesRefused(() => open(made));
    await becomesRefused(() => locked.ask(form, [cookie]), false);
    await locked.setAccess(tunnel, LINKS);
    await eventually(20_000, async () => assert.equal((await open(made)).status, 303));
    assertRefused(await locked.ask(form, [cookie]), false);
  });

  it('of a kept name admit to its next tunnel with links, except revoked ones, until it is released', async () => {
    const { api } = locked.account;
    const name = `kept-${randomBytes(6).toString('hex')}`;
    const next = async (access: object): Promise<Tunnel> => await locked.start(access, { name });
    let tunnel = await next(LINKS);
    const [one, two, gone] = [await link(tunnel, { note: 'one' }), await link(tunnel), await link(tunnel)];
    assert.equal((await api.send('POST', '/v1/names', { json: { name } })).status, 201);
    await revoke(tunnel, gone);
    await api.close(tunnel.id);
    tunnel = await next({ password: 'mild oak fern' });
    assertRefused(await open(one));
    await api.close(tunnel.id);
    tunnel = await next(LINKS);
    const ids = (await listed(tunnel)).map(({ id }) => id);
    assert.deepEqual(new Set(ids), new Set([one.id, two.id]));
    for (const form of locked.forms(tunnel)) {
      const target = `/?culvert_pass=${tokenOf(one)}`;
      const cookie = cookiesOf(await locked.ask(form, [BROWSER], { target }));
      assert.equal((await locked.ask(form, [cookie])).text, 'ok');
      locked.assertSeen('link:one', '/');
    }
    assertRefused(await open(gone));
    await revoke(tunnel, two);
    await becomesRefused(() => open(two));
    await api.close(tunnel.id);
    await api.send('DELETE', `/v1/names/${name}`);
    assert.equal((await api.send('POST', '/v1/names', { json: { name } })).status, 201);
    tunnel = await next(LINKS);
    assert.deepEqual(await listed(tunnel), []);
    for (const ended of [one, two, gone]) assertRefused(await open(ended));
  });

  it('are hidden from the service if the tunnel is public or the visitor has access by other means', async () => {
    const auth = basic('ann', 'mild oak: fern');
    const target = '/a?culvert_pass=x&b';
    const ann = { basic: [{ user: 'ann', password: 'mild oak: fern' }] };
    for (const [access, headers] of [
      [{}, []],
      [{ ...LINKS, ...ann }, [auth]],
    ] as [object, Field[]][]) {
      const tunnel = await locked.start(access);
      for (const form of locked.forms(tunnel)) {
        const remembered = cookiesOf(await locked.ask(form, [...headers, ['Sec-Fetch-Mode', 'navigate']]));
        const led = await locked.ask(form, [BROWSER, remembered], { target });
        assert.deepEqual([led.status, led.head.field('location')], [303, `${form.prefix}/a?b`]);
        for (const shown of [headers, [remembered]])
          for (const method of ['GET', 'POST']) {
            assert.equal((await locked.ask(form, shown, { target, method })).text, 'ok');
            assert.equal(locked.last()?.url, '/a?b');
          }
      }
    }
  });

  it('admit no preflight, although their cookie does', async () => {
    const tunnel = await locked.start(LINKS);
    const target = `/?culvert_pass=${tokenOf(await link(tunnel))}`;
    assertRefused(await locked.ask(tunnel, PREFLIGHT, { target, method: 'OPTIONS' }));
    const cookie = cookiesOf(await locked.ask(tunnel, [], { target }));
    assert.equal((await locked.ask(tunnel, [...PREFLIGHT, cookie], { method: 'OPTIONS' })).text, 'ok');
  });

  it('pass their note to the service, encoded for a header field', async () => {
    const tunnel = await locked.start(LINKS);
    const [, , form] = locked.forms(tunnel);
    for (const [note, told] of [
      ['für Ann & Bob: 100%', 'link:f%C3%BCr Ann & Bob: 100%25'],
      ['🦊'.repeat(64), `link:${'%F0%9F%A6%8A'.repeat(64)}`],
    ] as const) {
      const cookie = cookiesOf(await open(await link(tunnel, { note })));
      assert.equal((await locked.ask(form, [cookie, ['Culvert-Visitor', 'basic:ann']])).text, 'ok');
      locked.assertSeen(told, '/');
      assert.equal(decodeURIComponent(told), `link:${note}`);
    }
  });

  describe('for one browser', () => {
    const GOING: Field = ['Sec-Fetch-Mode', 'navigate'];
    const HERE: Field = ['Sec-Fetch-Site', 'same-origin'];

    /** What a browser does: it keeps cookies, and follows redirects. */
    async function visitWith(to: Form, target: string, jar: Field[] = []): Promise<[Response, Field]> {
      const first = await locked.ask(to, [BROWSER, GOING, ...jar], { target });
      const location = first.head.field('location') ?? '';
      if (!location.includes('culvert_gate=open')) return [first, cookiesOf(first)];
      const second = await locked.ask({ ...to, prefix: '' }, [BROWSER, GOING, cookiesOf(first)], {
        target: location,
      });
      return [second, cookiesOf(second)];
    }

    it('admit the first one until they end, and tell the owner when it came', async () => {
      const tunnel = await locked.start(LINKS);
      for (const form of locked.forms(tunnel)) {
        const made = await link(tunnel, { once: true, note: 'phone', path: '/a?b' });
        assert.equal(made.once, true);
        assert.equal((await listed(tunnel))[0]?.used_at, undefined);
        const target = `/a?b&culvert_pass=${tokenOf(made)}`;
        const [entered, cookie] = await visitWith(form, target);
        assert.deepEqual([entered.status, entered.head.field('location')], [303, `${form.prefix}/a?b`]);
        assert.deepEqual(locked.seen, []);
        assert.equal((await locked.ask(form, [cookie], { target: '/a?b' })).text, 'ok');
        locked.assertSeen('link:phone', '/a?b');
        const [again] = await visitWith(form, target, [cookie]);
        assert.deepEqual([again.status, again.head.field('location')], [303, `${form.prefix}/a?b`]);
        const [later] = await visitWith(form, target);
        locked.assertRefused(later);
        assert.match(later.text, /<h1>This link was already used<\/h1>/);
        const [{ used_at = '' } = {}] = await listed(tunnel);
        assert.ok(Date.parse(used_at) >= Date.parse(made.created_at), used_at);
        await revoke(tunnel, made);
        await becomesRefused(() => locked.ask(form, [cookie]), false);
      }
    });

    it('are not used up by previews, programs and what a browser fetches in advance', async () => {
      const tunnel = await locked.start({ ...LINKS, basic: [{ user: 'ann', password: 'mild oak: fern' }] });
      const [form] = locked.forms(tunnel);
      const target = `/?culvert_pass=${tokenOf(await link(tunnel, { once: true }))}`;
      const opening = `${target}&culvert_gate=open`;
      const asked: readonly [readonly Field[], Asked][] = [
        [[], {}],
        [[BROWSER], {}],
        [[BROWSER, GOING], { method: 'HEAD' }],
        [[BROWSER, GOING, ['Sec-Purpose', 'prefetch;prerender']], {}],
        [[BROWSER, GOING, ['Purpose', 'prefetch']], {}],
        [[BROWSER, ['Sec-Fetch-Mode', 'no-cors']], {}],
        [[], { method: 'POST', body: 'x' }],
        [WEBSOCKET, {}],
        // Without a cookie.
        [[BROWSER, GOING], { target: opening }],
        [[BROWSER, HERE], { method: 'POST', target: opening }],
        [[BROWSER, ['Sec-Fetch-Site', 'cross-site']], { method: 'POST', target: opening }],
      ];
      for (const [headers, request] of asked) {
        const preview = await locked.ask(form, headers, { target, ...request });
        locked.assertRefused(preview);
        // A browser would ask for a password.
        assert.equal(preview.head.field('www-authenticate'), undefined);
        // Not with what the browser keeps either, apart from a person who presses the button.
        const cookies = preview.head.all('set-cookie').length > 0 ? [cookiesOf(preview)] : [];
        if (request.target === undefined)
          locked.assertRefused(await locked.ask(form, [...headers, ...cookies], { target, ...request }));
      }
      assert.equal((await visitWith(form, target))[0].status, 303);
    });

    it('open with a button in browsers that do not tell whether a person goes there', async () => {
      const tunnel = await locked.start(LINKS);
      for (const form of locked.forms(tunnel)) {
        const target = `/a?culvert_pass=${tokenOf(await link(tunnel, { once: true }))}`;
        const shown = await locked.ask(form, [BROWSER], { target });
        const action = /action="([^"]+)"/.exec(shown.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
        assert.equal(action, `${form.prefix}${target}&culvert_gate=open`);
        const press = { method: 'POST', target: `${target}&culvert_gate=open` };
        assert.match((await locked.ask(form, [BROWSER, HERE], press)).text, /did not keep a cookie/);
        const entered = await locked.ask(form, [BROWSER, HERE, cookiesOf(shown)], press);
        assert.deepEqual([entered.status, entered.head.field('location')], [303, `${form.prefix}/a`]);
        assert.equal((await locked.ask(form, [cookiesOf(entered)])).text, 'ok');
      }
    });

    it('admit exactly one of many that open it at the same time, which may repeat its request', async () => {
      const tunnel = await locked.start(LINKS);
      const [form] = locked.forms(tunnel);
      const target = `/?culvert_pass=${tokenOf(await link(tunnel, { once: true }))}`;
      const browsers = await Promise.all(
        Array.from({ length: 20 }, async () => await locked.ask(form, [BROWSER, GOING], { target })),
      );
      const openAll = async (): Promise<boolean[]> => {
        const opened = browsers.map(async (led) => {
          const headers = [BROWSER, GOING, cookiesOf(led)];
          return (await locked.ask(form, headers, { target })).status === 303;
        });
        return await Promise.all(opened);
      };
      const first = await openAll();
      assert.equal(first.filter(Boolean).length, 1);
      assert.deepEqual(await openAll(), first);
    });

    it('admit the same browser after a change of the policy, and to the next tunnel of a kept name', async () => {
      const { api } = locked.account;
      const name = `kept-${randomBytes(6).toString('hex')}`;
      let tunnel = await locked.start(LINKS, { name });
      await api.send('POST', '/v1/names', { json: { name } });
      const target = `/?culvert_pass=${tokenOf(await link(tunnel, { once: true }))}`;
      const [form] = locked.forms(tunnel);
      const [, jar] = await visitWith(form, target);
      const changes = [
        async () => await locked.setAccess(tunnel, { ...LINKS, password: 'mild oak fern' }),
        async () => {
          await api.close(tunnel.id);
          tunnel = await locked.start(LINKS, { name });
        },
      ];
      for (const change of changes) {
        await change();
        await becomesRefused(() => locked.ask(form, [jar]), false);
        const [entered, cookie] = await visitWith(form, target, [jar]);
        assert.equal(entered.status, 303);
        assert.equal((await locked.ask(form, [cookie])).text, 'ok');
        locked.assertSeen('link', '/');
        assert.match((await visitWith(form, target))[0].text, /already used/);
      }
    });

    it('are ended links to other browsers once they are revoked, opened or not', async () => {
      const tunnel = await locked.start(LINKS);
      const made = await link(tunnel, { once: true });
      await revoke(tunnel, made);
      await becomesRefused(() => open(made, [BROWSER, GOING]));
    });
  });

  describe('under attack', () => {
    it('are invalid for another tunnel, in every form of its address, and so is their cookie', async () => {
      const [one, two] = [await locked.start(LINKS), await locked.start(LINKS)];
      const target = `/?culvert_pass=${tokenOf(await link(one))}`;
      const cookies: Field[] = [];
      for (const form of locked.forms(one))
        cookies.push(cookiesOf(await locked.ask(form, [BROWSER], { target })));
      for (const form of locked.forms(two)) {
        assertRefused(await locked.ask(form, [], { target }));
        for (const cookie of cookies) assertRefused(await locked.ask(form, [cookie]), false);
      }
      // In the path form of the other tunnel, under the cookie name that the first one uses in the subdomain form.
      const [first, firstPath] = locked.forms(one);
      const [hostCookie = BROWSER, pathCookie = BROWSER] = cookies;
      assertRefused(await locked.ask(firstPath, [hostCookie]), false);
      assertRefused(await locked.ask(first, [pathCookie]), false);
    });

    it('are refused when they are forged, truncated or repeated, or elsewhere', async () => {
      const tunnel = await locked.start(LINKS);
      const token = tokenOf(await link(tunnel, { note: 'for the review' }));
      const [id = '', end = '', , mac = ''] = token.split('.');
      for (const [query, isLink] of [
        ['culvert_pass=%00', true],
        [`culvert_pass=${token.slice(0, -1)}`, true],
        [`culvert_pass=${token.replaceAll('.', '%2E')}`, true],
        [`culvert_pass=${id}.${end}.${Buffer.from('the boss').toString('base64url')}.${mac}`, true],
        [`culvert_pass=${token}&culvert_pass=${token}`, true],
        // Not the relay's parameter.
        [`Culvert_Pass=${token}`, false],
        [`a?culvert_pass=${token}`, false],
      ] as const)
        for (const [headers, request] of [
          [[], {}],
          [[], { method: 'POST', body: 'x' }],
          [WEBSOCKET, {}],
        ] as const)
          assertRefused(await locked.ask(tunnel, headers, { target: `/?${query}`, ...request }), isLink);
      assertRefused(await locked.ask(tunnel, [['Cookie', `culvert-pass=${token}`]]), false);
    });

    it('cannot be created, seen or revoked by another account', async () => {
      const tunnel = await locked.start(LINKS);
      const made = await link(tunnel);
      const stranger = (await createAccount(relay)).api;
      const other = await stranger.create({ local_port: 1, access: LINKS });
      for (const [method, path] of [
        ['POST', `${tunnel.id}/links`],
        ['GET', `${tunnel.id}/links`],
        ['DELETE', `${tunnel.id}/links/${made.id}`],
        ['DELETE', `${other.id}/links/${made.id}`],
        ['PUT', `${tunnel.id}/access`],
      ] as const) {
        const { status } = await stranger.send(method, `/v1/tunnels/${path}`, { json: {} });
        assert.equal(status, 404, path);
      }
      const nobody = new Api(relay, undefined);
      assert.equal((await nobody.send('GET', `/v1/tunnels/${tunnel.id}/links`)).status, 401);
      assert.equal((await open(made)).status, 303);
    });
  });
});
