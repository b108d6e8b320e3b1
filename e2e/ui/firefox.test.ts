/** What matters most of the window that `culvert ui` serves, in Firefox: another engine than that of the app. */
import assert from 'node:assert/strict';
import { type Browser, type BrowserContext, firefox, type Page } from 'playwright-core';
import { createAccount } from '../support/accounts.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { openLink, startUi, type UiProgram } from './support/browser-driver.ts';
import { card, expose, signIn } from './support/fixture.ts';
import { sharedRelay } from './support/running-app.ts';
import { visit } from './support/visit.ts';

/** Debian's Firefox, over WebDriver BiDi. */
const FIREFOX = process.env['CULVERT_FIREFOX'] ?? '/usr/bin/firefox-esr';

describe('the window in Firefox', () => {
  const scope = suiteScope();
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  let program: UiProgram;
  let slug: string;

  before(async () => {
    browser = await firefox.launch({ channel: 'moz-firefox', executablePath: FIREFOX });
    scope.defer(() => browser.close());
    context = await browser.newContext({ viewport: { width: 400, height: 640 }, locale: 'en-US' });
    scope.defer(() => context.close());
    program = await startUi(scope, temporaryDirectory(scope));
    page = await openLink(scope, context, program.link);
  });

  it('opens with a link, which leaves no token in its address, and again without one', async () => {
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(page.url(), `${program.origin}/`);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('shows requests as they arrive, and sends them again', async () => {
    const relay = await sharedRelay();
    const { key } = await createAccount(relay);
    await signIn(page, relay.url, key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    const { port } = await startHttpService(scope, ({ url }, response) => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ asked: url }));
    });
    slug = await expose(page, port);
    await visit(`http://${slug}.localhost:${relay.port}/one`);
    await card(page, slug).getByText('/one').click();
    await page.getByText('"/one"').waitFor();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Sent again').first().waitFor();
    await page.getByRole('button', { name: 'Back' }).click();
    assert.equal(await card(page, slug).getByText('/one').count(), 2);
  });

  it('has the palette, and changes to the dark theme', async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Find a tunnel/ }).fill('dark');
    await page.keyboard.press('Enter');
    await page.locator('[data-theme=dark]').waitFor();
    const colour = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    const [red = 255] = /\d+/.exec(String(colour))?.map(Number) ?? [];
    assert.ok(red < 64, String(colour));
  });

  it('moves the focus in the order of the card', async () => {
    await page.locator(`#copy-${await keyOf()}`).focus();
    const order: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      await page.keyboard.press('Tab');
      order.push(String(await page.evaluate('document.activeElement.id')).replace(/-.*/, ''));
    }
    assert.deepEqual(order, ['lock', 'extend', '', 'qr', '']);
  });

  it('shows the same in two pages', async () => {
    const second = await openLink(scope, context, program.origin);
    await card(second, slug).getByText('Online').waitFor();
    await second.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
  });

  async function keyOf(): Promise<string> {
    const id = await card(page, slug).locator('[id^=extend-]').getAttribute('id');
    return id?.slice('extend-'.length) ?? assert.fail();
  }
});
