import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { hostOf } from '../support/manual-client.ts';
import type { Relay } from '../support/programs.ts';
import { type Field, RawConnection, type ResponseHead, visit } from '../support/raw-http.ts';
import { sharedRelay } from '../support/relay-suite.ts';
import { suiteScope } from '../support/scope.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';
import { SpecClient } from '../support/spec-client/client.ts';

describe('responses to the path form (protocol.md section 4.4)', () => {
  const scope = suiteScope();
  let relay: Relay;
  let service: HttpService;
  let slug: string;
  /** The next response of the local service. */
  let fields: Field[] = [];
  /** Its informational responses. */
  let early: Record<string, string> | undefined;
  let requests = 0;

  before(async () => {
    [relay, service] = await Promise.all([
      sharedRelay(),
      startHttpService(scope, (_request, response) => {
        requests += 1;
        if (early !== undefined) response.writeEarlyHints(early);
        early = undefined;
        for (const [name, value] of fields) response.appendHeader(name, value);
        response.end('ok');
      }),
    ]);
    service.server.on('upgrade', (_request, socket) => {
      socket.on('error', () => socket.destroy());
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
          'Set-Cookie: a=1; Path=/\r\nStrict-Transport-Security: max-age=9\r\n\r\n',
      );
    });
    const { key } = await createAccount(relay);
    const client = await SpecClient.start(scope, relay, key, { local_port: service.port });
    slug = client.tunnel.slug;
  });

  async function answerWith(...answer: Field[]): Promise<ResponseHead> {
    fields = answer;
    const target = `/t/${slug}/some/page`;
    const { status, text, head } = await visit(relay.port, { host: `localhost:${relay.port}`, target });
    assert.deepEqual([status, text], [200, 'ok']);
    return head;
  }

  /** Inserts the relay's port and the tunnel's slug into a text. */
  function fill(text: string): string {
    return text.replace('PORT', String(relay.port)).replace('SLUG', slug);
  }

  it('name addresses of the tunnel below its prefix, and others as they were', async () => {
    for (const [sent, received] of [
      ['/login?next=/', '/t/SLUG/login?next=/'],
      ['http://localhost:PORT/login', 'http://localhost:PORT/t/SLUG/login'],
      ['../up', '../up'],
      ['https://elsewhere.example/x', 'https://elsewhere.example/x'],
    ] as const)
      assert.equal((await answerWith(['Location', fill(sent)])).field('location'), fill(received));
  });

  it('have every cookie rewritten', async () => {
    const head = await answerWith(
      ['Set-Cookie', 'a=1; Path=/a; HttpOnly'],
      ['Set-Cookie', 'b=2; Domain=localhost; Secure'],
    );
    assert.deepEqual(head.all('set-cookie'), [
      `a=1; Path=/t/${slug}/a; HttpOnly`,
      `b=2; Path=/t/${slug}/some; Secure`,
    ]);
  });

  it('have no fields that are about the whole host, unlike those on the subdomain', async () => {
    const whole = ['Clear-Site-Data', 'Strict-Transport-Security', 'Service-Worker-Allowed'];
    const head = await answerWith(
      ...whole.map((name): Field => [name.toLowerCase(), '/']),
      ['Alt-Svc', '/'],
      ['X-Kept', '1'],
    );
    for (const name of [...whole, 'Alt-Svc']) assert.equal(head.field(name), undefined);
    assert.equal(head.field('x-kept'), '1');
    const own = (await visit(relay.port, { host: hostOf({ slug }, relay) })).head;
    for (const name of whole) assert.equal(own.field(name), '/');
    assert.equal(own.field('alt-svc'), undefined);
  });

  it('limit a challenge to the tunnel, and send none at the bare prefix', async () => {
    const challenge: Field = ['WWW-Authenticate', 'Basic realm="shop"'];
    assert.equal((await answerWith(challenge)).field('www-authenticate'), `Basic realm="/t/${slug} shop"`);
    const bare = await visit(relay.port, {
      host: `localhost:${relay.port}`,
      target: `/t/${slug}?x=/t/${slug}/`,
    });
    assert.deepEqual([bare.status, bare.head.field('www-authenticate')], [200, undefined]);
  });

  it('include rewritten informational responses and accepted WebSockets', async () => {
    const connection = await RawConnection.open(scope, relay.port);
    const start = `GET /t/${slug}/socket HTTP/1.1\r\nHost: localhost\r\n`;
    fields = [];
    early = { link: '</a>; rel=preload', 'set-cookie': 'a=1; Path=/', 'alt-svc': 'clear' };
    await connection.write(`${start}\r\n`);
    const hints = await connection.head();
    await connection.response();
    assert.deepEqual(
      [hints.status, hints.field('set-cookie'), hints.field('alt-svc')],
      [103, `a=1; Path=/t/${slug}`, undefined],
    );
    await connection.write(`${start}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    const accepted = await connection.head();
    assert.deepEqual(
      [accepted.status, accepted.field('set-cookie'), accepted.field('strict-transport-security')],
      [101, `a=1; Path=/t/${slug}`, undefined],
    );
  });

  it("from the browser's cache do not count for a service worker", async () => {
    assert.deepEqual((await answerWith(['Vary', 'Accept'])).all('vary'), ['Accept', 'Service-Worker']);
  });

  describe('requests for the script of a service worker', () => {
    const worker: Field[] = [['service-worker', 'script']];
    it('get 403, and nothing is forwarded', async () => {
      const before = requests;
      for (const path of ['', '/worker.js']) {
        const target = `/t/${slug}${path}`;
        const { status, head } = await visit(relay.port, { host: 'localhost', target, headers: worker });
        assert.deepEqual([status, head.field('culvert-error')], [403, 'path-worker']);
      }
      assert.equal(requests, before);
    });

    it('pass on the subdomain', async () => {
      fields = [];
      assert.equal((await visit(relay.port, { host: hostOf({ slug }, relay), headers: worker })).status, 200);
    });
  });

  describe('visits of the bare prefix', () => {
    const page: Field[] = [['Sec-Fetch-Mode', 'navigate']];
    it('by a page are redirected to the path with a slash: %0d%0a', async () => {
      for (const query of ['', '?', '?x=/t/other/&y=%0d%0a"<\xe9']) {
        const request = { host: 'localhost', target: `/t/${slug}${query}`, headers: page };
        const { status, head, text } = await visit(relay.port, request);
        assert.deepEqual([status, head.field('location'), text], [308, `/t/${slug}/${query}`, '']);
      }
    });

    it('by anything else, and visits below it, are forwarded', async () => {
      fields = [];
      const before = requests;
      for (const [method, path, headers] of [
        ['GET', '', []],
        ['POST', '', page],
        ['GET', '/', page],
      ] as const) {
        const request = { method, host: 'localhost', target: `/t/${slug}${path}`, headers };
        assert.equal((await visit(relay.port, request)).status, 200);
      }
      assert.equal(requests, before + 3);
    });

    it('keep the connection open', async () => {
      const connection = await RawConnection.open(scope, relay.port);
      const request = { host: 'localhost', target: `/t/${slug}`, headers: page };
      assert.equal((await connection.request(request)).status, 308);
      assert.equal((await connection.request(request)).status, 308);
    });

    it('get 404 if there is no tunnel', async () => {
      const { status } = await visit(relay.port, { host: 'localhost', target: '/t/nobody', headers: page });
      assert.equal(status, 404);
    });
  });

  it('a cookie stays with its host on the subdomain', async () => {
    fields = [
      ['Set-Cookie', 'a=1; Domain=localhost; Path=/; Secure'],
      ['Set-Cookie', 'b=1; Path=/x'],
    ];
    const { head } = await visit(relay.port, { host: hostOf({ slug }, relay) });
    assert.deepEqual(head.all('set-cookie'), ['a=1; Path=/; Secure', 'b=1; Path=/x']);
  });
});
