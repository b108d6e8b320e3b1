import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { NewLink } from '../../shared/links.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
import { administer, createAccount, type TestAccount } from '../support/accounts.ts';
import { Api } from '../support/api.ts';
import { eventually } from '../support/deadline.ts';
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
const PREFLIGHT: Field[] = [
  ['Origin', 'https://app.example'],
  ['Access-Control-Request-Method', 'PUT'],
];
const LINKS = { links: true };

/** A form of a tunnel's address. */
interface Form {
  readonly host: string;
  /** of the path form */
  readonly prefix: string;
}

/** The cookies of `Set-Cookie` fields, as a `Cookie` field. */
function cookiesOf({ head }: Response): Field {
  const cookies = head.all('set-cookie').map((cookie) => cookie.split(';', 1)[0]);
  return ['Cookie', cookies.join('; ')];
}

function tokenOf({ url }: NewLink): string {
  return new URL(url).searchParams.get('culvert_pass') ?? '';
}

describe('signed links (protocol.md section 11.2)', () => {
  const { scope, relay } = relaySuite();
  let service: HttpService;
  /** one for each test, because the rate of creating tunnels is limited per account */
  let account: TestAccount;
  let accounts = 0;
  /** the last request of the local service */
  let seen: IncomingMessage | undefined;

  before(async () => {
    service = await startHttpService(scope, (request, response) => {
      seen = request;
      if (request.url === '/events')
        response.writeHead(200, { 'Content-Type': 'text/event-stream' }).write('data: 1\n\n');
      else if (request.url === '/endless') response.write('begun');
      else request.resume().on('end', () => response.end('ok'));
    });
    service.server.on('upgrade', (request, socket) => {
      seen = request;
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    });
  });

  beforeEach(async () => {
    accounts += 1;
    account = await createAccount(relay, { subdomain: `links${accounts}` });
    seen = undefined;
  });

  function last(): IncomingMessage | undefined {
    return seen;
  }

  /** Starts a tunnel over data sockets. */
  async function start(access: object): Promise<Tunnel> {
    return (await SpecClient.start(scope, relay, account.key, { local_port: service.port, access })).tunnel;
  }

  /** Starts `culvert` with a tunnel over trunks. */
  async function startCulvert(access: object): Promise<Tunnel> {
    const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
    await setAccess(tunnel, access);
    return tunnel;
  }

  async function setAccess({ id }: Tunnel, access: object): Promise<void> {
    assert.equal((await account.api.send('PUT', `/v1/tunnels/${id}/access`, { json: access })).status, 200);
  }

  async function link({ id }: Tunnel, request: object = {}): Promise<NewLink> {
    const { status, json } = await account.api.send('POST', `/v1/tunnels/${id}/links`, { json: request });
    assert.equal(status, 201, JSON.stringify(json));
    return json as NewLink;
  }

  async function revoke(tunnel: Tunnel, { id }: NewLink): Promise<void> {
    const { json } = await account.api.send('DELETE', `/v1/tunnels/${tunnel.id}/links/${id}`);
    assert.deepEqual(json, { status: 'revoked' });
  }

  /** The three forms of a tunnel's address. The last one is its `public_url`. */
  function forms({ slug }: Tunnel): [Form, Form, Form] {
    return [
      { host: `${slug}.localhost:${relay.port}`, prefix: '' },
      { host: `localhost:${relay.port}`, prefix: `/t/${slug}` },
      { host: `${slug}.links${accounts}.localhost:${relay.port}`, prefix: '' },
    ];
  }

  async function ask(
    { host, prefix }: Form,
    target: string,
    headers: readonly Field[] = [],
    request: object = {},
  ): Promise<Response> {
    return await visit(relay.port, { host, target: prefix + target, headers, ...request });
  }

  /** Follows a link as created, in a browser. */
  async function open({ url }: NewLink, headers: readonly Field[] = [BROWSER]): Promise<Response> {
    const { host, pathname, search } = new URL(url);
    return await visit(relay.port, { host, target: pathname + search, headers });
  }

  /** A visitor whose response has begun. */
  async function enter(
    { host, prefix }: Form,
    target: string,
    headers: readonly Field[],
  ): Promise<RawConnection> {
    const visitor = await RawConnection.open(scope, relay.port, 60_000);
    await visitor.write(formatRequest({ host, target: prefix + target, headers }));
    const { status } = await visitor.finalHead();
    assert.ok(status === 101 || status === 200, String(status));
    return visitor;
  }

  function assertRefused({ head, status, text }: Response, isEnded = true): void {
    assert.deepEqual([status, head.field('culvert-error')], [401, 'access-required']);
    assert.equal(/The link that you followed no longer gives access/.test(text), isEnded, text);
    assert.deepEqual(head.all('set-cookie'), []);
    assert.equal(seen, undefined);
  }

  /** Like {@link isRefused}, but allows a second for other relays to learn of it. */
  async function becomesRefused(request: () => Promise<Response>, isEnded = true): Promise<void> {
    await eventually(20_000, async () => {
      seen = undefined;
      assertRefused(await request(), isEnded);
    });
  }

  for (const [name, begin] of [
    ['data sockets', start],
    ['trunks', startCulvert],
  ] as const) {
    describe(`over ${name}`, () => {
      it("admit anyone who opens one, in all forms of the address, with the link's identity", async () => {
        const tunnel = await begin(LINKS);
        const token = tokenOf(await link(tunnel, { note: 'for the review' }));
        for (const form of forms(tunnel)) {
          assertRefused(await ask(form, '/a'), false);
          const led = await ask(form, `/a?b=%2F&culvert_pass=${token}&&c`, [BROWSER]);
          assert.deepEqual([led.status, led.head.field('location')], [303, `${form.prefix}/a?b=%2F&&c`]);
          assert.equal(seen, undefined);
          assert.equal(led.head.field('cache-control'), 'no-store');
          const [cookie = ''] = led.head.all('set-cookie');
          const [, seconds] = /; Max-Age=(\d+); HttpOnly; SameSite=Lax$/.exec(cookie) ?? [];
          assert.ok(Number(seconds) > 80_000 && Number(seconds) <= 86_401, cookie);
          assert.ok(cookie.includes(`; Path=${form.prefix || '/'}; `), cookie);
          assert.equal((await ask(form, '/a?b=%2F&&c', [cookiesOf(led)])).text, 'ok');
          const { url, headers } = last() ?? {};
          assert.deepEqual(
            [url, headers?.['cookie'], headers?.['culvert-visitor']],
            ['/a?b=%2F&&c', undefined, 'link:for the review'],
          );
          seen = undefined;
        }
      });

      it('immediately admit programs, a body and a WebSocket, without the parameter', async () => {
        const tunnel = await begin(LINKS);
        const query = `/up?x&culvert_pass=${tokenOf(await link(tunnel))}`;
        for (const form of forms(tunnel)) {
          assert.deepEqual([(await ask(form, query)).text, last()?.url], ['ok', '/up?x']);
          const body = 'x'.repeat(100_000);
          const posted = await ask(form, query, [], { method: 'POST', body });
          assert.deepEqual([posted.text, last()?.url], ['ok', '/up?x']);
          assert.equal(last()?.headers['culvert-visitor'], 'link');
          const again = await ask(form, '/', [cookiesOf(posted)]);
          assert.equal(again.text, 'ok');
          await enter(form, query, WEBSOCKET);
          assert.equal(last()?.url, '/up?x');
        }
      });

      it('end when they are revoked, for the visitors who used them and nobody else', async () => {
        const tunnel = await begin(LINKS);
        const [form, pathForm] = forms(tunnel);
        const [one, two] = [await link(tunnel, { note: 'one' }), await link(tunnel, { note: 'two' })];
        const cookies = [];
        for (const made of [one, two])
          cookies.push(cookiesOf(await ask(form, `/?culvert_pass=${tokenOf(made)}`)));
        const [first = BROWSER, second = BROWSER] = cookies;
        const pathCookie = cookiesOf(await ask(pathForm, `/?culvert_pass=${tokenOf(one)}`));
        const cut = [
          await enter(form, '/', [...WEBSOCKET, first]),
          await enter(form, '/events', [first]),
          await enter(form, '/endless', [first]),
          await enter(pathForm, '/events', [pathCookie]),
        ];
        const stays = await enter(form, '/', [...WEBSOCKET, second]);
        await revoke(tunnel, one);
        await Promise.all(cut.map(({ ending }) => ending));
        await becomesRefused(() => ask(form, '/', [first]), false);
        await becomesRefused(() => ask(pathForm, '/', [pathCookie]), false);
        await becomesRefused(() => open(one));
        assert.equal((await ask(form, '/', [second])).text, 'ok');
        assert.equal(stays.socket.destroyed, false);
      });
    });
  }

  it('do not replace the identity of a visitor who has access', async () => {
    const tunnel = await start(LINKS);
    const [one, two] = [await link(tunnel, { note: 'one' }), await link(tunnel, { note: 'two' })];
    for (const form of forms(tunnel)) {
      const cookie = cookiesOf(await ask(form, `/?culvert_pass=${tokenOf(one)}`));
      const led = await ask(form, `/?culvert_pass=${tokenOf(two)}`, [BROWSER, cookie]);
      assert.deepEqual([led.status, led.head.all('set-cookie')], [303, []]);
      const posted = await ask(form, `/?culvert_pass=${tokenOf(two)}`, [cookie], {
        method: 'POST',
        body: 'x',
      });
      assert.deepEqual([posted.text, posted.head.all('set-cookie')], ['ok', []]);
      assert.equal(last()?.headers['culvert-visitor'], 'link:one');
    }
  });

  it('redirect to their path without restricting the visitor to it', async () => {
    const tunnel = await start(LINKS);
    const led = await open(await link(tunnel, { path: '/a/b?c=d' }));
    assert.deepEqual([led.status, led.head.field('location')], [303, '/a/b?c=d']);
    const [, , form] = forms(tunnel);
    assert.equal((await ask(form, '/other', [cookiesOf(led)])).text, 'ok');
  });

  it('redirect nowhere else, regardless of the path they are put on', async () => {
    const tunnel = await start(LINKS);
    const query = `?culvert_pass=${tokenOf(await link(tunnel))}`;
    const [form, pathForm] = forms(tunnel);
    assert.equal(
      (await ask(form, `//evil.example/${query}`, [BROWSER])).head.field('location'),
      '/.//evil.example/',
    );
    assert.equal(
      (await ask(pathForm, `//evil.example/${query}`, [BROWSER])).head.field('location'),
      `${pathForm.prefix}//evil.example/`,
    );
  });

  it('expire at their expiry time', async () => {
    const tunnel = await start(LINKS);
    const made = await link(tunnel, { ttl: '5s' });
    const [, , form] = forms(tunnel);
    const led = await open(made);
    const cookie = cookiesOf(led);
    assert.equal((await ask(form, '/', [cookie])).text, 'ok');
    const cut = [
      await enter(form, '/', [...WEBSOCKET, cookie]),
      await enter(form, '/events', [cookie]),
      await enter(form, '/endless', [cookie]),
    ];
    await Promise.all(cut.map(({ ending }) => ending));
    await becomesRefused(() => ask(form, '/', [cookiesOf(led)]), false);
    assertRefused(await open(made));
    const { json } = await account.api.send('GET', `/v1/tunnels/${tunnel.id}/links`);
    assert.deepEqual(json, { links: [] });
  });

  it('tell people and programs that they have ended', async () => {
    const tunnel = await start(LINKS);
    const made = await link(tunnel);
    await revoke(tunnel, made);
    await becomesRefused(() => open(made));
    const page = await open(made);
    assertRefused(page);
    assert.equal(page.head.field('content-type'), 'text/html; charset=utf-8');
    assert.match(page.text, /<h1>This link has expired<\/h1>/);
    assert.ok(!page.text.includes('culvert_pass'));
    const json = await open(made, []);
    assertRefused(json);
    assert.equal((JSON.parse(json.text) as { code: string }).code, 'access-required');
  });

  it('are also kept out of the form for a password', async () => {
    const tunnel = await start({ ...LINKS, password: 'mild oak fern' });
    const [form] = forms(tunnel);
    const page = await ask(form, '/a?b&culvert_pass=x', [BROWSER]);
    assertRefused(page);
    const [, action = ''] = /action="([^"]+)"/.exec(page.text) ?? [];
    assert.equal(action, '/a?b&amp;culvert_gate');
  });

  it('survive a restart of the relay, and so does their revocation', async () => {
    const tunnel = await start(LINKS);
    const [good, revoked] = [await link(tunnel), await link(tunnel)];
    const [, , form] = forms(tunnel);
    const cookie = cookiesOf(await open(good));
    const ended = cookiesOf(await open(revoked));
    await revoke(tunnel, revoked);
    await relay.stop();
    await relay.restart();
    assertRefused(await open(revoked));
    assertRefused(await ask(form, '/', [ended]), false);
    assert.equal((await open(good)).status, 303);
    await eventually(30_000, async () => assert.equal((await ask(form, '/', [cookie])).text, 'ok'));
  });

  it('admit nobody while the access policy has no links, and are valid again afterwards', async () => {
    const tunnel = await start(LINKS);
    const made = await link(tunnel);
    const [, , form] = forms(tunnel);
    const cookie = cookiesOf(await open(made));
    await setAccess(tunnel, { password: 'mild oak fern' });
    await becomesRefused(() => open(made));
    await becomesRefused(() => ask(form, '/', [cookie]), false);
    await setAccess(tunnel, LINKS);
    await eventually(20_000, async () => assert.equal((await open(made)).status, 303));
    assertRefused(await ask(form, '/', [cookie]), false);
  });

  it('are hidden from the service if the tunnel is public, and still redirect', async () => {
    const tunnel = await start({});
    for (const form of forms(tunnel)) {
      const led = await ask(form, '/a?culvert_pass=x&b', [BROWSER]);
      assert.deepEqual([led.status, led.head.field('location')], [303, `${form.prefix}/a?b`]);
      assert.deepEqual(led.head.all('set-cookie'), []);
      assert.equal((await ask(form, '/a?culvert_pass=x&b', [], { method: 'POST', body: 'x' })).text, 'ok');
      assert.equal(last()?.url, '/a?b');
    }
  });

  it('are hidden from the service if the visitor has access by other means', async () => {
    const ann = { user: 'ann', password: 'mild oak: fern' };
    const auth: Field = [
      'Authorization',
      `Basic ${Buffer.from(`${ann.user}:${ann.password}`).toString('base64')}`,
    ];
    const tunnel = await start({ ...LINKS, basic: [ann] });
    for (const form of forms(tunnel)) {
      const inside = await ask(form, '/', [auth, ['Sec-Fetch-Mode', 'navigate']]);
      const cookie = cookiesOf(inside);
      const led = await ask(form, '/?x&culvert_pass=ended', [BROWSER, cookie]);
      assert.deepEqual([led.status, led.head.field('location')], [303, `${form.prefix}/?x`]);
      for (const [headers, method] of [
        [[cookie], 'PUT'],
        [[cookie], 'GET'],
        [[auth], 'GET'],
        [[auth], 'POST'],
        [PREFLIGHT, 'OPTIONS'],
      ] as const) {
        seen = undefined;
        const { status, text } = await ask(form, '/?x&culvert_pass=ended', headers, { method });
        // The response to a preflight keeps its body.
        assert.deepEqual([status, text], [200, method === 'OPTIONS' ? '' : 'ok']);
        assert.equal(last()?.url, '/?x');
      }
    }
  });

  it('admit no preflight, and neither does their cookie', async () => {
    const tunnel = await start(LINKS);
    const [form] = forms(tunnel);
    const query = `/?culvert_pass=${tokenOf(await link(tunnel))}`;
    assertRefused(await ask(form, query, PREFLIGHT, { method: 'OPTIONS' }));
    const cookie = cookiesOf(await ask(form, query));
    assert.equal((await ask(form, '/', [...PREFLIGHT, cookie], { method: 'OPTIONS' })).text, 'ok');
  });

  it('pass their note to the service, encoded for a header field', async () => {
    const tunnel = await start(LINKS);
    const [, , form] = forms(tunnel);
    for (const [note, told] of [
      ['für Ann & Bob: 100%', 'link:f%C3%BCr Ann & Bob: 100%25'],
      ['🦊'.repeat(64), `link:${'%F0%9F%A6%8A'.repeat(64)}`],
      ['a, b="c"; d', 'link:a, b="c"; d'],
    ] as const) {
      const cookie = cookiesOf(await open(await link(tunnel, { note })));
      assert.equal((await ask(form, '/', [cookie, ['Culvert-Visitor', 'basic:ann']])).text, 'ok');
      const value = String(last()?.headers['culvert-visitor']);
      assert.equal(value, told);
      assert.equal(decodeURIComponent(value), `link:${note}`);
    }
  });

  describe('under attack', () => {
    it('are invalid for another tunnel, in every form of its address, and so is their cookie', async () => {
      const [one, two] = [await start(LINKS), await start(LINKS)];
      const token = tokenOf(await link(one));
      const [host, path, own] = forms(two);
      const cookies: Field[] = [];
      for (const form of forms(one))
        cookies.push(cookiesOf(await ask(form, `/?culvert_pass=${token}`, [BROWSER])));
      for (const form of [host, path, own]) {
        assertRefused(await ask(form, `/?culvert_pass=${token}`));
        for (const cookie of cookies) assertRefused(await ask(form, '/', [cookie]), false);
      }
      // In the path form of the other tunnel, under the cookie name that the first one uses in the subdomain form.
      const [first, firstPath] = forms(one);
      const [hostCookie = BROWSER, pathCookie = BROWSER] = cookies;
      assertRefused(await ask(firstPath, '/', [hostCookie]), false);
      assertRefused(await ask(first, '/', [pathCookie]), false);
    });

    it('are refused when they are forged, truncated, repeated or spelled differently', async () => {
      const tunnel = await start(LINKS);
      const [form] = forms(tunnel);
      const token = tokenOf(await link(tunnel, { note: 'for the review' }));
      const [id = '', end = '', note = '', mac = ''] = token.split('.');
      const queries = [
        'culvert_pass',
        'culvert_pass=',
        'culvert_pass=%00',
        `culvert_pass=${token.slice(0, -1)}`,
        `culvert_pass=${token}A`,
        `culvert_pass=${token}=`,
        `culvert_pass=+${token}`,
        `culvert_pass=${token.replaceAll('.', '%2E')}`,
        `culvert_pass=${id}.9999999999.${note}.${mac}`,
        `culvert_pass=${id}.${end}.${Buffer.from('the boss').toString('base64url')}.${mac}`,
        `culvert_pass=${id.replaceAll(/./g, '0')}.${end}.${note}.${mac}`,
        `culvert_pass=${id}.${end}.${note}.${'A'.repeat(43)}`,
        `culvert_pass=${token}&culvert_pass=${token}`,
        `culvert_pass=x&culvert_pass=${token}`,
        `culvert_pass=${token}&a&culvert_pass`,
      ];
      for (const query of queries) {
        assertRefused(await ask(form, `/?${query}`));
        assertRefused(await ask(form, `/?${query}`, [], { method: 'POST', body: 'x' }));
        assertRefused(await ask(form, `/?${query}`, WEBSOCKET));
      }
      // These are not the relay's parameter.
      for (const query of [
        `Culvert_Pass=${token}`,
        `culvert%5Fpass=${token}`,
        `a;culvert_pass=${token}`,
        `a?culvert_pass=${token}`,
        `culvert_pass%3D${token}`,
        `a=culvert_pass=${token}`,
      ])
        assertRefused(await ask(form, `/?${query}`), false);
      assertRefused(await ask(form, '/', [['Cookie', `culvert-pass=${token}`]]), false);
    });

    it('cannot be created, seen or revoked by another account', async () => {
      const tunnel = await start(LINKS);
      const made = await link(tunnel);
      const stranger = (await createAccount(relay)).api;
      const other = await stranger.create({ local_port: 1, access: LINKS });
      for (const [method, path] of [
        ['POST', `${tunnel.id}/links`],
        ['GET', `${tunnel.id}/links`],
        ['DELETE', `${tunnel.id}/links/${made.id}`],
        ['DELETE', `${other.id}/links/${made.id}`],
      ] as const) {
        const { status } = await stranger.send(method, `/v1/tunnels/${path}`);
        assert.equal(status, 404, path);
      }
      assert.equal(
        (await new Api(relay, undefined).send('GET', `/v1/tunnels/${tunnel.id}/links`)).status,
        401,
      );
      assert.equal((await open(made)).status, 303);
    });
  });

  it("become invalid with their cookies when the relay's secrets are rotated, and new ones work", async () => {
    const tunnel = await start(LINKS);
    const before = await link(tunnel);
    const cookie = cookiesOf(await open(before));
    const [form] = forms(tunnel);
    assert.equal((await ask(form, '/', [cookie])).status, 200);
    const { links_ended: ended } = await administer(relay, 'secrets', 'renew');
    assert.ok(Number(ended) >= 1);
    await eventually(5000, async () => assert.equal((await open(before)).status, 401));
    assert.equal((await ask(form, '/', [cookie])).status, 401);
    assert.equal((await open(await link(tunnel))).status, 303);
  });
});
