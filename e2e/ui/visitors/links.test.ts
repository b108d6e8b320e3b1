/** Access with a signed link, in a browser (protocol.md section 11.2). */
import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { WebSocketServer } from 'ws';
import type { NewLink } from '../../../shared/links.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { Culvert, type Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';
import { sharedBrowser, sharedRelay } from '../support/running-app.ts';
import { assertPageReadable, openAddress } from '../support/readable.ts';

const FORMS: Readonly<Record<string, (tunnel: Tunnel) => string>> = {
  subdomain: ({ urls }) => `${urls.subdomain}/`,
  path: ({ urls }) => `${urls.path}/`,
  'account subdomain': ({ urls }) => `${urls.account}/`,
};

const PAGE = `<!doctype html><title>Shop</title><link rel="icon" href="data:,">
  <p id="who"></p><p id="socket"></p><script type="module">
  fetch('who').then((response) => response.text()).then((text) => (who.textContent = text));
  const ws = new WebSocket(new URL('socket', location.href).href.replace('http', 'ws'));
  ws.onmessage = ({ data }) => (socket.textContent = data);
  ws.onclose = () => (socket.textContent = 'closed');
</script>`;

describe('a signed link in a browser', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let relay: Relay;
  let service: HttpService;
  let account: TestAccount;
  /** addresses and referrers that the local service received */
  let told: string;

  before(async () => {
    relay = await sharedRelay();
    service = await startHttpService(suite, ({ url = '', headers }, response) => {
      told += `${url} ${String(headers.referer)} ${String(headers.cookie)}\n`;
      if (url === '/who') return response.end(`you are ${String(headers['culvert-visitor'])}`);
      return response.setHeader('Content-Type', 'text/html').end(PAGE);
    });
    const sockets = new WebSocketServer({ server: service.server });
    suite.defer(() => sockets.close());
    sockets.on('connection', (socket, { headers }) => {
      socket.on('error', () => socket.terminate());
      socket.send(`hello ${String(headers['culvert-visitor'])}`);
    });
    browser = await sharedBrowser();
  });

  beforeEach(async () => {
    told = '';
    account = await createAccount(relay, { subdomain: `acme-${(accounts += 1)}` });
  });

  let accounts = 0;

  for (const [form, addressOf] of Object.entries(FORMS)) {
    it(`admits anyone who opens it, leaves no trace, and cuts its visitors when revoked (${form})`, async () => {
      const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
      await account.api.send('PUT', `/v1/tunnels/${tunnel.id}/access`, { json: { links: true } });
      const links = `/v1/tunnels/${tunnel.id}/links`;
      const made = await account.api.send('POST', links, { json: { note: 'for Ann' } });
      const { id, url } = made.json as NewLink;
      const address = addressOf(tunnel);
      const link = `${address}?a=b&${new URL(url).search.slice(1)}#part`;
      const { page, errors } = await openAddress(scope, browser, link);
      await page.locator('#who', { hasText: 'you are link:for Ann' }).waitFor();
      await page.locator('#socket', { hasText: 'hello link:for Ann' }).waitFor();
      assert.equal(page.url(), `${address}?a=b#part`);
      assert.equal(await page.evaluate('document.cookie'), '');
      assert.doesNotMatch(told, /culvert/);
      assert.deepEqual(errors, []);
      assert.equal((await page.goto(address))?.status(), 200);
      await page.locator('#socket', { hasText: 'hello link:for Ann' }).waitFor();
      await account.api.send('DELETE', `${links}/${id}`);
      await page.locator('#socket', { hasText: 'closed' }).waitFor();
      assert.equal((await page.reload())?.status(), 401);
      assert.equal(await page.title(), 'Access is restricted');
      assert.equal((await page.goto(link))?.status(), 401);
      assert.equal(await page.title(), 'This link has expired');
      await assertPageReadable(page);
    });
  }
});
