import assert from 'node:assert/strict';
import { chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { notRun } from '../../shared/testing/posix.ts';
import { createAccount } from '../support/accounts.ts';
import type { Child } from '../support/child.ts';
import { type Environment, newApiKey, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import type { Scope } from '../support/scope.ts';
import { readEcho, startEchoService } from '../support/services/echo.ts';
import { type HttpService, startHttpService } from '../support/services/listen.ts';

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

/** Waits until this many tunnels are online. */
async function online(child: Child, count: number): Promise<void> {
  let seen = 0;
  await child.line((line) => (line.includes('"event":"online"') && ++seen === count ? true : undefined));
}

/** A listener instead of a relay. Anything it receives could contain a key. */
async function startListener(scope: Scope): Promise<{ url: string; heard: string[] }> {
  const heard: string[] = [];
  const { port } = await startHttpService(scope, ({ headers }, response) => {
    heard.push(headers.authorization ?? 'no key');
    response.end('{}');
  });
  return { url: `http://127.0.0.1:${port}`, heard };
}

/** @returns the output of a refused `culvert start` */
async function refusal(
  scope: Scope,
  args: string[],
  environment: Environment,
  folder?: string,
): Promise<string> {
  const child = spawnCulvert(scope, ['start', ...args], environment, undefined, folder);
  assert.deepEqual([(await child.exit()).code, child.lines], [2, []]);
  return child.stderr;
}

describe('culvert with files', () => {
  const { scope, relay } = sharedRelaySuite();
  let service: HttpService;

  before(async () => {
    service = await startEchoService(scope);
  });

  function project(text: string): string {
    const path = join(temporaryDirectory(scope), 'culvert.yml');
    writeFileSync(path, text);
    return path;
  }

  const visitTunnel = (name: string) =>
    visit(relay.port, { host: `${name}.localhost:${relay.port}`, target: '/hello' });

  describe('start', () => {
    it('shares a folder and a port, prints a QR code for each, and shares nothing outside', async () => {
      const { key } = await createAccount(relay);
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
      const file = project(
        `tunnels:\n  docs: {share: ./public, name: docs-of-yml}\n  web: {port: ${service.port}, name: web-of-yml}\n`,
      );
      mkdirSync(join(dirname(file), 'public'));
      writeFileSync(join(dirname(file), 'public', 'index.html'), 'from the folder');
      const child = spawnCulvert(scope, ['up', '--json', '--qr', '--config', file], environment);
      await online(child, 2);
      assert.equal(
        (await visit(relay.port, { host: `docs-of-yml.localhost:${relay.port}`, target: '/' })).text,
        'from the folder',
      );
      assert.equal(readEcho(await visitTunnel('web-of-yml')).url, '/hello');
      assert.equal((await child.stop('SIGINT')).code, 0);
      for (const name of ['docs', 'web'])
        assert.match(
          child.stderr,
          new RegExp(`^█+[^h]+^http://${name}-of-yml\\.localhost:${relay.port}$`, 'm'),
        );
      const outside = project('tunnels:\n  all: {share: up}\n');
      symlinkSync('/', join(dirname(outside), 'up'));
      const text = await refusal(scope, ['--config', outside], environment);
      assert.match(
        text,
        /^culvert: .*: tunnels\.all\.share: "up" is outside the folder that contains the file[^\n]*\n$/,
      );
    });

    it('serves all tunnels of culvert.yml in one process, and closes them at Ctrl-C', async () => {
      const { key, api } = await createAccount(relay);
      const file = project(
        `relay: ${relay.url}\ntunnels:\n  web: {port: ${service.port}, name: in-yml}\n  api: {port: ${service.port}, ttl: 2h}\n`,
      );
      const home = { XDG_CONFIG_HOME: temporaryDirectory(scope) };
      const login = spawnCulvert(scope, ['login', '--relay', relay.url, '--key', key], home);
      assert.equal((await login.exit()).code, 0, login.stderr);
      const child = spawnCulvert(scope, ['start', '--json', '--config', file], home);
      await online(child, 2);
      const tunnels = await api.list();
      assert.deepEqual(tunnels.map(({ ttl }) => ttl).sort(), ['1h0m0s', '2h0m0s']);
      for (const { slug } of tunnels) assert.equal(readEcho(await visitTunnel(slug)).url, '/hello');
      assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
      assert.deepEqual(events(child), ['api online', 'api stopped', 'web online', 'web stopped']);
      assert.deepEqual(await api.list(), []);
    });

    it('keeps names with their messages, and reports it at Ctrl-C', async () => {
      const { key, api } = await createAccount(relay);
      const file = project(
        `tunnels: {web: {port: ${service.port}, name: kept-of-yml, away: "Back <soon>.\\nReally."}}`,
      );
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
      const child = spawnCulvert(scope, ['start', '--config', file], environment);
      await child.line((line) => line.includes('Your account keeps the name kept-of-yml.') || undefined);
      assert.equal(readEcho(await visitTunnel('kept-of-yml')).url, '/hello');
      assert.equal((await child.stop('SIGINT')).code, 0);
      assert.equal(
        child.lines.at(-1),
        'web: Tunnel closed. Visitors of kept-of-yml now read: Back <soon>. …',
      );
      const { text, status } = await visitTunnel('kept-of-yml');
      assert.deepEqual(
        [status, (JSON.parse(text) as { error: string }).error],
        [503, 'Back <soon>.\nReally.'],
      );
      assert.equal((await api.send('DELETE', '/v1/names/kept-of-yml')).status, 200);
    });

    it('continues with the others when one ends, and exits with the worst code', async () => {
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

    it('takes over a tunnel with another policy only with --take-over', async () => {
      const { api, key } = await createAccount(relay);
      const locked = { local_port: 1, name: 'locked-of-yml', access: { links: true } };
      const made = await api.send('POST', '/v1/tunnels', { json: locked });
      const file = project(`tunnels: {web: {port: ${service.port}, name: locked-of-yml}}`);
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
      const start = (...args: string[]) =>
        spawnCulvert(scope, ['start', '--json', '--config', file, ...args], environment);
      const refused = start();
      assert.equal((await refused.exit()).code, 1);
      assert.match(refused.lines.join(), /different access policy.*--take-over/);
      assert.deepEqual((await api.list())[0]?.access, { links: true });
      const taken = start('--take-over');
      await online(taken, 1);
      const [tunnel] = await api.list();
      assert.deepEqual([tunnel?.id, tunnel?.access], [(made.json as { id: string }).id, {}]);
      await taken.stop('SIGINT');
    });
  });

  describe("start with another user's culvert.yml", () => {
    it('does not send the key of the environment to a relay that only the file names', async () => {
      const listener = await startListener(scope);
      const file = project(`relay: ${listener.url}\ntunnels: {web: {port: 1}}\n`);
      const text = await refusal(scope, ['--config', file], { CULVERT_API_KEY: newApiKey() });
      assert.equal(
        text,
        `culvert: ${file}: relay: the key from CULVERT_API_KEY is sent to ${listener.url} only if you also specify that relay yourself. ` +
          `If you trust it, set CULVERT_RELAY=${listener.url} or use --relay ${listener.url}.\n`,
      );
      assert.deepEqual(listener.heard, []);
    });

    it('ignores a file of another user in a parent folder', async function () {
      if (process.geteuid?.() !== 0) notRun(this, 'only root can create a file of another user');
      const { key } = await createAccount(relay);
      const file = project('tunnels: {web: {port: 1}}\n');
      chownSync(file, 12345, 12345);
      const folder = join(dirname(file), 'src');
      mkdirSync(folder);
      const environment = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key };
      const text = await refusal(scope, [], environment, folder);
      assert.match(
        text,
        /^culvert: .*culvert\.yml belongs to another user \(uid 12345\).*--config [^\n]*\n$/,
      );
    });
  });

  describe('login and logout', () => {
    it('read a key from a pipe, store it for its relay only, and delete it', async () => {
      const { key, name } = await createAccount(relay);
      const home = { XDG_CONFIG_HOME: temporaryDirectory(scope) };
      const run = async (args: string[], input?: string) => {
        const child = spawnCulvert(scope, args, home, input);
        return { code: (await child.exit()).code, out: child.lines.join('\n'), err: child.stderr };
      };
      const at = ['--relay', relay.url];
      const endless = await run(['login', ...at], 'x'.repeat(4097));
      assert.equal(endless.code, 2);
      assert.match(endless.err, /at most 4096 characters/);
      assert.equal((await run(['login', ...at], `${key}\n`)).code, 0);
      const status = await run(['status']);
      assert.ok(status.out.includes(`${name} (dev plan)`), status.out);
      assert.equal((await run(['logout'])).code, 0);
      assert.equal((await run(['status', ...at])).code, 2);
    });
  });

  it('exits 2 for a typing error, and says how to mend it', async () => {
    const child = spawnCulvert(scope, ['strat'], {});
    assert.deepEqual([(await child.exit()).code, child.lines], [2, []]);
    assert.match(child.stderr, /^culvert: .* Did you mean "start"\?\nRun "culvert --help" .*\n$/);
  });
});
