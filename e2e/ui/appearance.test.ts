import assert from 'node:assert/strict';
import { eventually } from '../support/deadline.ts';
import { startSite } from '../support/services/echo.ts';
import { expose, scenarios } from './support/fixture.ts';
import { colorOf, isDark } from './support/readable.ts';

scenarios('the window', (fixture) => {
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
