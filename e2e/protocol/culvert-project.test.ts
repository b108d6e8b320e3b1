import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount } from '../support/accounts.ts';
import type { Child } from '../support/child.ts';
import { newApiKey, Relay, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { type Scope, suiteScope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';

interface Event {
  readonly event: string;
  readonly name: string;
  readonly reason?: string;
}

const events = ({ lines }: Child): string[] =>
  lines
    .map((line) => JSON.parse(line) as Event)
    .map(({ event, name, reason }) => `${name} ${reason ?? event}`)
    .sort();

/** Waits until that many tunnels are online. */
async function online(child: Child, count: number): Promise<void> {
  let seen = 0;
  await child.line(
    (line) => (line.includes('"event":"online"') && ++seen === count ? true : undefined),
    20_000,
  );
}

/** Runs a command that needs neither a relay nor a key. */
async function runBare(scope: Scope, ...args: string[]) {
  const child = spawnCulvert(scope, args, {});
  return { code: (await child.exit()).code, text: child.lines.join('\n') + child.stderr };
}

describe('culvert with files', () => {
  const scope = suiteScope();
  let relay: Relay;
  let service: HttpService;

  before(async () => {
    [relay, service] = await Promise.all([Relay.start(scope), startEchoService(scope)]);
  });

  function project(text: string): string {
    const path = join(temporaryDirectory(scope), 'culvert.yml');
    writeFileSync(path, text);
    return path;
  }

  const visitTunnel = (name: string) =>
    visit(relay.port, { host: `${name}.localhost:${relay.port}`, target: '/hello' });

  describe('start', () => {
    it('serves all tunnels of culvert.yml in one process, and closes them at Ctrl-C', async () => {
      const { key, api } = await createAccount(relay);
      const file = project(
        `relay: ${relay.url}\ntunnels:\n  web: {port: ${service.port}, name: in-yml}\n  api: {port: ${service.port}, ttl: 2h}\n`,
      );
      const child = spawnCulvert(scope, ['start', '--json', '--config', file], { CULVERT_API_KEY: key });
      await online(child, 2);
      const tunnels = await api.list();
      assert.deepEqual(tunnels.map(({ ttl }) => ttl).sort(), ['1h0m0s', '2h0m0s']);
      for (const { slug } of tunnels) assert.equal(readEcho(await visitTunnel(slug)).url, '/hello');
      assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
      assert.deepEqual(events(child), ['api online', 'api stopped', 'web online', 'web stopped']);
      assert.deepEqual(await api.list(), []);
    });

    it('serves those that are named', async () => {
      const { key, api } = await createAccount(relay);
      const file = project(`tunnels:\n  one: {port: 1}\n  two: {port: 2}\n`);
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
      const child = spawnCulvert(scope, ['start', 'two', '--json', '--config', file], environment);
      await online(child, 1);
      assert.deepEqual(
        (await api.list()).map(({ local_port }) => local_port),
        [2],
      );
      assert.equal((await child.stop('SIGTERM')).code, 0);
    });

    it('goes on with the others when one ends, and ends with the worst code', async () => {
      const { key, api } = await createAccount(relay);
      const file = project(`tunnels:\n  bad: {port: 1, name: www}\n  good: {port: 2}\n`);
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
      const child = spawnCulvert(scope, ['start', '--json', '--config', file], environment);
      await online(child, 1);
      const [tunnel] = await api.list();
      await api.close(tunnel?.id ?? '');
      assert.equal((await child.exit()).code, 1);
      assert.deepEqual(events(child), ['bad failed', 'good closed', 'good online']);
    });

    it('waits where the relay limits creates, until all are online', async () => {
      const { key, api } = await createAccount(relay);
      const names = Array.from({ length: 6 }, (_, index) => `  t${index}: {port: 1}\n`);
      const file = project(`tunnels:\n${names.join('')}`);
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
      const child = spawnCulvert(scope, ['start', '--json', '--config', file], environment);
      await online(child, 6);
      assert.equal((await api.list()).length, 6);
      assert.equal((await child.stop('SIGINT')).code, 0);
      assert.deepEqual(await api.list(), []);
    });

    it('exits 2 for a file that is wrong, with every problem and its line, and 3 for a refused key', async () => {
      const wrong = project('tunnels:\n  web:\n    port: 70000\n    key: x\n');
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: newApiKey() };
      const child = spawnCulvert(scope, ['start', '--config', wrong], environment);
      assert.equal((await child.exit()).code, 2);
      assert.match(child.stderr, /culvert\.yml:3: tunnels\.web\.port: is 70000; it takes .* 65535\./);
      assert.match(child.stderr, /culvert\.yml:4: tunnels\.web\.key: an API key does not belong/);
      const file = project('tunnels: {web: {port: 1}}');
      const refused = spawnCulvert(scope, ['start', '--config', file], environment);
      assert.equal((await refused.exit()).code, 3);
    });
  });

  describe('login and logout', () => {
    it('take a key from a pipe, keep it for its relay only, and forget it', async () => {
      const { key, name } = await createAccount(relay);
      const home = { XDG_CONFIG_HOME: temporaryDirectory(scope) };
      const run = async (args: string[], input?: string) => {
        const child = spawnCulvert(scope, args, home, input);
        return { code: (await child.exit()).code, out: child.lines.join('\n'), err: child.stderr };
      };
      const at = ['--relay', relay.url];
      assert.equal((await run(['login', ...at], `${newApiKey()}\n`)).code, 3);
      assert.equal((await run(['list', ...at])).code, 2, 'a refused key is not kept');
      assert.equal((await run(['login', ...at], '')).code, 2);
      const endless = await run(['login', ...at], 'x'.repeat(4097));
      assert.equal(endless.code, 2);
      assert.match(endless.err, /at most 4096 characters/);
      assert.equal((await run(['login', ...at], `${key}\n`)).code, 0);
      const status = await run(['status']);
      assert.ok(status.out.includes(`${name} (dev plan)`), status.out);
      const elsewhere = await run(['list', '--relay', 'http://127.0.0.1:9']);
      assert.equal(elsewhere.code, 2);
      assert.match(elsewhere.err, /No API key for http:\/\/127\.0\.0\.1:9/);
      assert.equal((await run(['logout'])).code, 0);
      assert.equal((await run(['status', ...at])).code, 2);
    });
  });

  it('explains commands, and recognises what was mistyped', async () => {
    const help = await runBare(scope, 'help', 'start');
    assert.equal(help.code, 0);
    assert.match(help.text, /culvert\.yml:[^]*port: 3000/);
    const typo = await runBare(scope, 'strat');
    assert.equal(typo.code, 2);
    assert.match(typo.text, /Did you mean "start"\?/);
  });
});
