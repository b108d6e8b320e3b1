/** The window that `culvert ui` serves, in Debian's Firefox. */
import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { describeOnLinux } from '../../shared/testing/posix.ts';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope, testScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import { newProfile, openLink, startUi, WINDOW_SIZE } from './support/app-window.ts';
import { startFirefox } from './support/firefox.ts';
import { card, chooseFromPalette, signIn } from './support/fixture.ts';
import { isDark, violations } from './support/readable.ts';
import { sharedRelay } from './support/running-app.ts';
import { bottomOf, focused, focusedName, visit } from './support/visit.ts';

/** Logged for a page that may not connect, and for one that loses its connection a moment before it is loaded again. */
const DISCONNECTED = /connection to (the server at )?ws:/;

describeOnLinux('the window in Firefox', () => {
  const suite = suiteScope();
  const scope = testScope();
  let browser: Browser;
  before(async () => {
    browser = await startFirefox(suite);
  });

  async function open() {
    const [relay, program, profile] = await Promise.all([
      sharedRelay(),
      startUi(scope, temporaryDirectory(scope)),
      newProfile(scope, browser, { colorScheme: 'dark' }),
    ]);
    const page = await openLink(scope, profile, program.link, DISCONNECTED);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    return { relay, program, profile, page };
  }

  it('opens with its link once, stays open when it is loaded again, and follows a dark system', async () => {
    const { page, program } = await open();
    assert.equal(page.url(), `${program.origin}/`);
    assert.equal(await isDark(page), true);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.deepEqual(await violations(page), []);

    const other = await openLink(
      scope,
      await newProfile(scope, browser, { colorScheme: 'dark' }),
      program.link,
      DISCONNECTED,
    );
    await other.getByRole('alert').getByText('This link is no longer valid').waitFor();
    assert.equal(await other.getByRole('button', { name: 'Sign in' }).count(), 0);
  });

  it('exposes a port, shows a request and its response, sends it again and edited, in two pages', async () => {
    const { page, program, profile, relay } = await open();
    let received = 0;
    const [{ key }, { port }] = await Promise.all([
      createAccount(relay),
      startHttpService(scope, (_request, response) => {
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify({ received: (received += 1) }));
      }),
    ]);
    await signIn(page, relay.url, key);
    await focused(page, 'port');
    await page.keyboard.type(String(port));
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await focusedName(page, /^Copy the address/);
    const exposed = page.locator('.card', { hasText: `localhost:${port}` });
    await exposed.getByText('Online').waitFor();
    const slug = (await exposed.getAttribute('data-slug')) ?? '';
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: `Copied the address of ${slug}` }).waitFor();
    const [url = ''] = await page.evaluate<string[]>('outside.copied');
    await visit(`${url}/order`);
    await card(page, slug).getByRole('button', { name: 'GET /order 200' }).click();
    const body = page.getByRole('region', { name: 'Response body' });
    await body.getByText('"received": 1').waitFor();
    assert.ok((await bottomOf(body)) <= WINDOW_SIZE.height);
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    await body.getByText('"received": 2').waitFor();
    await focused(page, 'replay-request');
    assert.ok((await bottomOf(body)) <= WINDOW_SIZE.height);
    assert.deepEqual(await violations(page), []);

    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Path').fill('/order?mugs=3');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.locator('.sent-result', { hasText: /^200 · / }).waitFor();
    assert.equal(received, 3);
    await chooseFromPalette(page, `who has access to ${slug}`);
    await page.getByRole('radio', { name: 'Password' }).check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await eventually(20_000, async () => assert.equal((await visit(url)).status, 401));
    await page.getByRole('button', { name: `Who has access to ${slug}: Password` }).click();
    await page.getByRole('radio', { name: 'Only with a link' }).check();
    await page.getByRole('button', { name: 'Create and copy link' }).click();
    await page
      .getByRole('list', { name: `Links to ${slug}` })
      .getByText('Copied')
      .waitFor();
    const link = (await page.evaluate<string[]>('outside.copied')).at(-1) ?? '';
    assert.equal((await visit(link, { headers: { 'sec-fetch-mode': 'navigate' } })).status, 303);

    const second = await openLink(scope, profile, program.origin);
    await card(second, slug).getByText('Online').waitFor();
    await chooseFromPalette(page, `stop ${slug}`);
    await card(second, slug).getByText('Stopped', { exact: true }).waitFor();
    await chooseFromPalette(second, 'light theme');
    await eventually(20_000, async () => assert.equal(await isDark(page), false));
  });
});
