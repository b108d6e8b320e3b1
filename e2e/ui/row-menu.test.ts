import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';
import type { RunningApp } from './support/running-app.ts';
import { focusedName, visit } from './support/visit.ts';

scenarios('the menu of a row of the log', (fixture) => {
  async function openLog() {
    const asked: string[] = [];
    const shop = await startHttpService(fixture.scope, (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      response.end('ok');
    });
    const { page, app } = await fixture.openSignedIn();
    const slug = await expose(page, shop.port);
    const address = (await app.tunnel()).url;
    await visit(`${address}/first?a=1&token=mild-oak`);
    await visit(`${address}/order`, { method: 'POST', body: '{"mugs":2}', type: 'application/json' });
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    await row(page, /^POST \/order/).waitFor();
    return { page, app, address, asked };
  }

  it('sends a request again, copies it, and filters by its path, with the mouse', async () => {
    const { page, app, address, asked } = await openLog();
    await choose(page, /^POST \/order/, 'Replay');
    await eventually(20_000, () => assert.equal(asked.filter((each) => each === 'POST /order').length, 2));
    await choose(page, /^GET \/first/, 'Copy address');
    await eventually(20_000, async () =>
      assert.equal(await lastCopied(app), `${address}/first?a=1&token=[redacted]`),
    );
    await page.getByText('Copied the address without its secrets.').waitFor({ state: 'attached' });
    await choose(page, /^POST \/order/, 'Copy as curl');
    await eventually(20_000, async () => assert.match(await lastCopied(app), /^curl .*\/order/s));
    await choose(page, /^GET \/first/, 'Only this path');
    await eventually(20_000, async () => assert.equal(await page.locator('.log li').count(), 1));
    assert.equal(await page.getByLabel('Search requests').inputValue(), '/first');
  });

  it('is reachable by keyboard, wraps around, and returns the focus', async () => {
    const { page } = await openLog();
    await row(page, /^GET \/first/).focus();
    await page.keyboard.press('Shift+F10');
    await focusedName(page, /^Open$/, 'menuitem');
    await page.keyboard.press('ArrowUp');
    await focusedName(page, /^Only this path$/, 'menuitem');
    await page.keyboard.press('ArrowDown');
    await focusedName(page, /^Open$/, 'menuitem');
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await focusedName(page, /^GET \/first/);
    await page.keyboard.press('Shift+F10');
    await focusedName(page, /^Open$/, 'menuitem');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Response', exact: true }).waitFor();
  });

  it('is closed by a click beside it, which does nothing else', async () => {
    const { page, asked } = await openLog();
    await row(page, /^GET \/first/).click({ button: 'right' });
    await page.getByRole('menu', { name: /GET \/first/ }).waitFor();
    await page.mouse.click(2, 2);
    await page.getByRole('menu').waitFor({ state: 'detached' });
    assert.equal(asked.length, 2);
  });
});

function row(page: Page, name: RegExp) {
  return page.locator('.log').getByRole('button', { name }).last();
}

async function lastCopied(app: RunningApp): Promise<string> {
  return (await app.copied()).at(-1) ?? '';
}

async function choose(page: Page, request: RegExp, item: string): Promise<void> {
  await row(page, request).click({ button: 'right' });
  await page.getByRole('menuitem', { name: item }).click();
  await page.getByRole('menu').waitFor({ state: 'detached' });
}
