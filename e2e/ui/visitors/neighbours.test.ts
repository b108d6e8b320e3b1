/**
 * What a hostile tunnel in the path form can get from its neighbours, with which it shares an origin in the browser of
 * a visitor of both (protocol.md section 4.4; docs/decisions/0011-path-form.md).
 */
import assert from 'node:assert/strict';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { WebSocketServer } from 'ws';
import { createAccount } from '../../support/accounts.ts';
import { Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';
import { SpecClient } from '../../support/spec-client/client.ts';
import { sharedBrowser } from '../support/running-app.ts';

const SHOP = '<!doctype html><title>Shop</title><link rel="icon" href="data:,"><p>the shop</p>';
const EVIL = '<!doctype html><title>Evil</title><link rel="icon" href="data:,">';
const WORKER = `
  self.addEventListener('install', () => self.skipWaiting());
  self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
  self.addEventListener('fetch', (event) => event.respondWith(
    new Response('<title>Evil</title>', { headers: { 'Content-Type': 'text/html' } })));`;

/** A page for people, and the worker for all other requests: both may have the same path. */
function serveEvil(request: IncomingMessage, response: ServerResponse): void {
  const isPage = request.headers['sec-fetch-dest'] === 'document';
  response.setHeader('Content-Type', isPage ? 'text/html' : 'text/javascript');
  response.setHeader('Service-Worker-Allowed', '/');
  response.setHeader('Cache-Control', isPage ? 'no-store' : 'max-age=3600');
  response.end(isPage ? EVIL : WORKER);
}

describe('a hostile neighbour in the path form', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let relay: Relay;
  let shop: HttpService;
  let evil: HttpService;
  /** the response of the hostile tunnel */
  let serve: (request: IncomingMessage, response: ServerResponse) => void = serveEvil;

  before(async function () {
    [relay, browser, shop, evil] = await Promise.all([
      Relay.start(suite),
      sharedBrowser(),
      startHttpService(suite, (request, response) => {
        response.setHeader('Content-Type', 'text/html');
        response.end(`${SHOP}<pre>${JSON.stringify(request.headers)}</pre>`);
      }),
      startHttpService(suite, (request, response) => serve(request, response)),
    ]);
    const sockets = new WebSocketServer({ server: evil.server });
    suite.defer(() => sockets.close());
    sockets.on('headers', (headers) => headers.push('Set-Cookie: a=1; Path=/'));
    sockets.on('connection', (socket) => socket.on('error', () => socket.terminate()));
    const { key } = await createAccount(relay, { subdomain: 'acme' });
    await SpecClient.start(suite, relay, key, { local_port: shop.port, name: 'shop' });
    await SpecClient.start(suite, relay, key, { local_port: evil.port, name: 'evil' });
  });

  beforeEach(() => {
    serve = serveEvil;
  });

  async function visitEvil(path = '/t/evil/'): Promise<{ context: BrowserContext; page: Page }> {
    const context = await browser.newContext();
    scope.defer(() => context.close());
    const page = await context.newPage();
    await page.goto(`http://localhost:${relay.port}${path}`);
    return { context, page };
  }

  async function titleOfShop(context: BrowserContext): Promise<string> {
    const page = await context.newPage();
    await page.goto(`http://localhost:${relay.port}/t/shop/`);
    return await page.title();
  }

  const WORKERS: [what: string, script: string][] = [
    ['from its bare prefix', `register('/t/evil', { scope: '/t/' })`],
    ['from its bare prefix, of the scope that this has by itself', `register('/t/evil')`],
    ['of a scope that its response allows', `register('/t/evil/worker.js', { scope: '/t/' })`],
    ['for itself', `register('/t/evil/worker.js')`],
    ['that is a module', `register('/t/evil', { type: 'module', scope: '/t/' })`],
    [
      'from the cache of the browser',
      `fetch('/t/evil').then((answer) => answer.text())
        .then(() => register('/t/evil', { scope: '/t/', updateViaCache: 'all' }))`,
    ],
    [
      'that is a module, from the cache of the browser',
      `fetch('/t/evil').then((answer) => answer.text())
        .then(() => register('/t/evil', { type: 'module', scope: '/t/', updateViaCache: 'all' }))`,
    ],
  ];
  for (const [what, script] of WORKERS) {
    it(`gets no service worker ${what}`, async () => {
      const { context, page } = await visitEvil();
      const registered = await page.evaluate<string>(`{
        const register = (...given) => navigator.serviceWorker.register(...given);
        const active = (worker) => worker.state === 'activated' || new Promise((resolve) =>
          worker.onstatechange = () => worker.state === 'activated' && resolve());
        ${script}.then(
          async (made) => (await active(made.installing ?? made.waiting ?? made.active), made.scope),
          (error) => error.name);
      }`);
      assert.equal(await titleOfShop(context), 'Shop');
      assert.doesNotMatch(registered, /^http/);
    });
  }

  /** The headers of a page's request to the shop. */
  async function headersToShop(
    context: BrowserContext,
    host = 'localhost',
    path = '/t/shop/',
  ): Promise<IncomingHttpHeaders> {
    const page = await context.newPage();
    await page.goto(`http://${host}:${relay.port}${path}`);
    return JSON.parse(await page.locator('pre').innerText()) as IncomingHttpHeaders;
  }

  /** The part after the cookie's name, and where it is set. */
  const COOKIES: [cookie: string, target: string][] = [
    ['=1', '/t/evil'],
    ['=1', '/t/evil?u=/t/evil/'],
    ['=1; Path=/t/evil/; Path=x', '/t/evil'],
    ['=1; Path=/x; Path', '/t/evil'],
    ['=1; Path=/x; Path=""', '/t/evil'],
    ['=1; Path=/; path=/t/shop; PATH=', '/t/evil/'],
    ['=1; Path=/', '/t/evil/x'],
    ['=1; Path=/t/shop', '/t/evil/x'],
    ['=1; \t Path\t =\t /t/shop ', '/t/evil/x'],
    ['=1; Path="/t/shop"', '/t/evil'],
    ['="1; Path=/t/shop; b="; Path=/', '/t/evil'],
    ['=1; Path=/../shop', '/t/evil/x'],
    ['=1; Path=/t/evil/../shop', '/t/evil/x'],
    ['=1; Path=/t/evil/%2e%2e/shop', '/t/evil/x'],
    ['=1; Path=/t/evil/..\\shop', '/t/evil/x'],
    [`=1; Path=/${'x'.repeat(1100)}`, '/t/evil'],
    [`=1; ${'x=y; '.repeat(100)}Path=/`, '/t/evil'],
    ['=1; Domain=localhost; Path=/', '/t/evil/x'],
    ['; Path=/', '/t/evil/x'],
    ['=1', '/t/evil/x;Path=/t/shop/y'],
  ];

  it('sets no cookie for others, whatever its Set-Cookie contains', async () => {
    const { context, page } = await visitEvil();
    const tricks = COOKIES.flatMap(([cookie, target], index): [string, string][] => [
      [`trick-${index}${cookie}`, target],
      [`__Secure-trick-${index}${cookie}; Secure`, target],
      [`__Host-trick-${index}${cookie}; Secure`, target],
    ]);
    for (const [cookie, target] of [...tricks, ['Path=/t/shop', '/t/evil']]) {
      serve = (_request, response) => response.setHeader('Set-Cookie', cookie ?? '').end();
      await page.evaluate(`fetch(${JSON.stringify(target)})`);
    }
    assert.equal((await headersToShop(context)).cookie, undefined);
    // They were not refused either, except those for the whole host.
    const kept = await context.cookies();
    assert.equal(kept.filter(({ name, value }) => (name + value).startsWith('trick')).length, COOKIES.length);
    assert.ok(kept.every(({ path }) => /^\/t\/evil(?:\/|$)/.test(path)));
  });

  it('sets no cookie for others with an accepted WebSocket', async () => {
    const { context, page } = await visitEvil();
    await page.evaluate(`new Promise((resolve) => {
      const socket = new WebSocket('ws://' + location.host + '/t/evil/socket');
      socket.onopen = socket.onerror = resolve;
    })`);
    assert.equal((await headersToShop(context)).cookie, undefined);
    assert.match((await context.cookies())[0]?.path ?? '', /^\/t\/evil/);
  });

  it('of the same account sets no cookie for others through their common domain', async () => {
    const { context, page } = await visitEvil();
    serve = (_request, response) => response.setHeader('Set-Cookie', 'a=1; Domain=acme.localhost').end(EVIL);
    await page.goto(`http://evil.acme.localhost:${relay.port}/`);
    assert.equal((await headersToShop(context, 'shop.acme.localhost', '/')).cookie, undefined);
    assert.equal((await context.cookies())[0]?.domain, 'evil.acme.localhost');
  });
});
