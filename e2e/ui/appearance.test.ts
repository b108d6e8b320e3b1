import assert from 'node:assert/strict';
import { eventually } from '../support/deadline.ts';
import { startSite } from '../support/services/echo.ts';
import { expose, type OpenApp, scenarios } from './support/fixture.ts';
import { assertReadable, colorOf, isDark } from './support/readable.ts';
import { visit } from './support/visit.ts';

type Look = (opened: OpenApp) => Promise<void>;

const LOOKS: Readonly<Record<string, Look>> = {
  dark: ({ page }) => page.emulateMedia({ colorScheme: 'dark' }),
  'high contrast': ({ page }) => page.emulateMedia({ colorScheme: 'dark', forcedColors: 'active' }),
  '200 % zoom': ({ zoom }) => zoom(2),
};

scenarios('the main job with accessibility settings', (fixture) => {
  for (const [name, look] of Object.entries(LOOKS)) {
    it(`in ${name}`, async () => {
      const opened = await fixture.openSignedIn();
      const { page, app } = opened;
      await look(opened);
      const site = await startSite(fixture.scope);
      await assertReadable(page, 'nothing exposed');
      const slug = await expose(page, site.port);
      await page.getByRole('button', { name: `Copy the address of ${slug}` }).click();
      await eventually(20_000, async () => assert.equal((await app.copied()).length, 1));
      const { url } = await app.tunnel();
      await visit(`${url}/seen`, { method: 'POST', body: '{"mugs":2}', type: 'application/json' });
      await page.getByRole('button', { name: 'POST /seen 200' }).waitFor();
      await page.getByRole('button', { name: `Extend ${slug}` }).click();
      await page.getByRole('button', { name: '+15 min' }).waitFor();
      await assertReadable(page, 'a tunnel');
      await page.getByRole('button', { name: '+15 min' }).click();
      await page.getByText(/^1 h 1[0-4] min left/).waitFor();

      await page.getByRole('button', { name: `All requests to ${slug}` }).click();
      await page
        .getByRole('list', { name: 'Requests' })
        .getByRole('button', { name: 'POST /seen 200' })
        .click();
      await page.getByRole('region', { name: 'Response body' }).waitFor();
      await assertReadable(page, 'a request');
      await page.getByRole('button', { name: 'Back' }).click();
      await page.getByRole('button', { name: 'Back' }).click();

      await page.getByRole('button', { name: `Stop ${slug}` }).click();
      await page.getByText('Stopped', { exact: true }).waitFor();
      await assertReadable(page, 'a stopped tunnel');
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByLabel('Theme').waitFor();
      await assertReadable(page, 'settings');
    });
  }

  it('in the theme of the system, or in the chosen one', async () => {
    const { page } = await fixture.openSignedIn();
    await page.emulateMedia({ colorScheme: 'dark' });
    await eventually(20_000, async () => assert.equal(await isDark(page), true));
    await page.emulateMedia({ colorScheme: 'light' });
    await eventually(20_000, async () => assert.equal(await isDark(page), false));
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Theme').selectOption('dark');
    await eventually(20_000, async () => assert.equal(await isDark(page), true));
  });

  it('in high contrast, with the state as a shape, the fuse and the focus visible', async () => {
    const { page } = await fixture.openSignedIn();
    await page.emulateMedia({ forcedColors: 'active' });
    const site = await startSite(fixture.scope);
    await expose(page, site.port);
    const ground = await colorOf(page, '.card', 'backgroundColor');
    assert.notEqual(await colorOf(page, '.card .shape', 'color'), ground);
    assert.notEqual(await colorOf(page, '.card .fuse-left', 'backgroundColor'), ground);
    assert.notEqual(
      await colorOf(page, '.card .fuse-left', 'backgroundColor'),
      await colorOf(page, '.card .fuse', 'backgroundColor'),
    );
    await page.keyboard.press('Tab');
    assert.equal(await colorOf(page, ':focus-visible', 'outlineStyle'), 'solid');
    assert.notEqual(await colorOf(page, ':focus-visible', 'outlineColor'), ground);
  });
});
