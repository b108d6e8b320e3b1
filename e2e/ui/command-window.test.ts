/** The window of `culvert http`, `start` and `run`: the tunnels that the command serves, from `--ui` or the key `w`. */
import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Page } from 'playwright-core';
import { createAccount } from '../support/accounts.ts';
import type { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { CULVERT_SCRIPT, Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { RawConnection } from '../support/raw-http.ts';
import { testScope } from '../support/scope.ts';
import { closedPorts, startHttpService, startRawService } from '../support/services/listen.ts';
import { Terminal } from '../support/terminal.ts';
import { newProfile, openLink, PROGRAM_GONE } from './support/app-window.ts';
import { card, chooseMore } from './support/fixture.ts';
import { violations } from './support/readable.ts';
import { sharedBrowser, sharedRelay } from './support/running-app.ts';
import { visit } from './support/visit.ts';

const LINK = /http:\/\/127\.0\.0\.1:\d+\/#[\w-]{22}/;

/** Channels that create or close tunnels, or that reach the account or the files. */
const REFUSED = [
  'session:sign-out session:sign-in invitation:open team:show domain:list folder:choose project:choose',
  'app:quit app:update tunnel:create tunnel:stop tunnel:start tunnel:forget',
].flatMap((names) => names.split(' '));

/** Waits until a command prints the link to its window. */
function linkOf(child: Child): Promise<string> {
  return eventually(30_000, () => LINK.exec(child.stderr)?.[0] ?? assert.fail(child.output));
}

describe('the window of a command', () => {
  const scope = testScope();

  async function environment() {
    const relay = await sharedRelay();
    const { key } = await createAccount(relay);
    const home = temporaryDirectory(scope);
    return {
      HOME: home,
      XDG_CONFIG_HOME: join(home, 'config'),
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: key,
    };
  }

  async function open(link: string, expected?: RegExp): Promise<Page> {
    return openLink(scope, await newProfile(scope, await sharedBrowser()), link, expected);
  }

  const service = () =>
    startHttpService(scope, ({ url }, response) => {
      response.setHeader('Content-Type', 'text/plain');
      response.end(`you asked for ${url}`);
    });

  it('of http shows its requests, sends them again, and changes the access; nothing else', async () => {
    const { port } = await service();
    const env = await environment();
    const child = spawnCulvert(scope, ['http', String(port), '--ui'], env);
    const page = await open(await linkOf(child), PROGRAM_GONE);
    const tunnel = page.locator('.card', { hasText: `localhost:${port}` });
    await tunnel.getByText('Online').waitFor();
    const slug = (await tunnel.getAttribute('data-slug')) ?? '';
    const [url = ''] = /http:\/\/\S+localhost:\d+/.exec(child.output) ?? [];
    await visit(`${url}/one`);
    await tunnel.getByText('/one').click();
    await page.getByText('you asked for /one').waitFor();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Sent again').first().waitFor();
    await page.getByRole('button', { name: 'More actions', exact: true }).click();
    assert.equal(await page.getByRole('menuitem', { name: /^Save/ }).count(), 0);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Back' }).click();
    for (const name of ['Expose', `Stop ${slug}`, 'Share a folder…'])
      assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    assert.deepEqual(await violations(page), []);
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByText('It forgets these settings when the command ends').waitFor();
    await page.getByLabel('Theme').selectOption('dark');
    await page.locator('[data-theme=dark]').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Sign out' }).count(), 0);
    await page.getByRole('button', { name: 'Back' }).click();
    await tunnel.locator('[id^=lock-]').click();
    await page.getByRole('radio', { name: 'Password' }).check();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: `Who has access to ${slug}: Password` }).waitFor();
    await page.getByRole('button', { name: 'Apply' }).waitFor({ state: 'detached' });
    assert.ok(!(await visit(`${url}/two`)).body.includes('you asked'));
    const called = JSON.stringify(REFUSED);
    const codes = await page.evaluate<string[]>(
      `Promise.all(${called}.map(async (name) => (await culvert.call(name, {})).error?.code))`,
    );
    for (const [index, channel] of REFUSED.entries()) assert.equal(codes[index], 'no-such-method', channel);
    assert.equal(readdirSync(env.HOME).length, 0, 'it stores nothing');
    assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
    await page.getByText('The connection to culvert was lost').waitFor({ timeout: 20_000 });
  });

  it('of tcp shows connections and who may connect, and nothing of HTTP', async () => {
    const relay = await Relay.start(scope, { CULVERT_TCP_PORTS: await closedPorts(4) });
    const [env, { key }] = await Promise.all([environment(), createAccount(relay, { plan: 'team' })]);
    const { port } = await startRawService(
      scope,
      (socket) => void socket.once('data', (bytes) => socket.end(`${String(bytes)}, world`)),
    );
    const own = { ...env, CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
    const child = spawnCulvert(scope, ['tcp', String(port), '--ui'], own);
    const page = await open(await linkOf(child));
    const tunnel = page.locator('.card', { hasText: 'tcp://' });
    await tunnel.getByText('Online').waitFor();
    assert.equal(await page.locator('.qr, .waiting').count(), 0);
    const connect = (): Promise<RawConnection> =>
      RawConnection.open(scope, Number(/tcp:\/\/localhost:(\d+)/.exec(child.output)?.[1]));
    const visitor = await connect();
    const address = `127.0.0.1:${visitor.socket.localPort}`;
    const row = page.getByRole('button', { name: `TCP ${address}` });
    await row.getByText('open').waitFor();
    await visitor.write(Buffer.from('hello'));
    assert.equal(await visitor.ending, 'end');
    await row.getByText('ended').waitFor();
    await row.getByText('5 B in, 12 B out').waitFor();
    await row.click();
    await page.getByRole('heading', { name: `TCP ${address}` }).waitFor();
    assert.deepEqual(await violations(page), []);
    const OF_HTTP = /^(Open|Copy as curl|Replay|Edit|QR)/;
    const none = async () => assert.equal(await page.getByRole('button', { name: OF_HTTP }).count(), 0);
    await none();
    await page.getByRole('button', { name: 'Back' }).click();
    await none();
    await page.getByRole('button', { name: /^All connections to/ }).click();
    const log = page.getByRole('searchbox', { name: 'Search connections' });
    assert.equal(await log.getAttribute('placeholder'), 'Search addresses  ( / )');
    await none();
    assert.doesNotMatch(await page.locator('.screen', { has: log }).innerText(), /request|[45]xx/i);
    await page.getByRole('list', { name: 'Connections' }).getByText(address).click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Only this address' }).click();
    assert.equal(await log.inputValue(), '127.0.0.1');
    await page.getByRole('button', { name: 'More actions for the connections' }).click();
    assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), ['Clear']);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Back' }).click();
    await tunnel.locator('[id^=lock-]').click();
    const kinds = page.locator('.lock-form .chip');
    assert.deepEqual(await kinds.allInnerTexts(), ['Anyone', 'These addresses']);
    await kinds.getByText('These addresses').click();
    await page.getByRole('textbox', { name: 'IP addresses and ranges' }).fill('192.0.2.0/24');
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('button', { name: /^Who has access to .*: These addresses/ }).waitFor();
    // The service would wait for it to speak.
    await (
      await connect()
    ).ending;
  });

  it('of start has the names of the project, beside the window of another command', async () => {
    const [one, two] = await Promise.all([service(), service()]);
    const env = await environment();
    const folder = temporaryDirectory(scope);
    const file = join(folder, 'culvert.yml');
    writeFileSync(file, `tunnels:\n  web: {port: ${one.port}}\n  api: {port: ${two.port}, knock: true}\n`);
    const child = spawnCulvert(scope, ['start', '--config', file, '--ui'], env);
    const other = spawnCulvert(scope, ['http', String(one.port), '--ui'], env);
    const [page, alone] = await Promise.all([
      linkOf(child).then((link) => open(link)),
      linkOf(other).then((link) => open(link)),
    ]);
    for (const label of ['web', 'api'])
      await page
        .locator('.card', { hasText: `${basename(folder)} / ${label}` })
        .getByText('Online')
        .waitFor();
    await alone.getByText('Online').waitFor();
    assert.equal(await page.locator('.card').count(), 2);
    assert.equal(await alone.locator('.card').count(), 1);
  });

  it('of run leaves the terminal to the command, and ends with it', async () => {
    const env = await environment();
    const server = `require('node:http').createServer((q, s) => q.url === '/end' ? process.exit(7) : s.end('from run')).listen(process.env.PORT, '127.0.0.1')`;
    const child = spawnCulvert(scope, ['run', '--ui', '--', process.execPath, '-e', server], env);
    const page = await open(await linkOf(child), PROGRAM_GONE);
    await page.getByText('Online').waitFor();
    const [url = ''] = /http:\/\/\S+localhost:\d+/.exec(child.stderr) ?? [];
    await eventually(20_000, async () => assert.equal((await visit(`${url}/hello`)).body, 'from run'));
    await page.getByText('/hello').first().waitFor();
    assert.equal(child.lines.length, 0);
    await visit(`${url}/end`);
    assert.deepEqual(await child.exit(), { code: 7, signal: null });
  });

  it('opens with w in the view, which shows its link until it is used', async () => {
    const { port } = await service();
    const env = await environment();
    const terminal = new Terminal(scope, `${process.execPath} ${CULVERT_SCRIPT} http ${port}`, {
      ...env,
      DISPLAY: '',
      WAYLAND_DISPLAY: '',
    });
    const url = /Address +(\S+)/.exec(await terminal.shows(/Online[^]*No requests yet/))?.[1] ?? '';
    await visit(`${url}/before`);
    terminal.type('w');
    const link = LINK.exec(await terminal.shows(LINK))?.[0] ?? '';
    const page = await open(link, PROGRAM_GONE);
    await page.getByText('/before').first().waitFor();
    await terminal.shows(/Window {7}http:\/\/127\.0\.0\.1:\d+$/m);
    const slug = (await page.locator('.card').getAttribute('data-slug')) ?? '';
    await card(page, slug).getByText('/before').click();
    await chooseMore(page, 'Export as HAR');
    terminal.type('w');
    await open(LINK.exec(await terminal.shows(LINK))?.[0] ?? '', PROGRAM_GONE);
    terminal.type('\u{3}');
    await terminal.shows(/Tunnel closed/);
  });
});
