import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import { eventually } from '../support/deadline.ts';
import { CULVERT_SCRIPT, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { relaySuite } from '../support/relay-suite.ts';
import { startEchoService } from '../support/services/echo.ts';
import { closedPort, type HttpService } from '../support/services/listen.ts';
import { Terminal } from '../support/terminal.ts';

const CTRL_C = '\u{3}';

describe('culvert on a terminal', () => {
  const { scope, relay, pool } = relaySuite();
  let service: HttpService;

  before(async () => {
    service = await startEchoService(scope);
  });

  /**
   * Runs `culvert` and compares the terminal's state before and after; `code N` and `restored` are printed when it
   * exits.
   */
  async function open(args: string, environment: Record<string, string> = {}, columns?: number) {
    const { key, api } = await pool.take();
    const command = `before=$(stty -g); ${process.execPath} ${CULVERT_SCRIPT} ${args}; echo "code $?"; [ "$before" = "$(stty -g)" ] && echo restored`;
    const access = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, XDG_CONFIG_HOME: '/nonexistent' };
    return { terminal: new Terminal(scope, command, { ...access, ...environment }, columns), api };
  }

  const request = (target: string, name: string) =>
    visit(relay.port, { host: `${name}.localhost:${relay.port}`, target });

  it('shows status, address, countdown, requests and counters, and leaves the terminal as it was', async () => {
    const { terminal, api } = await open(`http ${service.port} --name viewed`);
    const first = await terminal.shows(/● Online[^]*No requests yet/);
    assert.ok(first.includes(`Address      http://viewed.localhost:${relay.port}\n`), first);
    assert.match(first, /Expires {6}in (?:1 h|59 min), /);
    assert.ok(terminal.screen.isAlternate && !terminal.screen.isCursorShown && terminal.screen.hasColour);
    const [tunnel] = await api.list();
    await api.send('PUT', `/v1/tunnels/${tunnel?.id}/extend`, { json: { ttl: '3h' } });
    await request('/page?x=1', 'viewed');
    await terminal.shows(/^\d\d:\d\d:\d\d {2}GET +200 +\d+ ms +[\d.]+ K?i?B {2}\/page\?x=1$/m);
    await terminal.shows(/Traffic {6}1 request, /);
    terminal.type('r');
    await terminal.shows(/█▀|▀█/);
    terminal.type('r');
    await terminal.shows(/GET/);
    terminal.type('i');
    await terminal.shows(/^> .*\/page\?x=1$/m);
    terminal.type('\r');
    await terminal.shows(/^GET \/page\?x=1 HTTP\/1\.1$/m);
    terminal.type('r');
    await terminal.shows(/Sent again, as 2\./);
    terminal.type('q');
    await terminal.shows(/again 1: \/page/);
    // As moved elsewhere.
    terminal.type('q');
    await terminal.shows(/Expires {6}in (?:4 h|3 h 59 min)/);
    terminal.type('q');
    await terminal.shows(/Close the tunnel and quit\?/);
    terminal.type('y');
    const end = await terminal.shows(/Tunnel closed\. .* stays reserved .* until .*\ncode 0\nrestored/);
    assert.doesNotMatch(end, /Online/, 'the alternate screen is gone');
    assert.ok(!terminal.screen.isAlternate && terminal.screen.isCursorShown);
    assert.deepEqual(await api.list(), []);
  });

  it('shows names and requests in 40 columns, without colour if it is disabled', async () => {
    const name = 'narrow';
    const file = join(temporaryDirectory(scope), 'culvert.yml');
    const port = `port: ${service.port}`;
    writeFileSync(file, `tunnels:\n  shop: {${port}, name: ${name}}\n  administration: {${port}}\n`);
    const { key } = await createAccount(relay);
    const environment = { NO_COLOR: '1', CULVERT_API_KEY: key };
    const { terminal } = await open(`start --config ${file}`, environment, 40);
    await terminal.shows(new RegExp(`^shop +›●\\s+http://${name}\\.[^]*^administr`, 'm'));
    await request('/page', name);
    const text = await terminal.shows(/^shop +GET +200 +\d+ ms +\/page$/m);
    for (const line of text.split('\n')) assert.ok(line.length <= 40, line);
    assert.match(text, /^culvert +\? keys +q quits/);
    assert.equal(terminal.screen.hasColour, false);
    terminal.type(CTRL_C);
    await terminal.shows(/code 0\nrestored/);
  });

  it('reports what is wrong and how to fix it', async () => {
    const port = await closedPort();
    const { terminal } = await open(`http ${port} --name broken`);
    await terminal.shows(/Online/);
    await request('/', 'broken');
    await terminal.shows(new RegExp(`! Nothing is listening on port ${port}\\. Start the service`));
    terminal.type(CTRL_C);
    const end = await terminal.shows(/restored/);
    assert.match(end, /code 0\nrestored/);
  });

  it('ends with the reason on the terminal when the tunnel is closed elsewhere', async () => {
    const { terminal, api } = await open(`http ${service.port}`);
    await terminal.shows(/Online/);
    const [tunnel] = await api.list();
    await api.close(tunnel?.id ?? '');
    await terminal.shows(/^culvert: The tunnel was closed\.\ncode 4\nrestored/m);
    assert.ok(!terminal.screen.isAlternate);
  });

  it('restores the terminal when it is killed by a second signal', async () => {
    const { terminal } = await open(`http ${service.port}`);
    await terminal.shows(/Online/);
    // It cannot close the tunnel at once.
    relay.child.kill('SIGSTOP');
    try {
      terminal.type(CTRL_C + CTRL_C);
      // Within half a second it would be the same signal.
      await new Promise((resolve) => void setTimeout(resolve, 600));
      assert.ok(terminal.screen.isAlternate);
      // A busy machine may have handled the first ones so late that this is the same signal.
      await eventually(60_000, async () => {
        terminal.type(CTRL_C);
        await terminal.shows(/code 1\nrestored/, 5000);
      });
      assert.ok(!terminal.screen.isAlternate && terminal.screen.isCursorShown);
    } finally {
      relay.child.kill('SIGCONT');
    }
  });

  it('stops at Ctrl-Z, runs on in the background, and comes back in the foreground', async () => {
    const account = await createAccount(relay);
    const access = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: account.key };
    const culvert = `${process.execPath} ${CULVERT_SCRIPT} http ${service.port}`;
    // Jobs need an interactive shell.
    const terminal = new Terminal(scope, `PS1='$ ' exec bash --norc -i`, access);
    await terminal.shows(/\$ $/);
    terminal.type(`${culvert}; echo "code $?"\r`);
    await terminal.shows(/● Online/);
    terminal.type('\u{1A}');
    await terminal.shows(/Stopped/);
    assert.ok(!terminal.screen.isAlternate && terminal.screen.isCursorShown);
    terminal.type('bg\r');
    const [tunnel] = await account.api.list();
    const host = `${tunnel?.slug}.localhost:${relay.port}`;
    assert.equal((await visit(relay.port, { host, target: '/background' })).status, 200);
    assert.ok(!terminal.screen.isAlternate);
    terminal.type('fg\r');
    await terminal.shows(/● Online[^]*\/background/);
    terminal.type(CTRL_C);
    await terminal.shows(/Tunnel closed\./);
    assert.deepEqual(await account.api.list(), []);
  });

  it('writes plain lines to a dumb terminal', async () => {
    const { terminal } = await open(`http ${service.port}`, { TERM: 'dumb' });
    await terminal.shows(/^Online at {4}http/m);
    assert.ok(!terminal.screen.isAlternate);
    terminal.type(CTRL_C);
    await terminal.shows(/Tunnel closed\./);
  });

  it('asks for the key on the way to the first tunnel without showing it, and stores it for the next command', async () => {
    const { key } = await pool.take();
    const folder = temporaryDirectory(scope);
    const environment = { CULVERT_API_KEY: '', CULVERT_RELAY: '', XDG_CONFIG_HOME: folder };
    const first = await open(`http ${service.port} --relay ${relay.url}`, environment);
    await first.terminal.shows(/API key for http:\/\/localhost:\d+: /);
    first.terminal.type(`${key}\r`);
    assert.ok(!(await first.terminal.shows(/● Online/)).includes(key), 'the key was shown');
    first.terminal.type(CTRL_C);
    assert.ok(!(await first.terminal.shows(/code 0\nrestored/)).includes(key), 'the key was shown');
    assert.equal(statSync(join(folder, 'culvert', 'login.json')).mode & 0o777, 0o600);
    const next = await open('status', environment);
    await next.terminal.shows(/Account +test-\w+ \(dev plan\)[^]*code 0/);
  });

  it('closes the tunnel when the window of the terminal is closed', async () => {
    const { terminal, api } = await open(`http ${service.port}`);
    await terminal.shows(/Online/);
    terminal.hangUp();
    await eventually(20_000, async () => assert.deepEqual(await api.list(), []));
  });
});
