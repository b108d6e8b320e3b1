/** Access to a protected tunnel, in a browser (docs/guides/sharing-safely.md, protocol.md section 11.2). */
import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { WebSocketServer } from 'ws';
import type { NewLink } from '../../../shared/links.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { eventually } from '../../support/deadline.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { visit } from '../../support/raw-http.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';
import { sharedBrowser } from '../support/running-app.ts';
import { assertPageReadable, openAddress, type OpenAddress, FORMS } from '../support/readable.ts';

const PASSWORD = 'mild oak fern';
/** The browser logs the status of the password page as an error. */
const NOT_A_PROBLEM = /the server responded with a status of 4(?:01|29)/;

const PAGE = `<!doctype html><title>Shop</title><link rel="icon" href="data:,">
  <p id="who"></p><p id="socket"></p><script type="module">
  fetch('who').then((response) => response.text()).then((text) => (who.textContent = text));
  const ws = new WebSocket(new URL('socket', location.href).href.replace('http', 'ws'));
  ws.onmessage = ({ data }) => (socket.textContent = data);
  ws.onclose = () => (socket.textContent = 'closed');
</script>`;

describe('a protected tunnel in a browser', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let relay: Relay;
  let service: HttpService;
  let account: TestAccount;
  /** addresses, referrers and cookies that the local service received */
  let told: string;

  before(async () => {
    relay = await Relay.start(suite);
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

  async function replace({ id }: Tunnel, access: object): Promise<void> {
    const { status } = await account.api.send('PUT', `/v1/tunnels/${id}/access`, { json: access });
    assert.equal(status, 200);
  }

  async function start(access: object): Promise<Tunnel> {
    const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
    await replace(tunnel, access);
    return tunnel;
  }

  /** Submits a wrong password, as a program. */
  async function tryWrong({ slug }: Tunnel): Promise<void> {
    await visit(relay.port, {
      host: `${slug}.localhost:${relay.port}`,
      method: 'POST',
      target: '/?culvert_gate',
      body: 'culvert_password=wrong',
    });
  }

  async function open(address: string, options: BrowserContextOptions = {}): Promise<OpenAddress> {
    const opened = await openAddress(scope, browser, address, options);
    return opened;
  }

  for (const [form, addressOf] of Object.entries(FORMS)) {
    it(`asks for its password once, by keyboard alone, and cuts connections on a change (${form})`, async () => {
      const tunnel = await start({ password: PASSWORD });
      const address = `${addressOf(tunnel)}?a=b`;
      const { page, answer } = await open(address);
      assert.equal(answer.status(), 401);
      assert.equal(await page.title(), 'Access is restricted');
      // The browser sets the focus once it has drawn the page.
      await page.locator('#word:focus').waitFor();
      await page.keyboard.type('wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await page.locator('#word:focus').waitFor();
      await page.keyboard.type(PASSWORD);
      await page.keyboard.press('Enter');
      await page.locator('#who', { hasText: 'you are password' }).waitFor();
      await page.locator('#socket', { hasText: 'hello password' }).waitFor();
      assert.equal(page.url(), address);
      assert.equal(await page.evaluate('document.cookie'), '');
      assert.equal((await page.goto(address))?.status(), 200);
      await page.locator('#socket', { hasText: 'hello password' }).waitFor();
      await replace(tunnel, { password: 'another word' });
      await page.locator('#socket', { hasText: 'closed' }).waitFor();
      assert.equal((await page.reload())?.status(), 401);
    });

    it(`accepts a user and a password in the browser's own dialog, including for WebSockets (${form})`, async () => {
      const tunnel = await start({ basic: [{ user: 'ann', password: PASSWORD }] });
      const { page } = await open(addressOf(tunnel), {
        httpCredentials: { username: 'ann', password: PASSWORD },
      });
      await page.locator('#who', { hasText: 'you are basic:ann' }).waitFor();
      await page.locator('#socket', { hasText: 'hello basic:ann' }).waitFor();
    });

    it(`admits anyone who opens a signed link, which leaves no trace, and cuts its visitors when revoked (${form})`, async () => {
      const tunnel = await start({ links: true });
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
      assert.equal(await page.title(), 'This link is no longer valid');
      await assertPageReadable(page);
    });
  }

  it('admits the browser that opens a link first, and shows others that the link was used', async () => {
    const tunnel = await start({ links: true });
    const made = await account.api.send('POST', `/v1/tunnels/${tunnel.id}/links`, { json: { once: true } });
    const link = `${FORMS.subdomain(tunnel)}?a=b&${new URL((made.json as NewLink).url).search.slice(1)}`;
    // As a program that previews links.
    const { page: preview } = await open(link, { extraHTTPHeaders: { 'Sec-Purpose': 'prefetch' } });
    assert.equal(await preview.title(), 'Open this link');
    await assertPageReadable(preview);
    const first = await open(link);
    await first.page.locator('#who', { hasText: 'you are link' }).waitFor();
    assert.equal(first.page.url(), `${FORMS.subdomain(tunnel)}?a=b`);
    assert.doesNotMatch(told, /culvert/);
    const { page: second, answer } = await open(link);
    assert.deepEqual([answer.status(), await second.title()], [401, 'This link was already used']);
    await assertPageReadable(second);
    assert.equal((await first.page.goto(link))?.status(), 200);
    // The button of the page that was shown for the preview.
    await preview.getByRole('button', { name: 'Open' }).click();
    await preview.waitForURL(/culvert_gate=open/);
    assert.equal(await preview.title(), 'This link was already used');
  });

  it('is not read over a WebSocket by a page of a sibling tunnel in the same browser', async () => {
    const shop = await start({ password: PASSWORD, basic: [{ user: 'ann', password: PASSWORD }] });
    const sibling = await start({});
    const address = FORMS['account subdomain'](shop);
    const context = await browser.newContext();
    scope.defer(() => context.close());
    const page = await context.newPage();
    /** The page's result of reading from a WebSocket to the shop. */
    const read = async (): Promise<unknown> =>
      await page.evaluate(`new Promise((resolve) => {
        const socket = new WebSocket(${JSON.stringify(address.replace('http', 'ws'))});
        socket.onmessage = ({ data }) => resolve(data);
        socket.onclose = () => resolve('closed');
      })`);
    // From here on the browser knows the password, and the visitor has a cookie.
    await page.goto(address.replace('://', `://ann:${encodeURIComponent(PASSWORD)}@`));
    await page.goto(address);
    assert.equal(await read(), 'hello basic:ann');
    await page.goto(FORMS['account subdomain'](sibling));
    assert.equal(await read(), 'closed');
    // Without the cookie the browser would still send the password.
    await context.clearCookies();
    assert.equal(await read(), 'closed');
  });

  it('has a page that is readable in every view and width, also with an error', async () => {
    const tunnel = await start({ password: PASSWORD, links: true });
    const { page, requests, errors } = await open(tunnel.public_url);
    await assertPageReadable(page);
    assert.equal(requests.length, 1);
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').waitFor();
    await assertPageReadable(page);
    assert.deepEqual(
      errors.filter((error) => !NOT_A_PROBLEM.test(error)),
      [],
    );
  });

  it('has readable pages for a refused address and for too many attempts', async () => {
    const tunnel = await start({ password: PASSWORD });
    const { page } = await open(tunnel.public_url);
    await eventually(60_000, async () => {
      // Another visitor at the same address has tried. Attempts are regained while the browser loads the page.
      await Promise.all(Array.from({ length: 12 }, () => tryWrong(tunnel)));
      await page.getByLabel('Password').fill('wrong');
      const answered = page.waitForResponse((response) => response.request().method() === 'POST');
      await page.getByRole('button', { name: 'Continue' }).click();
      assert.equal((await answered).status(), 429);
    });
    assert.equal(await page.title(), 'Too many wrong passwords');
    // A visitor who waits a minute can continue from here.
    assert.equal(await page.getByLabel('Password').isVisible(), true);
    await assertPageReadable(page);
    await replace(tunnel, { allow: ['192.0.2.0/24'] });
    await page.goto(tunnel.public_url);
    assert.equal(await page.title(), 'Your network does not have access');
    await assertPageReadable(page);
  });
});
