/** The window that `culvert ui` serves: what is different in a browser, and what several pages and lost connections do. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Har } from '../../desktop/client/inspector/har.ts';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { testScope } from '../support/scope.ts';
import { startHttpService } from '../support/services/listen.ts';
import {
  newProfile,
  openLink,
  PROGRAM_GONE,
  startUi,
  uiEnvironment,
  uiFolder,
} from './support/app-window.ts';
import { chooseOfLog, expose, signIn } from './support/fixture.ts';
import { sharedBrowser, sharedRelay } from './support/running-app.ts';
import { visit } from './support/visit.ts';

describe('the window in a browser', () => {
  const scope = testScope();

  /** @param expected errors that are part of the test */
  async function open(expected?: RegExp) {
    const [browser, relay] = await Promise.all([sharedBrowser(), sharedRelay()]);
    const home = temporaryDirectory(scope);
    const program = await startUi(scope, home);
    const profile = await newProfile(scope, browser);
    const page = await openLink(scope, profile, program.link, expected);
    const account = await createAccount(relay);
    const enter = async (): Promise<void> => {
      await signIn(page, relay.url, account.key);
      await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    };
    return { browser, home, program, profile, page, account, relay, enter };
  }

  it('leaves no token in its address, and needs none when it is loaded again', async () => {
    const { page, program } = await open();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    assert.equal(page.url(), `${program.origin}/`);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('opens in one browser with a link, and asks every other one for a new link', async () => {
    const { browser, home, program } = await open();
    const other = await newProfile(scope, browser);
    const failures = /403|401|Authentication failed/;
    for (const link of [program.link, program.origin]) {
      const page = await openLink(scope, other, link, failures);
      await page.getByRole('alert').getByText('This link is no longer valid').waitFor();
      assert.equal(await page.getByRole('button', { name: 'Sign in' }).count(), 0);
    }
    const again = spawnCulvert(scope, ['ui', '--no-open'], uiEnvironment(home));
    const link = await again.line((line) => /^http:\S+$/.exec(line)?.[0]);
    assert.deepEqual(await again.exit(), { code: 0, signal: null });
    const page = await openLink(scope, other, link);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  it('shows the same in two pages', async () => {
    const { page, profile, program, enter } = await open();
    await enter();
    const second = await openLink(scope, profile, program.origin);
    const service = await startHttpService(scope, (_request, response) => response.end());
    const slug = await expose(page, service.port);
    await second.locator(`.card[data-slug="${slug}"]`).getByText('Online').waitFor();
    await second.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.getByText('Stopped', { exact: true }).waitFor();
  });

  it('connects again after the program was stopped for a while, and says so', async () => {
    const { page, program, enter } = await open();
    await enter();
    program.child.kill('SIGSTOP');
    scope.defer(() => program.child.kill('SIGCONT'));
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await page.getByText('The connection to culvert was lost').waitFor();
    program.child.kill('SIGCONT');
    await page.getByText('The connection to culvert was lost').waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Theme').selectOption('dark');
    await page.locator('[data-theme=dark]').waitFor();
  });

  it('says that the program has ended', async () => {
    const { page, program } = await open(PROGRAM_GONE);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await program.child.stop('SIGKILL');
    await page.getByText('The connection to culvert was lost').waitFor({ timeout: 20_000 });
  });

  it('copies, downloads, and imports with what a browser has', async () => {
    const { page, profile, enter, home } = await open();
    await enter();
    const service = await startHttpService(scope, (_request, response) => response.end('hello'));
    const slug = await expose(page, service.port);
    await page.getByRole('button', { name: `Copy the address of ${slug}` }).click();
    await page.getByRole('button', { name: `Copied the address of ${slug}` }).waitFor();
    const copied = await page.evaluate<string[]>('outside.copied');
    const url = copied.at(-1) ?? '';
    await visit(`${url}/one`);
    await page.getByRole('button', { name: `All requests to ${slug}` }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), chooseOfLog(page, 'Export as HAR')]);
    const file = join(home, download.suggestedFilename());
    await download.saveAs(file);
    const har = JSON.parse(await readFile(file, 'utf8')) as Har;
    assert.deepEqual(
      har.log.entries.map(({ request }) => request.url),
      [`${url}/one`],
    );
    await importFile(page, slug, file);
    await page.getByText('This request was imported').waitFor();
    assert.equal(profile.pages().length, 1);
  });

  it('asks for the path of a folder', async () => {
    const { page, enter, home } = await open();
    await enter();
    page.once('dialog', (dialog) => void dialog.accept(home));
    await page.getByRole('button', { name: 'Share a folder…' }).press('Enter');
    await page.getByRole('dialog', { name: /^Share the folder/ }).waitFor();
  });

  it('shows nothing that only the app can do, and asks before it notifies', async () => {
    const { page, enter } = await open();
    await enter();
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Theme').waitFor();
    assert.equal(await page.getByRole('switch').count(), 1);
    for (const name of ['Quit Culvert', 'Start at login'])
      assert.equal(await page.getByText(name).count(), 0, name);
    // A headless browser refuses before anybody is asked.
    await page.getByText(/blocks notifications|Allow notifications in this browser/).waitFor();
  });

  it('cannot be framed', async () => {
    const { browser, program } = await open();
    const site = await startHttpService(scope, (_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<iframe src="${program.origin}/"></iframe>`);
    });
    const context = await browser.newContext();
    scope.defer(() => context.close());
    const page = await context.newPage();
    await page.goto(`http://localhost:${site.port}/`);
    await eventually(20_000, () => {
      const [, frame] = page.frames();
      assert.match(frame?.url() ?? '', /^chrome-error:/);
    });
  });

  it('keeps what it has for the next start, in files of this user only', async () => {
    const { page, relay, account, home, program, browser } = await open(PROGRAM_GONE);
    await page.getByLabel('In a plain file').check();
    await signIn(page, relay.url, account.key);
    await page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    assert.deepEqual(await program.child.stop('SIGINT'), { code: 0, signal: null });
    assert.ok((await readFile(join(uiFolder(home), 'key.json'), 'utf8')).includes(account.key));
    const again = await startUi(scope, home);
    const other = await openLink(scope, await newProfile(scope, browser), again.link);
    await other.getByText(`${account.name} ·`).waitFor();
  });
});

/** Imports a file by the field that the browser opens. */
async function importFile(page: Page, slug: string, file: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /^Find a tunnel/ }).fill(`import ${slug}`);
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: `Import into ${slug}` });
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    dialog.getByRole('button', { name: 'Choose a HAR file…' }).click(),
  ]);
  await chooser.setFiles(file);
}
