import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import Koa from 'koa';
import type { expose as Expose, TunnelRequest } from '../../desktop/library/types/index.d.ts';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import { eventually, timed, within } from '../support/deadline.ts';
import { newApiKey, RelayProgram } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { startEchoService } from '../support/services/echo.ts';
import { closedPort } from '../support/services/listen.ts';

const LIBRARY = new URL('../../dist/desktop/library/index.js', import.meta.url).href;

const answer = (_request: IncomingMessage, response: ServerResponse): void =>
  void response.end('from this process');

const showHeaders = ({ headers }: IncomingMessage, response: ServerResponse): void =>
  void response.setHeader('x-old', '1').end(`${String(headers['x-env'])} ${headers['user-agent']}`);

const serveRedirects = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const { method, url = '', headers } = request;
  const there = `http://${String(headers.host)}/end`;
  if (url === '/loop') return void response.writeHead(302, { location: '/loop' }).end();
  if (url === '/away') return void response.writeHead(302, { location: 'file:///etc/passwd' }).end();
  if (url === '/empty') return void response.writeHead(204, { 'set-cookie': ['a=1', 'b=2'] }).end();
  const status = /^\/(30\d)$/.exec(url)?.[1];
  if (status !== undefined) return void response.writeHead(Number(status), { location: there }).end();
  let body = '';
  for await (const piece of request) body += String(piece);
  response.end(JSON.stringify([method, url, headers['content-type'], body]));
};

const json = async (response: Response): Promise<unknown> => await response.json();

