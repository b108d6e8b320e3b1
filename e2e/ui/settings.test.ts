import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '../../shared/version.ts';
import { eventually } from '../support/deadline.ts';
import { assertReadable } from './support/readable.ts';
import { appScenarios } from './support/fixture.ts';

appScenarios('settings', (fixture) => {
  it('take effect immediately, and survive a restart', async () => {
    const { page, app, directory } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Notifications').uncheck();
    await page.getByLabel('Theme').selectOption('dark');
    await page.getByLabel('Recorded part of each body').selectOption('1 MiB');
    await page.getByLabel('Tunnels when Culvert quits').selectOption('leave');
    await page.locator('html[data-theme="dark"]').waitFor();
    await eventually(20_000, () =>
      assert.match(readFileSync(join(directory, 'culvert.json'), 'utf8'), /"leave"/),
    );
    assert.equal(await app.theme(), 'dark');

    const { page: again } = await fixture.open(directory);
    await again.locator('html[data-theme="dark"]').waitFor();
    await again.getByRole('button', { name: 'Settings' }).click();
    assert.equal(await again.getByLabel('Notifications').isChecked(), false);
    assert.equal(await again.getByLabel('Theme').inputValue(), 'dark');
    assert.equal(await again.getByLabel('Recorded part of each body').inputValue(), String(1024 * 1024));
    assert.equal(await again.getByLabel('Tunnels when Culvert quits').inputValue(), 'leave');
  });

  it('switch to German immediately, also after a restart, and back to English', async () => {
    const { page, directory } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Language').selectOption('de');
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor();
    await page.locator('html[lang="de"]').waitFor();
    await page.getByRole('button', { name: 'Zurück' }).click();
    await page.getByRole('heading', { name: 'Noch keine Tunnel' }).waitFor();
    // Texts of main are also in German.
    await page.getByRole('button', { name: 'Einstellungen' }).click();
    await page.getByRole('button', { name: 'Abmelden' }).click();
    await page.getByText('Sie sind abgemeldet.').waitFor();
    await page.getByRole('button', { name: /^Rückgängig machen: / }).click();
    await eventually(20_000, () =>
      assert.match(readFileSync(join(directory, 'culvert.json'), 'utf8'), /"language": *"de"/),
    );

    const { page: again } = await fixture.open(directory);
    await again.getByRole('button', { name: 'Einstellungen' }).click();
    await again.getByLabel('Sprache').selectOption('en');
    await again.getByRole('heading', { name: 'Settings' }).waitFor();
    await again.locator('html[lang="en"]').waitFor();
  });

  it('report that the system refuses a shortcut, and keep the previous one', async () => {
    const { page } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Settings' }).click();
    const shortcut = page.getByLabel('Global shortcut');
    assert.equal(await shortcut.inputValue(), 'CommandOrControl+Alt+Shift+C');
    await shortcut.selectOption('Alt+Shift+C');
    await page.getByText('Your system did not accept this shortcut').waitFor();
    await eventually(20_000, async () =>
      assert.equal(await shortcut.inputValue(), 'CommandOrControl+Alt+Shift+C'),
    );
    await shortcut.selectOption('off');
    await page.getByText('Your system did not accept this shortcut').waitFor({ state: 'detached' });
    await assertReadable(page, 'settings');
  });

  it('start the app at login', async () => {
    const { page, directory } = await fixture.openSignedIn();
    const entry = join(directory, 'config/autostart/culvert.desktop');
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Start at login').check();
    await eventually(20_000, () => assert.equal(existsSync(entry), true));
    await page.getByLabel('Start at login').uncheck();
    await eventually(20_000, () => assert.equal(existsSync(entry), false));
  });

  it('show the relay, the account, the storage of the key, versions and licences', async () => {
    const { page, app, account } = await fixture.openSignedIn();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByText(fixture.relay.url).waitFor();
    await page.getByText(`${account.name}, Dev plan`).waitFor();
    await page.getByText('encrypted by the operating system').waitFor();
    await page.getByRole('button', { name: 'About and licences' }).click();
    await page.getByText(`Culvert ${VERSION}`).waitFor();
    await page.getByRole('button', { name: 'Source code' }).click();
    await eventually(20_000, async () => assert.equal((await app.opened()).length, 1));
  });
});
