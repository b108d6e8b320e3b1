import assert from 'node:assert/strict';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { startSite } from '../support/services/echo.ts';
import { startHttpService } from '../support/services/listen.ts';
import { appScenarios } from './support/fixture.ts';
import { focused, focusedName, tabTo, tabToId, visit } from './support/visit.ts';

appScenarios('the main job without a mouse', (fixture) => {
  /** Signs in and exposes a shop that accepts orders. Afterwards the button that copies its address has the focus. */
  async function signInAndExpose() {
    const account = await createAccount(fixture.relay);
    const orders: string[] = [];
    const { port } = await startHttpService(fixture.scope, (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        if (request.method === 'POST') orders.push(body);
        response.end('ok');
      });
    });
    const { page, app } = await fixture.open();
    const keys = page.keyboard;
    await focused(page, 'relay');
    await keys.type(fixture.relay.url);
    await keys.press('Tab');
    await keys.type(account.key);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await keys.press('Control+n');
    await focused(page, 'port');
    await keys.type(String(port));
    await keys.press('Escape');
    await keys.press('Enter');
    // The address is what people need next.
    await focusedName(page, /^Copy the address/);
    await page.locator('.card').getByText('Online').waitFor();
    return { page, app, orders };
  }

  it('signs in, exposes a port, copies the address, extends, stops, starts, removes, changes a setting', async () => {
    const { page, app } = await signInAndExpose();
    const keys = page.keyboard;
    await keys.press('Enter');
    await eventually(20_000, async () => assert.deepEqual(await app.copied(), [(await app.tunnel()).url]));

    await keys.press('Tab');
    await focusedName(page, /^Who has access/);
    await keys.press('Tab');
    await focusedName(page, /^Extend /);
    await keys.press('Enter');
    await tabTo(page, /^\+1 h$/);
    await keys.press('Space');
    await page.getByText(/^1 h 5\d min left/).waitFor();
    await focusedName(page, /^Extend /);

    await tabTo(page, /^Stop /);
    await keys.press('Enter');
    await page.getByText('Stopped', { exact: true }).waitFor();
    await focusedName(page, /^Start again /);
    await keys.press('Enter');
    await focusedName(page, /^Copy the address/);
    await page.locator('.card').getByText('Online').waitFor();
    assert.equal((await visit((await app.tunnel()).url)).status, 200);

    await tabTo(page, /^Stop /);
    await keys.press('Enter');
    await focusedName(page, /^Start again /);
    await keys.press('Tab');
    await focusedName(page, /^Remove /);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await focused(page, 'port');

    await keys.press('Control+,');
    await page.getByRole('heading', { name: 'Settings' }).and(page.locator(':focus')).waitFor();
    await tabToId(page, 'notifies');
    await keys.press('Space');
    await keys.press('Tab');
    await focused(page, 'summon-shortcut');
    await keys.type('Off');
    await keys.press('Tab');
    await focused(page, 'language');
    await keys.press('Tab');
    await focused(page, 'theme');
    await keys.type('Dark');
    await page.locator('html[data-theme="dark"]').waitFor();
    assert.equal(await page.getByLabel('Notifications').isChecked(), false);
    assert.equal(await page.getByLabel('Global shortcut').inputValue(), 'off');
    await keys.press('Escape');
    await focused(page, 'port');
  });

  it('finds a request in the log, reads it, sends it again, and returns step by step', async () => {
    const { page, app, orders } = await signInAndExpose();
    const keys = page.keyboard;
    const { url, slug } = await app.tunnel();
    await visit(`${url}/seen`);
    await visit(`${url}/order`, { method: 'POST', body: '{"mugs":2}', type: 'application/json' });
    await page.getByRole('button', { name: 'POST /order 200' }).waitFor();

    await tabTo(page, /^All requests to /);
    await keys.press('Enter');
    await page
      .getByRole('heading', { name: `Requests to ${slug}` })
      .and(page.locator(':focus'))
      .waitFor();
    await keys.press('/');
    await keys.type('POST order');
    await eventually(20_000, async () => assert.equal(await page.locator('.log .row').count(), 1));
    await keys.press('ArrowDown');
    await focusedName(page, /^POST \/order/);
    await keys.press('Enter');
    await page.getByRole('heading', { name: 'POST /order' }).and(page.locator(':focus')).waitFor();

    await tabTo(page, /^Replay$/);
    await keys.press('Enter');
    await page.getByText('Replay of request 2.').waitFor();
    await focusedName(page, /^Replay$/);
    assert.deepEqual(orders, ['{"mugs":2}', '{"mugs":2}']);

    await keys.press('Escape');
    // The search is restored, and the request that was read has the focus.
    await focusedName(page, /^POST \/order/);
    assert.equal(await page.getByLabel('Search requests').inputValue(), 'POST order');
    await keys.press('Escape');
    await focusedName(page, /^All requests to /);
  });

  it('collapses expanded parts with Escape, and then returns to where the screen was opened', async () => {
    const { page } = await signInAndExpose();
    const keys = page.keyboard;
    for (const name of [/^QR /, /^Extend /, /^Who has access/]) {
      await page.getByRole('button', { name }).focus();
      await keys.press('Enter');
      const button = page.getByRole('button', { name, expanded: true });
      await button.waitFor();
      await keys.press('Escape');
      await page.getByRole('button', { name, expanded: false }).and(page.locator(':focus')).waitFor();
    }
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Name', { exact: true }).fill('half-typed');
    await keys.press('Escape');
    await page.getByLabel('Name', { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Options' }).and(page.locator(':focus')).waitFor();
    await keys.press('Enter');
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'half-typed');
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
