import assert from 'node:assert/strict';
import { eventually } from '../support/deadline.ts';
import { startHttpService } from '../support/services/listen.ts';
import { chooseOfLog, card, expose, scenarios } from './support/fixture.ts';
import { visit } from './support/visit.ts';

scenarios('undo', (fixture) => {
  /** A tunnel that a visitor has used. */
  async function exposed() {
    const opened = await fixture.openSignedIn();
    const { port } = await startHttpService(fixture.scope, (_, response) => response.end('hello'));
    const slug = await expose(opened.page, port);
    const { url } = await opened.app.tunnel();
    assert.equal((await visit(`${url}/seen`)).body, 'hello');
    await opened.page.getByRole('button', { name: 'GET /seen 200' }).waitFor();
    return { ...opened, slug, url };
  }

  it('restores a stopped tunnel, with its address', async () => {
    const { page, slug, url } = await exposed();
    await page.getByRole('button', { name: `Stop ${slug}` }).click();
    await card(page, slug).getByText('Stopped', { exact: true }).waitFor();
    const visitor = visit(`${url}/meanwhile`);
    await page.getByRole('button', { name: `Undo: Stopped ${slug}.` }).click();
    await card(page, slug).getByText('Online').waitFor();
    assert.equal(
      (await visitor).body,
      'hello',
      'the relay lets visitors wait for a tunnel that may come back',
    );
    assert.equal((await visit(url)).body, 'hello');
  });

  it('restores stopped and removed tunnels with the keyboard', async () => {
    const { page, slug, url } = await exposed();
    await page.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.getByRole('button', { name: `Remove ${slug}` }).click();
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    // A field handles the key itself. The heading is not a field.
    await page.getByRole('heading', { name: 'No tunnels yet' }).click();
    await page.keyboard.press('Control+z');
    await card(page, slug).waitFor();
    await page.keyboard.press('Control+z');
    await card(page, slug).getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'hello');
  });

  it('restores a cleared log, including new requests', async () => {
    const { page, slug, url } = await exposed();
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    const rows = page.locator('.log .target');
    await rows.getByText('/seen').waitFor();
    await chooseOfLog(page, 'Clear');
    await page.getByText('No requests yet').waitFor();
    await visit(`${url}/late`);
    await page.getByRole('button', { name: `Undo: Cleared the log of ${slug}.` }).click();
    await eventually(20_000, async () => assert.deepEqual(await rows.allInnerTexts(), ['/late', '/seen']));
  });

  it('restores a sign-out, with key, tunnels and addresses', async () => {
    const { page, slug, url } = await exposed();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.getByRole('button', { name: /^Undo: You signed out/ }).click();
    await card(page, slug).getByText('Online').waitFor();
    assert.equal((await visit(url)).body, 'hello');
  });
});
