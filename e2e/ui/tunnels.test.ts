import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/deadline.ts';
import { startSite } from '../support/services/echo.ts';
import { startHttpService } from '../support/services/listen.ts';
import { card, expose, scenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

scenarios('the list of tunnels', (fixture) => {
  it('shows requests and traffic as they arrive', async () => {
    const { page, app } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    await expose(page, site.port);
    const address = (await app.tunnel()).url;
    await visit(`${address}/bytes/50000`);
    await page.getByRole('button', { name: 'GET /bytes/50000 200' }).waitFor();
    await page.locator('.requests', { hasText: /^1 request$/ }).waitFor();
    // The body and its head.
    await page.getByText(/^50\.\d kB$/).waitFor();
    await visit(`${address}/sink`, { method: 'POST', body: 'x'.repeat(20_000) });
    await page.getByRole('button', { name: 'POST /sink 200' }).waitFor();
    await page.locator('.requests', { hasText: /^2 requests$/ }).waitFor();
    await page.getByText(/^20\.\d kB$/).waitFor();
  });

  it('extends by one click and by a typed duration', async () => {
    const { page, app } = await fixture.openSignedIn();
    const slug = await expose(page, await listeningPort());
    const expiry = async () => (await app.tunnel()).expiresAt;
    const before = await expiry();
    await page.getByRole('button', { name: `Extend ${slug}` }).click();
    await page.getByRole('button', { name: '+15 min' }).click();
    await page.getByText(/^1 h 1[0-4] min left/).waitFor();
    assert.equal(await expiry(), before + 15 * 60_000);
    await page.getByRole('button', { name: `Extend ${slug}` }).click();
    await page.getByLabel('Custom time').fill('soon');
    await page.keyboard.press('Enter');
    await page.getByText('Enter a time such as').waitFor();
    await page.getByLabel('Custom time').fill('2 hours');
    await page.keyboard.press('Enter');
    await page.getByText(/^3 h 1[0-4] min left/).waitFor();
  });

  it('stops a tunnel, starts it again, and removes it', async () => {
    const { page, app, account } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    const slug = await expose(page, site.port);
    const address = (await app.tunnel()).url;
    await page.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
    await eventually(20_000, async () => assert.equal((await visit(address)).status, 404));
    await page.getByRole('button', { name: `Start again ${slug}` }).click();
    await page.locator('.card').getByText('Online').waitFor();
    const again = await app.tunnel();
    assert.equal((await visit(again.url)).status, 200);
    await page.getByRole('button', { name: `Stop ${again.slug}` }).click();
    await page.getByRole('button', { name: `Remove ${again.slug}` }).click();
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    await eventually(20_000, async () => assert.deepEqual(await account.api.list(), []));
  });

  it('reports that a tunnel has expired', async () => {
    const { page } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Expires after').selectOption('custom');
    await page.getByLabel('Custom time').fill('5s');
    await page.getByLabel('Port', { exact: true }).fill(String(await listeningPort()));
    await page.getByRole('button', { name: 'Expose' }).click();
    await page.getByText('Expired', { exact: true }).waitFor();
    await page.getByRole('button', { name: /^Start again/ }).click();
    await page.getByText('Expired', { exact: true }).waitFor({ state: 'detached' });
  });

  it('keeps an idle tunnel as long as visitors arrive, and no longer', async () => {
    const { page, app } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Options' }).click();
    await page.getByLabel('Expires after').selectOption('custom');
    await page.getByLabel('Custom time').fill('15s');
    await page.getByLabel('Restart the timer on every visit').check();
    const slug = await expose(page, await listeningPort());
    await card(page, slug).getByText('left if unused').waitFor();
    const { url, expiresAt } = await app.tunnel();
    const wouldHaveEnded = expiresAt + 1000;
    while (Date.now() < wouldHaveEnded) {
      assert.equal((await visit(url)).status, 200);
      await delay(200);
    }
    assert.equal(await card(page, slug).getByText('Expired').count(), 0);
    // 15 s after the last visit.
    await card(page, slug).getByText('Expired', { exact: true }).waitFor({ timeout: 60_000 });
    await eventually(20_000, async () => assert.equal((await visit(url)).status, 404));
  });

  async function listeningPort(): Promise<number> {
    return (await startHttpService(fixture.scope, (_, response) => response.end())).port;
  }
});
