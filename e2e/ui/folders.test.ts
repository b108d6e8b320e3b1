/** A folder that is dropped or chosen, and the project in it: a question first, then tunnels with their access. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { eventually } from '../support/deadline.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { startHttpService } from '../support/services/listen.ts';
import { appScenarios, card, chooseFromPalette, scenarios, speakGerman } from './support/fixture.ts';
import { reads, visit } from './support/visit.ts';

/** Asserts that neither Enter nor Esc confirms a question. */
async function assertNotConfirmedByKey(page: Page, ask: () => Promise<void>): Promise<void> {
  for (const key of ['Enter', 'Escape']) {
    await ask();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press(key);
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  assert.equal(await page.locator('.card').count(), 0);
}

appScenarios('a folder', (fixture) => {
  function makeSite(): string {
    const site = join(temporaryDirectory(fixture.scope), 'holiday pictures');
    mkdirSync(site);
    writeFileSync(join(site, 'hello.txt'), 'hello from a folder');
    writeFileSync(join(site, '.env'), 'SECRET=1');
    return site;
  }

  it('is dropped alone, shared for an hour once confirmed, stopped, and restored by undo', async () => {
    const { app, page, drop } = await fixture.openSignedIn();
    const site = makeSite();
    for (const [paths, words] of [
      [[join(site, 'hello.txt')], 'is not a folder. Choose one folder that you can read.'],
      [[site, site], 'Drop one folder at a time.'],
    ] as const) {
      await drop(paths);
      const refusal = page.getByRole('dialog', { name: 'This cannot be shared' });
      await refusal.getByText(words).waitFor();
      await refusal.getByRole('button', { name: 'Close' }).click();
      await refusal.waitFor({ state: 'detached' });
    }
    await assertNotConfirmedByKey(page, () => drop([site]));
    await drop([site]);
    const dialog = page.getByRole('dialog', { name: 'Share the folder holiday pictures?' });
    await dialog.getByText('Anyone who has the address can read the folder for one hour.').waitFor();
    await dialog.getByRole('button', { name: 'Share for 1 h' }).click();
    await page.locator('.card', { hasText: 'folder holiday pictures' }).getByText('Online').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
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
    await chooseFromPalette(page, 'share a folder');
    await dialog.getByRole('button', { name: 'Share for 1 h' }).click();
    await page.locator('.card', { hasText: 'folder holiday pictures' }).getByText('Online').waitFor();
  });

  function makeProject(text: string): string {
    const folder = join(temporaryDirectory(fixture.scope), 'web shop');
    mkdirSync(join(folder, 'public'), { recursive: true });
    writeFileSync(join(folder, 'public', 'hello.txt'), 'hello from a project');
    writeFileSync(join(folder, 'culvert.yml'), text);
    return folder;
  }

  it('of a project shows its tunnels, and starts the chosen ones with their access', async () => {
    const { port } = await startHttpService(fixture.scope, (_, response) =>
      response.end('hello from a port'),
    );
    const { app, page } = await fixture.openSignedIn();
    await app.chooseNext(
      makeProject(`tunnels:
  web: {port: ${port}, password: mild-oak-tree}
  docs: {share: ./public, ttl: 30m, auth: 'ann:secret-word-1', links: true}
  api: {port: 4000, auth: "ann:\${CULVERT_UI_UNSET}"}
  nas: {port: 80, local_host: 192.0.2.7}
`),
    );
    await page.getByRole('button', { name: 'Open a project…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start the tunnels of web shop?' });
    const row = (label: string) => dialog.getByRole('listitem').filter({ hasText: label });
    await reads(
      row('web'),
      new RegExp(`random address → \\s*forwards to\\s+http://localhost:${port}\\s+Password`),
    );
    await reads(row('docs'), /\.\/public\s+Users · Links · for 30m/);
    await reads(row('nas'), /another machine, 192\.0\.2\.7.*--allow-other-hosts/);
    await reads(
      row('api'),
      /auth: the variable CULVERT_UI_UNSET is not set.*needs the variable to restrict access/,
    );
    for (const label of ['api', 'nas'])
      assert.equal(await dialog.getByRole('checkbox', { name: label }).isDisabled(), true);
    assert.equal(await page.locator('.card').count(), 0);
    await dialog.getByRole('checkbox', { name: 'docs' }).uncheck();
    await dialog.getByRole('button', { name: 'Start 1 tunnel' }).click();
    await dialog.waitFor({ state: 'detached' });
    const web = page.locator('.card', { hasText: `localhost:${port}` });
    await web.getByText('Online').waitFor();
    await web.getByText('mild-oak-tree').waitFor();
    // The pressed button is gone with the empty list.
    await web.locator('button:focus').waitFor();
    assert.ok(!(await visit((await app.tunnel()).url)).body.includes('hello'), 'its password is asked for');
    // The palette offers it again, by its name.
    await chooseFromPalette(page, 'project web shop');
    await dialog.getByRole('checkbox', { name: 'web' }).uncheck();
    await dialog.getByRole('button', { name: 'Start 1 tunnel' }).click();
    await page.locator('.card', { hasText: 'folder public' }).getByText('Online').waitFor();
    const { url, ttl } = await app.tunnel();
    assert.equal(ttl, 1800);
    const hello = new URL('/hello.txt', url).href;
    assert.equal((await visit(hello)).status, 401);
    const authorization = `Basic ${Buffer.from('ann:secret-word-1').toString('base64')}`;
    assert.equal((await visit(hello, { headers: { authorization } })).body, 'hello from a project');
    // The other tunnel admits visitors by links, which are created here.
    const docs = page.locator('.card', { hasText: 'folder public' });
    await docs.getByText('Users · Links, set by a project or another program').waitFor();
    await docs.getByRole('button', { name: /^Create a link to/ }).click();
    await docs.getByRole('button', { name: 'Create and copy link' }).click();
    await eventually(10_000, async () => assert.match((await app.copied()).join(), /culvert_pass/));
  });

  it('that has a project offers it when dropped, and keeps a tunnel that could not be started, with the reason', async () => {
    const { app, page, drop } = await fixture.openSignedIn();
    await drop([makeProject('tunnels: {web: {port: 3000, name: web-shop}, long: {port: 3001, ttl: 1000h}}')]);
    const question = page.getByRole('dialog', { name: 'Share the folder web shop?' });
    await question.getByText('This folder also has a culvert.yml').waitFor();
    await question.getByRole('button', { name: 'Show tunnels' }).click();
    const dialog = page.getByRole('dialog', { name: 'Start the tunnels of web shop?' });
    await dialog.getByRole('button', { name: 'Start 2 tunnels' }).click();
    await reads(dialog.getByRole('listitem').filter({ hasText: 'long' }), /ttl/i);
    await dialog.getByText('Started').waitFor();
    await dialog.getByRole('button', { name: 'Start 1 tunnel' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal((await app.tunnel()).slug, 'web-shop');
    // Once more: it knows which tunnels exist.
    await chooseFromPalette(page, 'project web shop');
    await dialog.getByText('Already online').waitFor();
  });

  it('of a project is not started by Enter or Esc, nor opened with mistakes, which are shown line by line, also in German', async () => {
    const { app, page } = await fixture.openSignedIn();
    const folder = makeProject('tunnels: {web: {port: 3000}}');
    const file = join(folder, 'culvert.yml');
    await app.chooseNext(folder);
    const open = page.getByRole('button', { name: /^Open a project…$|^Projekt öffnen …$/ });
    await assertNotConfirmedByKey(page, () => open.click());
    writeFileSync(
      file,
      `tunnels:
  web:
    port: 99999
    prot: 3000
  api:
    port: 4000
    idle: 1
    password: hid
    allow: 10.0.0.0/99
    auth: ['ann:\${NOT SET}']
  docs:
    share: ../others
`,
    );
    await open.click();
    const dialog = page.getByRole('dialog', { name: 'This project cannot be opened' });
    await reads(dialog, /culvert\.yml:4: tunnels\.web\.prot: is unknown\. Did you mean port\?/);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    await speakGerman(page);
    await open.click();
    const german = page.getByRole('dialog', { name: 'Dieses Projekt lässt sich nicht öffnen' });
    const words = german.locator('.project-problem');
    await words.waitFor();
    assert.deepEqual((await words.innerText()).replaceAll(file, 'FILE').split('\n'), [
      'FILE:3: tunnels.web.port: ist 99999; erlaubt: eine ganze Zahl von 1 bis 65535.',
      'FILE:4: tunnels.web.prot: ist unbekannt; ist port gemeint?',
      'FILE:7: tunnels.api.idle: ist 1; erlaubt: true oder false.',
      'FILE:8: tunnels.api.password: erlaubt: 4 bis 128 Zeichen.',
      'FILE:9: tunnels.api.allow: "10.0.0.0/99" geht nicht; erlaubt: eine Adresse oder ein Netz, etwa 192.0.2.7 oder 10.0.0.0/8.',
      'FILE:10: tunnels.api.auth: ${…} nimmt den Namen einer Variablen, etwa ${PASSWORD}; $${ steht für ${.',
      'FILE:12: tunnels.docs.share: ist "../others"; erlaubt: der Pfad eines Ordners im Ordner von culvert.yml, etwa ./public.',
    ]);
    await german.getByRole('button', { name: 'Schließen' }).click();
    await german.waitFor({ state: 'detached' });
    assert.equal(await page.locator('.card').count(), 0);
  });
});

scenarios('a folder that a page names', (fixture) => {
  it('is not shared', async () => {
    const { page } = await fixture.openSignedIn();
    const given = JSON.stringify({ paths: [temporaryDirectory(fixture.scope)] });
    const answer = await page.evaluate(`culvert.call('folder:drop', ${given}).then(JSON.stringify, String)`);
    assert.match(String(answer), /"no-such-method"/);
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.equal(await page.locator('.card').count(), 0);
  });
});
