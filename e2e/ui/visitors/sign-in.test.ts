/** Sign-in at a tunnel with a real identity provider, in a browser (protocol.md section 11.5). */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { WebSocketServer } from 'ws';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount, type TestAccount } from '../../support/accounts.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { findProvider, TestIdentityProvider } from '../../support/services/identity-provider.ts';
import { type HttpService, startHttpService } from '../../support/services/listen.ts';
import { sharedBrowser } from '../support/running-app.ts';
import { assertPageReadable, FORMS, openAddress } from '../support/readable.ts';

const ANN = 'ann@example.com';
/** Saves a picture of each page in this folder, in both themes and two widths, for people to look at. */
const PICTURES = process.env['SIGN_IN_PICTURES'];

const PAGE = `<!doctype html><title>Shop</title><link rel="icon" href="data:,">
  <p id="socket"></p><script type="module">
  const ws = new WebSocket(new URL('socket', location.href).href.replace('http', 'ws'));
  ws.onmessage = ({ data }) => (socket.textContent = data);
  ws.onclose = () => (socket.textContent = 'closed');
</script>`;

describe('signing in at a tunnel in a browser', () => {
  const suite = suiteScope();
  const scope = testScope();
  let idp: TestIdentityProvider;
  let browser: Browser;
  let relay: Relay;
  let service: HttpService;
  let account: TestAccount;

  before(async () => {
    idp = await TestIdentityProvider.start(suite);
    relay = await Relay.start(suite, idp.settings);
    idp.register(relay.url);
    await findProvider(relay);
    service = await startHttpService(suite, (_request, response) => {
      response.setHeader('Content-Type', 'text/html').end(PAGE);
    });
    const sockets = new WebSocketServer({ server: service.server });
    suite.defer(() => sockets.close());
    sockets.on('connection', (socket, { headers }) => {
      socket.on('error', () => socket.terminate());
      socket.send(`hello ${String(headers['culvert-visitor'])}`);
    });
    browser = await sharedBrowser();
  });

  let accounts = 0;
  beforeEach(async () => {
    account = await createAccount(relay, { subdomain: `acme-${(accounts += 1)}` });
  });

  async function replace({ id }: Tunnel, access: object): Promise<void> {
    const { status, json } = await account.api.send('PUT', `/v1/tunnels/${id}/access`, { json: access });
    assert.equal(status, 200, JSON.stringify(json));
  }

  async function start(access: object): Promise<Tunnel> {
    const { tunnel } = await Culvert.start(scope, relay, account.key, service.port);
    await replace(tunnel, access);
    return tunnel;
  }

  for (const [form, addressOf] of Object.entries(FORMS))
    it(`leads back to the wanted page, and cuts who is no longer admitted (${form})`, async () => {
      const tunnel = await start({ sign_in: ['*@example.com'] });
      const address = `${addressOf(tunnel)}?a=b`;
      const { page, errors } = await openAddress(scope, browser, `${address}#part`);
      await signInAs(page, ANN);
      await page.locator('#socket', { hasText: `hello user:${ANN}` }).waitFor();
      assert.equal(page.url(), `${address}#part`);
      assert.equal(await page.evaluate('document.cookie'), '');
      assert.deepEqual(errors, []);
      await replace(tunnel, { sign_in: ['bob@example.com'] });
      await page.locator('#socket', { hasText: 'closed' }).waitFor();
      assert.equal((await page.reload())?.status(), 403);
      await page.getByText(ANN).waitFor();
      // As after signing out there, which this provider has no button for.
      await page.context().clearCookies({ domain: '127.0.0.1' });
      await page.getByRole('link', { name: 'Sign in as somebody else' }).click();
      await signInAs(page, 'bob@example.com');
      await page.locator('#socket', { hasText: 'hello user:bob@example.com' }).waitFor();
      await page.goto(`${addressOf(tunnel)}?culvert_sign_out`);
      assert.equal(await page.title(), 'You have signed out');
      await assertPageReadable(page);
    });

  it('has pages that are readable in every view and width', async () => {
    const everything = {
      sign_in: [ANN],
      password: 'mild oak fern',
      links: true,
      knock: true,
      basic: [{ user: 'ann', password: 'mild oak fern' }],
    };
    const tunnel = await start(everything);
    const { page } = await openAddress(scope, browser, tunnel.public_url);
    const button = page.getByRole('link', { name: 'Sign in with Example' });
    await picture(page, 'five-ways');
    assert.equal(await page.getByLabel('Password').isVisible(), false);
    await assertPageReadable(page);
    await page.getByText('Other ways').click();
    await page.getByLabel('Password').waitFor();
    await picture(page, 'five-ways-open');
    await assertPageReadable(page);
    await button.click();
    await signInAs(page, 'somebody-with-a-long-name@a-company-with-a-long-name.example.com');
    await page.getByRole('link', { name: 'Other ways to get access' }).waitFor();
    await picture(page, 'refused');
    await assertPageReadable(page);
    await page.goto(`${relay.url}/auth/callback?state=x`);
    assert.equal(await page.title(), 'The sign-in did not work');
    await picture(page, 'failed');
    await assertPageReadable(page);
  });
});

/** Saves pictures of a page, if somebody wants to look at them. */
async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  mkdirSync(PICTURES, { recursive: true });
  for (const width of [320, 900])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 700 });
      await page.emulateMedia({ colorScheme, forcedColors: 'none' });
      await page.screenshot({ path: join(PICTURES, `${name}-${width}-${colorScheme}.png`), fullPage: true });
    }
}

async function signInAs(page: Page, name: string): Promise<void> {
  await page.getByLabel('Account').fill(name);
  await page.getByRole('button', { name: 'Sign in' }).click();
}
