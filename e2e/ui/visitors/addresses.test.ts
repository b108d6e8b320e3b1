/** A site in a browser, at each address of its tunnel (protocol.md section 4.1). */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Browser } from 'playwright-core';
import { WebSocketServer } from 'ws';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount } from '../../support/accounts.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { sharedBrowser } from '../support/running-app.ts';
import { openAddress, FORMS } from '../support/readable.ts';

/** Without an icon of its own, a browser requests one from the root of the host. */
const HEAD = '<!doctype html><title>Shop</title><link rel="icon" href="data:,">';

const PAGE = `${HEAD}<link rel="stylesheet" href="style.css"><img src="picture.svg" alt="">
  <p id="data"></p><p id="socket"></p><a href="second">Next</a>
  <form method="post" action="order"><input name="what" value="2 mugs"><button>Order</button></form>
  <script type="module" src="script.js"></script>`;

const SCRIPT = `
  const show = (id, text) => (document.getElementById(id).textContent = text);
  fetch('data.json').then((answer) => answer.json()).then(({ price }) => show('data', price + ' EUR'));
  const socket = new WebSocket(new URL('socket', location.href).href.replace('http', 'ws'));
  socket.onopen = () => socket.send('hello');
  socket.onmessage = ({ data }) => show('socket', data);`;

const FILES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  '/': ['text/html', PAGE],
  '/style.css': ['text/css', 'p { color: rgb(1, 2, 3) }'],
  '/picture.svg': ['image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="7"/>'],
  '/script.js': ['text/javascript', SCRIPT],
  '/data.json': ['application/json', '{"price":12}'],
};

/**
 * Serves the files, a page that shows its cookies, and one that accepts an order, sets a cookie and redirects there.
 */
function serve(request: IncomingMessage, response: ServerResponse): void {
  const { url = '', method, headers } = request;
  const [type, body] = FILES[url] ?? ['text/html', `${HEAD}<p id="cookie">${headers.cookie}</p>`];
  if (url === '/order' && method === 'POST') {
    request.on('data', (chunk: Buffer) =>
      response.setHeader('Set-Cookie', `order=${chunk.toString()}; Path=/`),
    );
    request.on('end', () => response.writeHead(303, { Location: '/second' }).end());
    return;
  }
  response.setHeader('Content-Type', type);
  response.end(body);
}

describe('a site in a browser', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let tunnel: Tunnel;

  before(async function () {
    const [relay, service] = await Promise.all([Relay.start(suite), startHttpService(suite, serve)]);
    const sockets = new WebSocketServer({ server: service.server, path: '/socket' });
    suite.defer(() => sockets.close());
    sockets.on('connection', (socket) => {
      socket.on('error', () => socket.terminate());
      socket.on('message', (message: Buffer) => socket.send(`you said ${message.toString()}`));
    });
    const { key } = await createAccount(relay, { subdomain: 'acme' });
    [{ tunnel }, browser] = await Promise.all([
      Culvert.start(suite, relay, key, service.port, ['--name', 'shop']),
      sharedBrowser(),
    ]);
  });

  for (const [form, addressOf] of Object.entries(FORMS)) {
    it(`works at its ${form}: styles, scripts, pictures, data, WebSocket, forms, redirects, cookies`, async () => {
      const address = addressOf(tunnel);
      const { page, requests, errors } = await openAddress(scope, browser, address);
      await page.locator('#data', { hasText: '12 EUR' }).waitFor();
      await page.locator('#socket', { hasText: 'you said hello' }).waitFor();
      assert.equal(await page.evaluate('getComputedStyle(data).color'), 'rgb(1, 2, 3)');
      assert.equal(await page.evaluate('document.images[0].naturalWidth'), 7);
      await page.getByRole('button', { name: 'Order' }).click();
      await page.locator('#cookie', { hasText: 'order=what=2+mugs' }).waitFor();
      assert.equal(page.url(), `${address}second`);
      await page.goBack();
      await page.getByRole('link', { name: 'Next' }).click();
      await page.locator('#cookie', { hasText: 'order=what=2+mugs' }).waitFor();
      assert.deepEqual(
        requests.filter((url) => !url.startsWith(address) && !url.startsWith('data:')),
        [],
      );
      assert.deepEqual(errors, []);
    });
  }
});
