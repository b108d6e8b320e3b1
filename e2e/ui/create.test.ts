/** From a port to a tunnel with visitors, with every option, and what the plan or another tunnel refuses. */
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { visit as visitRaw } from '../support/raw-http.ts';
import { startSite } from '../support/services/echo.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

async function openOptions(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Options' }).click();
  await page.getByRole('button', { name: 'More', exact: true }).click();
}

scenarios('a new tunnel', (fixture) => {
  it('has a random name, is copied, opened and extended, and shows its traffic as it arrives', async () => {
    const { page, app } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    const slug = await expose(page, site.port);
    await page.getByRole('button', { name: `Copy the address of ${slug}` }).click();
    await page.getByRole('button', { name: `Copied the address of ${slug}` }).waitFor();
    const [address = ''] = await app.copied();
    await page.getByRole('button', { name: `Open ${slug}` }).click();
    await eventually(20_000, async () => assert.deepEqual(await app.opened(), [address]));

    await visit(`${address}/bytes/50000`);
    await page.getByRole('button', { name: 'GET /bytes/50000 200' }).waitFor();
    await page.locator('.requests', { hasText: /^1 request$/ }).waitFor();
    // The body and its head.
    await page.getByText(/^4[89](\.\d)? KiB$/).waitFor();
    await page.getByRole('img', { name: '1 request in the last minute, none failed' }).waitFor();
    await visit(`${address}/sink`, { method: 'POST', body: 'x'.repeat(20_000) });
    await page.getByRole('button', { name: 'POST /sink 200' }).waitFor();
    await page.locator('.requests', { hasText: /^2 requests$/ }).waitFor();
    await page.getByText(/^19\.\d KiB$/).waitFor();

    const before = (await app.tunnel()).expiresAt;
    await page.getByRole('button', { name: `Extend ${slug}` }).click();
    await page.getByRole('button', { name: '+15 min' }).click();
    await page.getByTitle(/^1 h 1[0-4] min left/).waitFor();
    assert.equal((await app.tunnel()).expiresAt, before + 15 * 60_000);
    await page.getByRole('button', { name: `Extend ${slug}` }).click();
    await page.getByLabel('Custom time').fill('soon');
    await page.keyboard.press('Enter');
    await page.getByText('Enter a time such as').waitFor();
    await page.getByLabel('Custom time').fill('2 hours');
    await page.keyboard.press('Enter');
    await page.getByTitle(/^3 h 1[0-4] min left/).waitFor();
  });

  it('has the chosen name with all its hosts, lifetime, compression, headers and Host', async () => {
    const { page, app } = await fixture.openSignedIn();
    const { port } = await startHttpService(fixture.scope, ({ headers }, response) => {
      const seen = [headers['x-env'], headers.cookie, headers.host].map(String).join(' ');
      response.setHeader('x-old', '1').setHeader('content-type', 'text/plain').end(seen.padEnd(3000));
    });
    const other = await createAccount(fixture.relay);
    await other.api.create({ local_port: 9, name: 'taken-name' });
    await openOptions(page);
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('Taken Name!');
    await page.getByText('"!" is not allowed in a name').waitFor();
    await name.fill('taken-name');
    await page.getByLabel('Use every host of this address').check();
    await page.getByLabel('Compression').selectOption('On');
    const lifetime = page.getByLabel('Expires after');
    assert.equal(await lifetime.locator('option:checked').textContent(), 'Culvert quits');
    await lifetime.selectOption('custom');
    await page.getByLabel('Custom time').fill('2h');
    await page.getByLabel('Restart the timer on every visit').check();
    await page.getByLabel('Host header').selectOption('local');
    const request = page.getByLabel('Request headers');
    await request.fill('X-Env: dev\nHost: other');
    await page.getByLabel('Response headers').fill('-X-Old');
    await page.getByLabel('Port', { exact: true }).fill(String(port));
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('“Host: other” cannot be used').waitFor();
    await page.locator('#request-headers:focus').waitFor();
    await request.fill('X-Env: dev\n-Cookie');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('Another account is using it').waitFor();
    assert.equal(await name.getAttribute('aria-invalid'), 'true');
    await page.locator('#name:focus').waitFor();
    await name.fill('free-name');
    await page.getByText('*--free-name.…').waitFor();
    await page.keyboard.press('Enter');
    const card = page.locator('.card[data-slug="free-name"]');
    await card.getByText('Online').waitFor();
    await card.getByText(`*--free-name.localhost:${fixture.relay.port}`).waitFor();
    await card.getByText('left if unused').waitFor();
    assert.equal((await app.tunnel()).ttl, 7200);
    const { head, body } = await visitRaw(fixture.relay.port, {
      host: 'any--free-name.localhost',
      headers: [
        ['Accept-Encoding', 'gzip'],
        ['Cookie', 'a=b'],
      ],
    });
    assert.deepEqual([head.field('content-encoding'), head.field('x-old')], ['gzip', undefined]);
    assert.equal(gunzipSync(body).toString().trim(), `dev undefined localhost:${port}`);

    await page.getByLabel('Port', { exact: true }).fill(String(port));
    await openOptions(page);
    await page.getByLabel('Host header').selectOption('custom');
    await page.getByLabel('Host name').fill('shop.test');
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.locator('.card').getByText('Online').nth(1).waitFor();
    assert.match((await visit((await app.tunnel()).url)).body, / shop\.test +$/);
  });

  it('has no name and no domain if the plan allows none, which is explained', async () => {
    const { page } = await fixture.openSignedIn({ plan: 'free' });
    await openOptions(page);
    await page.getByText('Choosing a name requires the Dev plan or above').waitFor();
    await page.getByText('Using your own domain requires the Dev plan or above').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).count(), 0);
  });
});
