/** The window that `culvert ui` serves: what is different in a browser, and what several pages and lost connections do. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Har } from '../../desktop/client/inspector/har.ts';
import type { Tunnel } from '../../shared/tunnel.ts';
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
import { chooseFromPalette, chooseOfLog, expose, signIn } from './support/fixture.ts';
import { sharedBrowser, sharedRelay } from './support/running-app.ts';
import { visit } from './support/visit.ts';

describe('the window in a browser', () => {
  const scope = testScope();

  /** @param expected errors that are part of the test */
  async function open(expected?: RegExp) {
    const browser = await sharedBrowser();
    const home = temporaryDirectory(scope);
    const program = await startUi(scope, home);
    const profile = await newProfile(scope, browser);
    const page = await openLink(scope, profile, program.link, expected);
    return { browser, home, program, profile, page };
  }

  /** The same, signed in with a key that is kept. */
  async function openSignedIn(expected?: RegExp) {
    const [opened, relay] = await Promise.all([open(expected), sharedRelay()]);
    const account = await createAccount(relay);
    await opened.page.getByLabel('In a file that only you can read').check();
    await signIn(opened.page, relay.url, account.key);
    await opened.page.getByRole('heading', { name: 'No tunnels yet' }).waitFor();
    return { ...opened, account };
  }

  it('opens in one browser with a link, which leaves no token, in no frame, and says that the program has ended', async () => {
    const { browser, home, program, page } = await open(PROGRAM_GONE);
    for (let loads = 0; loads < 2; loads += 1) {
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      assert.equal(page.url(), `${program.origin}/`);
      await page.reload();
    }
    const other = await newProfile(scope, browser);
    const failures = /403|401|Authentication failed/;
    for (const link of [program.link, program.origin]) {
      const late = await openLink(scope, other, link, failures);
      await late.getByRole('alert').getByText('This link is no longer valid').waitFor();
      assert.equal(await late.getByRole('button', { name: 'Sign in' }).count(), 0);
      await late.close();
    }
    const again = spawnCulvert(scope, ['ui', '--no-open'], uiEnvironment(home));
    const link = await again.line((line) => /^http:\S+$/.exec(line)?.[0]);
    assert.deepEqual(await again.exit(), { code: 0, signal: null });
    const opened = await openLink(scope, other, link, PROGRAM_GONE);
    await opened.getByRole('button', { name: 'Sign in' }).waitFor();

    const site = await startHttpService(scope, (_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<iframe src="${program.origin}/"></iframe>`);
    });
    const context = await browser.newContext();
    scope.defer(() => context.close());
    const framing = await context.newPage();
    await framing.goto(`http://localhost:${site.port}/`);
    await eventually(20_000, () => assert.match(framing.frames()[1]?.url() ?? '', /^chrome-error:/));
    await program.child.stop('SIGKILL');
    await page.getByText('The connection to culvert was lost').waitFor();
  });

  it('shows the same in two pages, with what a browser has, and connects again after a while', async () => {
    const { page, program, profile, home } = await openSignedIn();
    await page.getByRole('button', { name: 'Share a folder…' }).press('Enter');
    const path = page.getByRole('dialog', { name: 'Choose a folder' }).getByLabel('Path of the folder');
    await path.and(page.locator(':focus')).fill(home);
    await page.keyboard.press('Enter');
    const question = page.getByRole('dialog', { name: /^Share the folder/ });
    await question.waitFor();
    await page.keyboard.press('Escape');
    // Until it has gone, the port field takes no focus.
    await question.waitFor({ state: 'detached' });

    // Keys that the browser keeps for itself are not listed.
    await page.keyboard.press('?');
    const sheet = page.getByRole('dialog', { name: 'Keys of the window' });
    await sheet.getByText('Command palette').waitFor();
    assert.equal(await sheet.locator('kbd', { hasText: /^Ctrl\+[NO]$/ }).count(), 0);
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });

    const second = await openLink(scope, profile, program.origin);
    const service = await startHttpService(scope, (_request, response) => response.end('hello'));
    const slug = await expose(page, service.port);
    await second.locator(`.card[data-slug="${slug}"]`).getByText('Online').waitFor();
    await page.getByRole('button', { name: `Copy the address of ${slug}` }).click();
    await page.getByRole('button', { name: `Copied the address of ${slug}` }).waitFor();
    const url = (await page.evaluate<string[]>('outside.copied')).at(-1) ?? '';
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
    const inspect = spawnCulvert(scope, ['inspect', '--tunnel', slug, '--json'], uiEnvironment(home));
    assert.match(await inspect.line((line) => line), /"target":"\/one"/);
    await chooseFromPalette(page, `import ${slug}`);
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Choose a HAR file…' }).click(),
    ]);
    await chooser.setFiles(file);
    await page.getByText('This request was imported').waitFor();
    assert.equal(profile.pages().length, 2);
    await second.getByRole('button', { name: `Stop ${slug}` }).click();
    await page.keyboard.press('Control+n');
    await page.getByText('Stopped', { exact: true }).waitFor();

    program.child.kill('SIGSTOP');
    scope.defer(() => program.child.kill('SIGCONT'));
    await page.evaluate("dispatchEvent(new Event('focus'))");
    const lost = page.getByText('The connection to culvert was lost');
    await lost.waitFor();
    program.child.kill('SIGCONT');
    await lost.waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Theme').selectOption('dark');
    await page.locator('[data-theme=dark]').waitFor();
    // Nothing that only the app can do; a headless browser refuses notifications before anybody is asked.
    assert.equal(await page.getByRole('switch').count(), 1);
    for (const name of ['Quit Culvert', 'Start at login'])
      assert.equal(await page.getByText(name).count(), 0, name);
    await page.getByText(/blocks notifications|Allow notifications in this browser/).waitFor();
  });

  it('shows the requests of a tunnel that the command serves here, and sends them again, edited too', async () => {
    const { page, account, home, program } = await openSignedIn(PROGRAM_GONE);
    const relay = await sharedRelay();
    const service = await startHttpService(scope, ({ method, url }, response) => {
      response.setHeader('Content-Type', 'text/plain');
      response.end(`${method} ${url} was asked for`);
    });
    const env = { ...uiEnvironment(home), CULVERT_RELAY: relay.url, CULVERT_API_KEY: account.key };
    const command = spawnCulvert(scope, ['http', String(service.port), '--json'], env);
    const { tunnel } = JSON.parse(await command.line((line) => line)) as { tunnel: Tunnel };
    await visit(`${tunnel.public_url}/one`);
    const card = page.locator(`.card[data-slug="${tunnel.slug}"]`);
    await card.getByText('The command on this computer').waitFor();
    await card.getByRole('button', { name: `Requests ${tunnel.slug}` }).click();
    await page.getByRole('heading', { name: `Requests to ${tunnel.slug}` }).waitFor();
    await page.getByText('/one').first().waitFor();
    await visit(`${tunnel.public_url}/two`);
    await page.getByText('/two').first().waitFor();
    await page.getByText('/one').first().click();
    await page.getByText('GET /one was asked for').waitFor();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Sent again').first().waitFor();
    await page.getByRole('button', { name: 'Edit and send' }).click();
    await page.getByLabel('Path').fill('/edited');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByText('GET /edited was asked for').first().waitFor();
    assert.deepEqual(await program.child.stop('SIGINT'), { code: 0, signal: null });
    await command.stop('SIGINT');
  });

  it('keeps what it has for the next start, in files of this user only', async () => {
    const { account, home, program, browser } = await openSignedIn(PROGRAM_GONE);
    assert.deepEqual(await program.child.stop('SIGINT'), { code: 0, signal: null });
    assert.ok((await readFile(join(uiFolder(home), 'key.json'), 'utf8')).includes(account.key));
    const again = await startUi(scope, home);
    const other = await openLink(scope, await newProfile(scope, browser), again.link);
    await other.getByText(`${account.name} ·`).waitFor();
  });
});