describe('the library (docs/reference/library.md)', () => {
  const { scope, relay } = sharedRelaySuite();
  let expose: typeof Expose;
  let account: TestAccount;

  before(async () => {
    ({ expose } = (await import(LIBRARY)) as { expose: typeof Expose });
  });

  beforeEach(async () => {
    account = await createAccount(relay);
  });

  const access = () => ({ relay: relay.url, key: account.key });
  const ask = (url: string, target = '/') => visit(relay.port, { host: new URL(url).host, target });

  it('exposes every host of a tunnel', async () => {
    const service = await startEchoService(scope);
    await using tunnel = await expose({ port: service.port, name: 'wild', wildcard: true, ...access() });
    assert.equal(tunnel.url, `http://wild.localhost:${relay.port}`);
    assert.equal((await visit(relay.port, { host: 'any--wild.localhost' })).status, 200);
  });

  it('exposes a port until its scope ends, and reports the requests', async () => {
    const service = await startEchoService(scope);
    let id = '';
    {
      await using tunnel = await expose({ port: service.port, name: 'from-code', ...access() });
      ({ id } = tunnel);
      assert.equal(tunnel.url, `http://from-code.localhost:${relay.port}`);
      const requested = once(tunnel, 'request') as Promise<[TunnelRequest]>;
      assert.equal((await ask(tunnel.url, '/x?token=s3cret')).status, 200);
      const [{ method, target, status, isBroken }] = await within(10_000, 'request', requested);
      assert.deepEqual([method, target, status, isBroken], ['GET', '/x?token=[redacted]', 200, false]);
    }
    assert.equal((await account.api.send('GET', `/v1/tunnels/${id}`)).status, 404);
  });

  it('returns the tokens that the relay has made, once', async () => {
    const service = await startEchoService(scope);
    const tokens = [{ name: 'ci' }, { name: 'given', token: 'x'.repeat(24) }];
    await using tunnel = await expose({ port: service.port, access: { tokens }, ...access() });
    assert.deepEqual(Object.keys(tunnel.tokens), ['ci']);
    const { host } = new URL(tunnel.url);
    for (const token of [tunnel.tokens['ci'] ?? '', 'x'.repeat(24)]) {
      const headers = [['Authorization', `Bearer ${token}`]] as const;
      assert.equal((await visit(relay.port, { host, headers })).status, 200);
    }
    assert.equal((await ask(tunnel.url)).status, 401);
  });

  const koa = new Koa().use((context) => {
    context.body = 'from this process';
  });
  for (const [what, make] of [
    ['a server', () => createServer(answer)],
    ['a request listener, as an Express app is one', () => answer],
    ['a Koa app', () => koa],
  ] as const) {
    it(`exposes ${what} that has no port`, async () => {
      const server = make();
      const tunnel = await expose(server, access());
      assert.equal((await ask(tunnel.url)).text, 'from this process');
      await tunnel.close();
      await tunnel.close();
      if ('listening' in server) assert.equal(server.listening, false);
    });
  }

  it('compresses responses if the option turns it on', async () => {
    const text = 'from this process '.repeat(100);
    const serve = (_request: IncomingMessage, response: ServerResponse): void =>
      void response.setHeader('content-type', 'text/plain').end(text);
    await using tunnel = await expose(serve, { ...access(), compress: 'on' });
    const headers = [['Accept-Encoding', 'gzip']] as const;
    const { head, body } = await visit(relay.port, { host: new URL(tunnel.url).host, headers });
    assert.equal(head.field('content-encoding'), 'gzip');
    assert.equal(gunzipSync(body).toString(), text);
    const wrong = { ...access(), compress: 'yes' } as unknown as Parameters<typeof expose>[1];
    await assert.rejects(expose(serve, wrong), /compress must be auto, on or off/);
  });

  it('sets and removes headers', async () => {
    await using tunnel = await expose(showHeaders, {
      ...access(),
      requestHeaders: { 'X-Env': 'dev' },
      removeRequestHeaders: ['User-Agent'],
      responseHeaders: { 'X-New': '2' },
      removeResponseHeaders: ['X-Old'],
    });
    const headers = [['User-Agent', 'visitor']] as const;
    const { text, head } = await visit(relay.port, { host: new URL(tunnel.url).host, headers });
    assert.equal(text, 'dev undefined');
    assert.deepEqual([head.field('x-new'), head.field('x-old')], ['2', undefined]);
    await assert.rejects(
      expose(showHeaders, { ...access(), requestHeaders: { Host: 'a' } }),
      /^TypeError: requestHeaders must be a header such as .* except Host/,
    );
  });

  it('has all addresses of a tunnel', async () => {
    await using tunnel = await expose(answer, { ...access(), name: 'urls', wildcard: true });
    const { origin, port } = new URL(tunnel.url);
    assert.deepEqual(tunnel.urls, {
      subdomain: origin,
      path: `http://localhost:${port}/t/urls`,
      wildcard: `http://*--urls.localhost:${port}`,
    });
  });

  it('fetches from the tunnel as fetch does, at addresses that Node does not resolve', async () => {
    await using tunnel = await expose((...args) => void serveRedirects(...args), access());
    const post = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } };
    assert.deepEqual(await json(await tunnel.fetch()), ['GET', '/', null, '']);
    assert.deepEqual(await json(await tunnel.fetch('//x?y', post)), [
      'POST',
      '//x?y',
      'application/json',
      post.body,
    ]);
    const found = await tunnel.fetch(new URL('/302', tunnel.url), post);
    assert.deepEqual([found.redirected, found.url], [true, `${tunnel.url}/end`]);
    assert.deepEqual(await json(found), ['GET', '/end', null, '']);
    assert.deepEqual(await json(await tunnel.fetch('/307', post)), [
      'POST',
      '/end',
      'application/json',
      post.body,
    ]);
    const { status, redirected } = await tunnel.fetch('/302', { redirect: 'manual' });
    assert.deepEqual([status, redirected], [302, false]);
    const empty = await tunnel.fetch('/empty');
    assert.deepEqual([empty.status, empty.body, empty.headers.getSetCookie()], [204, null, ['a=1', 'b=2']]);
    assert.equal(await (await tunnel.fetch('/x', { method: 'HEAD' })).text(), '');
    assert.deepEqual(await json(await tunnel.fetch(`${tunnel.urls.path}/z`)), ['GET', '/z', null, '']);
    for (const path of ['/loop', '/away']) await assert.rejects(tunnel.fetch(path), TypeError);
    await assert.rejects(tunnel.fetch('/302', { redirect: 'error' }), TypeError);
    await assert.rejects(tunnel.fetch('/', { signal: AbortSignal.abort(new Error('enough')) }), /enough/);
  });

  it('refuses programs of this machine that go around the tunnel to an app', async () => {
    const server = createServer((request, response) => response.end(JSON.stringify(request.rawHeaders)));
    server.on('upgrade', (_request, socket: Socket) =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'),
    );
    await using tunnel = await expose(server, { ...access(), access: { password: 'mild-oak-fern' } });
    const { port } = server.address() as AddressInfo;
    const { host } = new URL(tunnel.url);
    for (const name of ['localhost', host]) {
      const direct = await visit(port, { host: name, headers: [['Culvert-Expose', 'guessed']] });
      assert.equal(direct.status, 403);
      const upgrade = [
        ['Connection', 'Upgrade'],
        ['Upgrade', 'x'],
      ] as const;
      assert.equal((await visit(port, { host: name, headers: upgrade })).status, 403);
    }
    await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: {} });
    const { status, text } = await ask(tunnel.url);
    assert.equal(status, 200);
    assert.ok(text.includes(host), "the app sees the visitor's Host");
    assert.doesNotMatch(text, /culvert-expose/i);
    await tunnel.close();
    assert.ok(!Object.hasOwn(server, 'emit'));
  });

  it('leaves alone a server that was already listening', async () => {
    const server = createServer(answer);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    scope.defer(() => server.close());
    const tunnel = await expose(server, access());
    assert.equal((await ask(tunnel.url)).text, 'from this process');
    await tunnel.close();
    assert.equal(server.listening, true);
  });

  it('closes on an abort signal, and reports it', async () => {
    const controller = new AbortController();
    const tunnel = await expose(answer, { ...access(), signal: controller.signal });
    const offline = once(tunnel, 'offline');
    controller.abort();
    await within(10_000, 'end', offline);
    await tunnel.close();
    assert.deepEqual(await account.api.list(), []);
    await assert.rejects(expose(answer, { ...access(), signal: controller.signal }), { name: 'AbortError' });
  });

  it('stops opening for the reason of the abort signal, and leaves nothing at the relay', async () => {
    const server = createServer(answer);
    const reason = new Error('the test has ended');
    const controller = new AbortController();
    const opening = expose(server, { ...access(), signal: controller.signal });
    const listening = once(server, 'listening');
    await listening;
    controller.abort(reason);
    await assert.rejects(opening, reason);
    assert.equal(server.listening, false);
    await eventually(10_000, async () => assert.deepEqual(await account.api.list(), []));
  });

  it('removes its abort listener once the tunnel is closed', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const tunnel = await expose(answer, { ...access(), signal });
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    await tunnel.close();
    await turn();
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
  });

  it('closes the server that it started when the tunnel is closed elsewhere', async () => {
    const server = createServer(answer);
    const tunnel = await expose(server, access());
    const closed = once(server, 'close');
    await account.api.close(tunnel.id);
    await within(20_000, 'end of the server', closed);
    await tunnel.close();
  });

  it('keeps serving when a listener throws', async () => {
    const thrown: unknown[] = [];
    const listeners = process.rawListeners('uncaughtException') as NodeJS.UncaughtExceptionListener[];
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error));
    try {
      await using tunnel = await expose(answer, access());
      tunnel.on('request', () => {
        throw new Error('of the caller');
      });
      for (let count = 1; count <= 2; count += 1) {
        assert.equal((await ask(tunnel.url)).text, 'from this process');
        await eventually(10_000, () => assert.equal(thrown.length, count));
      }
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of listeners) process.on('uncaughtException', listener);
    }
  });

  it('rejects invalid arguments and names the valid ones', async () => {
    for (const what of [3000, 'http://localhost:3000', null, undefined])
      await assert.rejects(
        expose(what as never, access()),
        /expose needs an object such as \{ port: 3000 \}/,
      );
  });

  it('applies the given access settings', async () => {
    await using tunnel = await expose(answer, { ...access(), access: { password: 'mild-oak-fern' } });
    assert.equal((await ask(tunnel.url)).status, 401);
  });

  it('closes within 2 s if the relay does not answer', async () => {
    const silent = await RelayProgram.start(scope);
    const server = createServer(answer);
    const tunnel = await expose(server, { relay: silent.url, key: silent.bootstrapKey });
    silent.child.kill('SIGSTOP');
    const { ms } = await timed(() => tunnel.close());
    // The library gives up after 1.5 s; every other call to a relay takes 10 s.
    assert.ok(ms < 8000, `${ms} ms`);
    assert.equal(server.listening, false);
    silent.child.kill('SIGKILL');
  });

  it('makes tokens as an option of their own', async () => {
    const tokens = [{ name: 'ci' }];
    await using tunnel = await expose(answer, { ...access(), tokens, access: { links: true } });
    const { host } = new URL(tunnel.url);
    assert.equal((await ask(tunnel.url)).status, 401);
    const headers: [string, string][] = [['Authorization', `Bearer ${tunnel.tokens['ci']}`]];
    assert.equal((await visit(relay.port, { host, headers })).status, 200);
  });

  it('reports what is wrong, and leaves nothing open', async () => {
    const server = createServer(answer);
    await assert.rejects(expose(server, { ...access(), key: newApiKey() }), /rejected the API key/);
    assert.equal(server.listening, false);
    await assert.rejects(expose({ port: 0, ...access() }), /port must be/);
    await assert.rejects(expose(answer, { ...access(), name: 'A' }), /tunnel name must be/);
    const away = `http://127.0.0.1:${await closedPort()}`;
    await assert.rejects(expose(answer, { ...access(), relay: away }), /cannot be reached/);
    await using tunnel = await expose(answer, { ...access(), name: 'one-of-us' });
    await assert.rejects(expose(answer, { ...access(), name: 'one-of-us' }), /Another client is serving/);
    assert.ok(tunnel.url.includes('one-of-us'));
  });
});
