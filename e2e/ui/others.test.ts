/** Tunnels that the command has opened, as cards of the app. */
import assert from 'node:assert/strict';
import { Api } from '../support/api.ts';
import { Culvert } from '../support/programs.ts';
import { startHttpService } from '../support/services/listen.ts';
import { scenarios } from './support/fixture.ts';

scenarios('tunnels of the command', (fixture) => {
  it('are shown with their origin, copied, extended and stopped, until that is undone', async () => {
    const { app, page, account } = await fixture.openSignedIn();
    const site = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const command = await Culvert.start(fixture.scope, fixture.relay, account.key, site.port);
    const { slug, public_url: url } = command.tunnel;
    const other = page
      .getByRole('region', { name: 'Opened elsewhere' })
      .locator(`.card[data-slug="${slug}"]`);
    await other.getByText('The command on this computer').waitFor();
    await other.getByText('Online').waitFor();

    await other.getByRole('button', { name: `Copy the address of ${slug}` }).click();
    await other.getByText('Copied').waitFor();
    assert.deepEqual(await app.copied(), [url]);

    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Find a tunnel/ }).fill(`copy ${slug}`);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText(url).waitFor();
    assert.deepEqual(await app.copied(), [url, url]);
    await page.keyboard.press('Escape');

    const api = new Api(fixture.relay, account.key);
    const [before] = await api.list();
    await other.getByRole('button', { name: `Extend ${slug}` }).click();
    await other.getByRole('button', { name: '+1 h' }).click();
    await other.getByRole('button', { name: '+1 h' }).waitFor({ state: 'detached' });
    const [after] = await api.list();
    assert.equal(Date.parse(after?.expires_at ?? '') - Date.parse(before?.expires_at ?? ''), 3_600_000);

    await other.getByRole('button', { name: `Stop ${slug}` }).click();
    await other.getByText('Stopping').waitFor();
    await page.getByRole('button', { name: new RegExp(`^Undo: ${slug}`) }).click();
    await other.getByText('Online').waitFor();
  });
});
