import assert from 'node:assert/strict';
import { startSite } from '../support/services/echo.ts';
import { startHttpService } from '../support/services/listen.ts';
import { expose, scenarios } from './support/fixture.ts';
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
    const { page, app } = await fixture.openSignedIn();
    const site = await startSite(fixture.scope);
    const slug = await expose(page, site.port);
    await page.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
    await page.getByRole('button', { name: `Start again ${slug}` }).click();
    await page.locator('.card').getByText('Online').waitFor();
    const again = await app.tunnel();
    assert.equal((await visit(again.url)).status, 200);
    await page.getByRole('button', { name: `Stop ${again.slug}` }).click();
    await page.getByRole('button', { name: `Remove ${again.slug}` }).click();
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
  });

  async function listeningPort(): Promise<number> {
    return (await startHttpService(fixture.scope, (_, response) => response.end())).port;
  }
});
