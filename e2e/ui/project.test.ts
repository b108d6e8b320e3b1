/** The tunnels of a project, opened in the window: shown in detail, started on request, each with its access. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/deadline.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { startHttpService } from '../support/services/listen.ts';
import { appScenarios } from './support/fixture.ts';
import { violations } from './support/readable.ts';
import { reads, visit } from './support/visit.ts';

appScenarios('a project that is opened', (fixture) => {
  function makeProject(text: string): string {
    const folder = join(temporaryDirectory(fixture.scope), 'web shop');
    mkdirSync(join(folder, 'public'), { recursive: true });
    writeFileSync(join(folder, 'public', 'hello.txt'), 'hello from a project');
    writeFileSync(join(folder, 'culvert.yml'), text);
    return folder;
  }

  it('shows its tunnels, and starts the chosen ones with their access', async () => {
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
    assert.deepEqual(await violations(page), []);
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
    await page.keyboard.press('ControlOrMeta+k');
    await page.keyboard.type('project web shop');
    await page.keyboard.press('Enter');
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

  it('is offered with a dropped folder, and keeps a tunnel that could not be started, with the reason', async () => {
    const { app, page, drop } = await fixture.openSignedIn();
    await drop([makeProject('tunnels: {web: {port: 3000, name: web-shop}, long: {port: 3001, ttl: 1000h}}')]);
    const question = page.getByRole('dialog', { name: 'Share the folder web shop?' });
    await question.getByText('This folder also has a culvert.yml').waitFor();
    assert.deepEqual(await violations(page), []);
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
    await page.keyboard.press('ControlOrMeta+k');
    await page.keyboard.type('project web shop');
    await page.keyboard.press('Enter');
    await dialog.getByText('Already online').waitFor();
  });

  it('is not started by Enter or Esc, and not opened with mistakes, which are shown with their lines', async () => {
    const { app, page } = await fixture.openSignedIn();
    const folder = makeProject('tunnels: {web: {port: 3000}}');
    await app.chooseNext(folder);
    for (const key of ['Enter', 'Escape']) {
      await page.getByRole('button', { name: 'Open a project…' }).click();
      await page.getByRole('dialog', { name: /^Start the tunnels of/ }).waitFor();
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    writeFileSync(join(folder, 'culvert.yml'), 'tunnels:\n  web:\n    prot: 3000\n');
    await page.getByRole('button', { name: 'Open a project…' }).click();
    const dialog = page.getByRole('dialog', { name: 'This project cannot be opened' });
    await reads(dialog, /culvert\.yml:3: tunnels\.web\.prot: is unknown\. Did you mean port\?/);
    assert.deepEqual(await violations(page), []);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await page.locator('.card').count(), 0);
  });
});
