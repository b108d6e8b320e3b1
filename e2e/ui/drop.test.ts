/** A folder that is dropped on the window: a question, an hour for visitors, and nothing by mistake. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '../support/programs.ts';
import { appScenarios, card, scenarios } from './support/fixture.ts';
import { violations } from './support/readable.ts';
import { visit } from './support/visit.ts';

appScenarios('a folder that is dropped', (fixture) => {
  function makeSite(): string {
    const site = join(temporaryDirectory(fixture.scope), 'holiday pictures');
    mkdirSync(site);
    writeFileSync(join(site, 'hello.txt'), 'hello from a folder');
    writeFileSync(join(site, '.env'), 'SECRET=1');
    return site;
  }

  it('is shared for an hour once confirmed, stopped, and restored by undo', async () => {
    const { app, page, drop } = await fixture.openSignedIn();
    await drop([makeSite()]);
    const dialog = page.getByRole('dialog', { name: 'Share the folder holiday pictures?' });
    await dialog.getByText('Anyone who has the address can read the folder for one hour.').waitFor();
    assert.deepEqual(await violations(page), []);
    await dialog.getByRole('button', { name: 'Share for 1 h' }).click();
    await page.locator('.card', { hasText: 'folder holiday pictures' }).getByText('Online').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.deepEqual(await violations(page), []);
    const { slug, ttl, url } = await app.tunnel();
    assert.equal(ttl, 3600);
    const get = async (path: string): Promise<string> => (await visit(new URL(path, url).href)).body;
    assert.equal(await get('/hello.txt'), 'hello from a folder');
    assert.equal(await get('/.env'), 'Not found\n');
    await card(page, slug).getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await card(page, slug).getByText('Online').waitFor();
    assert.equal(await get('/hello.txt'), 'hello from a folder');
  });

  it('can be chosen with the keyboard, in the palette and beside the port', async () => {
    const { app, page } = await fixture.openSignedIn();
    await app.chooseNext(makeSite());
    const dialog = page.getByRole('dialog', { name: 'Share the folder holiday pictures?' });
    await page.getByRole('button', { name: 'Share a folder…' }).press('Enter');
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.keyboard.press('ControlOrMeta+k');
    await page.keyboard.type('share a folder');
    await page.keyboard.press('Enter');
    await dialog.getByRole('button', { name: 'Share for 1 h' }).click();
    await page.locator('.card', { hasText: 'folder holiday pictures' }).getByText('Online').waitFor();
  });

  it('is not shared by Enter or Esc', async () => {
    const { page, drop } = await fixture.openSignedIn();
    const site = makeSite();
    for (const key of ['Enter', 'Escape']) {
      await drop([site]);
      await page.getByRole('dialog', { name: /^Share the folder/ }).waitFor();
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    assert.equal(await page.locator('.card').count(), 0);
  });

  it('is the only thing accepted: a file or several items get an explanation', async () => {
    const { page, drop } = await fixture.openSignedIn();
    const site = makeSite();
    for (const [paths, words] of [
      [[join(site, 'hello.txt')], 'is not a folder. Choose one folder that you can read.'],
      [[site, site], 'Drop one folder at a time.'],
    ] as const) {
      await drop(paths);
      const dialog = page.getByRole('dialog', { name: 'This cannot be shared' });
      await dialog.getByText(words).waitFor();
      assert.deepEqual(await violations(page), []);
      await dialog.getByRole('button', { name: 'Close' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
  });
});

scenarios('a folder that a page names', (fixture) => {
  it('is not shared', async () => {
    const { page } = await fixture.openSignedIn();
    const given = JSON.stringify({ paths: [temporaryDirectory(fixture.scope)] });
    const answer = await page.evaluate(`culvert.call('folder:drop', ${given}).then(JSON.stringify, String)`);
    assert.match(String(answer), /no.such.channel/);
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.locator('.card').count(), 0);
  });
});
