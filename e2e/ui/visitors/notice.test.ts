/** The notice before the first visit to a tunnel on the free plan, in a browser (docs/operating/public-relay.md). */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Browser } from 'playwright-core';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { createAccount } from '../../support/accounts.ts';
import { Culvert, Relay } from '../../support/programs.ts';
import { suiteScope, testScope } from '../../support/scope.ts';
import { startHttpService } from '../../support/services/listen.ts';
import { sharedBrowser } from '../support/running-app.ts';
import { assertPageReadable, openAddress, TWO_FORMS, FORMS } from '../support/readable.ts';

/** A page that requests everything a page may request, and shows which cookies the service got. */
function serve({ url = '', headers }: IncomingMessage, response: ServerResponse): void {
  if (url !== '/page?q=1') {
    response.writeHead(200, { 'Content-Type': 'text/plain' }).end(`asked for ${url}`);
    return;
  }
  response.setHeader('Set-Cookie', 'own=1');
  response.setHeader('Content-Type', 'text/html');
  response.end(`<!doctype html><title>Shop</title><link rel="icon" href="data:,">
    <p id="cookie">${headers.cookie ?? 'none'}</p><p id="data"></p><a href="page?q=1">Again</a>
    <script>fetch('data').then((answer) => answer.text()).then((text) => (data.textContent = text));</script>`);
}

describe('the notice of a tunnel on the free plan in a browser', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  let tunnel: Tunnel;

  before(async function () {
    const settings = { CULVERT_NOTICE: 'free', CULVERT_ABUSE_CONTACT: 'abuse@example.com' };
    const [relay, service] = await Promise.all([
      Relay.start(suite, settings),
      startHttpService(suite, serve),
    ]);
    const { key } = await createAccount(relay, { plan: 'free' });
    [{ tunnel }, browser] = await Promise.all([
      Culvert.start(suite, relay, key, service.port),
      sharedBrowser(),
    ]);
  });

  for (const [form, addressOf] of TWO_FORMS) {
    it(`is dismissed with one key, and not shown again (${form})`, async () => {
      const address = `${addressOf(tunnel)}page?q=1`;
      const { page, answer } = await openAddress(scope, browser, address);
      assert.equal(answer.status(), 403);
      await page.keyboard.press('Tab');
      assert.equal(await page.evaluate<string>('document.activeElement.textContent'), 'Continue to the page');
      await page.keyboard.press('Enter');
      await page.locator('#data', { hasText: 'asked for /data' }).waitFor();
      assert.equal(page.url(), address);
      assert.equal(await page.locator('#cookie').innerText(), 'none');
      await page.getByRole('link', { name: 'Again' }).click();
      await page.locator('#cookie', { hasText: 'own=1' }).waitFor();
      assert.equal(await page.locator('#cookie').innerText(), 'own=1');
      assert.equal(await page.evaluate<string>('document.cookie'), 'own=1');
      const again = await page.context().newPage();
      assert.equal((await again.goto(address))?.status(), 200);
    });
  }

  it('is shown for each form of the address, because they are different sites', async () => {
    const { page } = await openAddress(scope, browser, FORMS.subdomain(tunnel));
    await page.getByRole('link', { name: 'Continue to the page' }).click();
    await page.getByText('asked for /').waitFor();
    assert.equal((await page.goto(FORMS.path(tunnel)))?.status(), 403);
  });

  it('cannot be framed by another site', async () => {
    const framing = await startHttpService(scope, (_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<!doctype html><title>Frame</title><iframe src="${tunnel.urls.subdomain}/"></iframe>`);
    });
    const { page } = await openAddress(scope, browser, `http://127.0.0.1:${framing.port}/`);
    await page.waitForLoadState('load');
    const texts = await Promise.all(
      page.frames().map((frame) => frame.evaluate<string>('document.body.innerText').catch(() => '')),
    );
    assert.ok(!texts.join().includes('Continue') && !texts.join().includes('asked for'), texts.join());
  });

  it('is readable in every view and at every width, and names the address and where to complain', async () => {
    const { page, requests, errors } = await openAddress(scope, browser, `${tunnel.urls.path}/`);
    const text = await page.getByRole('main').innerText();
    assert.ok(text.includes(String(tunnel.urls.path).replace('http://', '')), text);
    assert.doesNotMatch(text, /Error \d|notice/);
    const report = page.getByRole('link', { name: 'Report abuse' });
    assert.equal(await report.getAttribute('href'), 'mailto:abuse@example.com');
    assert.equal(requests.length, 1);
    assert.deepEqual(
      errors.filter((error) => !error.includes('a status of 403')),
      [],
    );
    await assertPageReadable(page);
  });
});
