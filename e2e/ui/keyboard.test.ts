import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { startSite } from '../support/services/site.ts';
import { scenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

scenarios('the main job without a mouse', (fixture) => {
  it('signs in, exposes a port, copies the address, extends, reads a request, stops', async () => {
    const account = await createAccount(fixture.relay);
    const site = await startSite(fixture.scope);
    const { page, app } = await fixture.open();
    const keys = page.keyboard;

    await focused(page, 'relay');
    await keys.type(fixture.relay.url);
    await keys.press('Tab');
    await keys.type(account.key);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'Nothing is exposed' }).waitFor();

    await keys.press('Control+n');
    await focused(page, 'port');
    await keys.type(String(site.port));
    await keys.press('Escape');
    await keys.press('Enter');
    // The next thing people want is the address.
    await page
      .getByRole('button', { name: /^Copy the address/ })
      .and(page.locator(':focus'))
      .waitFor();
    await keys.press('Enter');
    await eventually(2000, async () => assert.equal((await app.copied()).length, 1));
    await page.locator('.card').getByText('Online').waitFor();
    await visit(`${(await app.copied())[0]}/seen`);
    await page.getByRole('button', { name: 'GET /seen 200' }).waitFor();

    await keys.press('Tab');
    await focusedName(page, /^Extend /);
    await keys.press('Enter');
    await tabTo(page, /^\+1 h$/);
    await keys.press('Space');
    await page.getByText(/^1 h 59 min left/).waitFor();

    await tabTo(page, /^GET \/seen/);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'GET /seen' }).and(page.locator(':focus')).waitFor();
    await keys.press('Escape');
    await focusedName(page, /^GET \/seen/);

    await keys.press('Shift+Tab');
    await focusedName(page, /^Stop /);
    await keys.press('Enter');
    await page.getByText('Stopped', { exact: true }).waitFor();
  });

  it('chooses a suggested port with the arrow keys', async () => {
    const site = await startSite(fixture.scope);
    const { page } = await fixture.openSignedIn();
    const port = page.getByLabel('Port', { exact: true });
    await port.fill(String(site.port).slice(0, 4));
    await page.getByRole('option', { name: String(site.port) }).waitFor();
    await page.keyboard.press('ArrowDown');
    const chosen = await page.getByRole('option', { selected: true }).locator('b').innerText();
    await page.keyboard.press('Enter');
    assert.equal(await port.inputValue(), chosen);
    assert.equal(await page.getByRole('option').count(), 0);
  });
});

async function focused(page: Page, id: string): Promise<void> {
  await page.locator(`#${id}:focus`).waitFor();
}

async function focusedName(page: Page, name: RegExp): Promise<void> {
  await page.getByRole('button', { name }).and(page.locator(':focus')).waitFor();
}

/** Presses Tab until something of that name has the focus. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let left = 20; left > 0; left -= 1) {
    if ((await page.getByRole('button', { name }).and(page.locator(':focus')).count()) > 0) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${String(name)}`);
}
