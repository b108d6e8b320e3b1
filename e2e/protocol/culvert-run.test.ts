/** `culvert run`: a command with a tunnel to the port that it listens on (docs/reference/culvert.md). */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAccount, type TestAccount } from '../support/accounts.ts';
import type { Child } from '../support/child.ts';
import { concurrentTests } from '../support/scope.ts';
import { eventually } from '../support/deadline.ts';
import { CULVERT_SCRIPT, RELAY_SCRIPT, spawnCulvert, temporaryDirectory } from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { sharedRelaySuite } from '../support/relay-suite.ts';
import { closedPort } from '../support/services/listen.ts';
import { startEchoService } from '../support/services/echo.ts';
import { Terminal } from '../support/terminal.ts';

/** A server on `PORT` that prints what it got, counts signals, and ends at the first, unless told otherwise. */
const SERVER = `
const { createServer } = require('node:http');
const { PORT, CULVERT_URL, CULVERT_HOST, ENDS = '1' } = process.env;
let count = 0;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'])
  process.on(signal, () => {
    console.log('got', signal, ++count);
    if (ENDS === '1') setTimeout(() => process.exit(9), 300);
  });
createServer(({ url, headers }, response) => response.end(url + ' ' + headers.host)).listen(PORT, '127.0.0.1', () => {
  console.log('ready', PORT, CULVERT_URL, CULVERT_HOST);
});
`;

const NODE = process.execPath;
const ready = (child: Child): Promise<string[]> =>
  child.line((line) => (line.startsWith('ready') ? line.split(' ').slice(1) : undefined));

/** A package, on a branch. */
const packageOnBranch = (name: string): Record<string, string> => ({
  'package.json': JSON.stringify({ name }),
  '.git/HEAD': 'ref: refs/heads/fix/two\n',
});

describe('culvert run', () => {
  const { scope, relay } = sharedRelaySuite();

  interface Run {
    readonly child: Child;
    readonly account: TestAccount;
    readonly folder: string;
  }

  /** Runs `culvert run` in a folder with the server and a package. */
  async function run(
    args: readonly string[],
    {
      files = {},
      plan,
      environment = {},
      input,
    }: {
      files?: Record<string, string>;
      plan?: 'free';
      environment?: Record<string, string>;
      input?: string;
    } = {},
  ): Promise<Run> {
    const account = await createAccount(relay, plan === undefined ? {} : { plan });
    const folder = temporaryDirectory(scope);
    for (const [path, text] of Object.entries({ 'server.cjs': SERVER, ...files })) {
      mkdirSync(join(folder, path, '..'), { recursive: true });
      writeFileSync(join(folder, path), text, { mode: 0o755 });
    }
    const access = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: account.key };
    const child = spawnCulvert(scope, ['run', ...args], { ...access, ...environment }, input, folder);
    return { child, account, folder };
  }

  const fetchAt = (url: string, target = '/hello') => visit(relay.port, { host: new URL(url).host, target });

  describe('of a Node server', () => {
    const together = concurrentTests();

    together('starts it with a free port and its address, and reaches it', async () => {
      const { child, account } = await run(['--', NODE, 'server.cjs']);
      const [port, url = '', host] = await ready(child);
      const [tunnel] = await account.api.list();
      assert.equal(url, tunnel?.public_url);
      assert.equal(host, new URL(url).hostname);
      assert.equal(String(tunnel?.local_port), port);
      assert.equal((await fetchAt(url)).text, `/hello ${new URL(url).host}`);
      assert.deepEqual(await child.stop('SIGINT'), { code: 9, signal: null });
      assert.deepEqual(child.lines.slice(1), ['got SIGINT 1']);
      assert.match(
        child.stderr,
        /^Online at {4}http.*\n[^]*\nThe tunnel closes when the command ends\.\nTunnel closed\.\n$/,
      );
      assert.deepEqual(await account.api.list(), []);
    });

    together('prints one line of JSON on standard error, and passes output and input through', async () => {
      const script = "process.stdin.on('data', (data) => process.stdout.write(data))";
      const { child, account } = await run(['--json', '--', NODE, '-e', script], { input: 'in and out\n' });
      assert.deepEqual(await child.exit(), { code: 0, signal: null });
      assert.deepEqual(child.lines, ['in and out']);
      const [line = '', ...rest] = child.stderr.split('\n');
      assert.deepEqual(rest, ['']);
      const event = JSON.parse(line) as {
        event: string;
        url: string;
        port: number;
        tunnel: { public_url: string };
      };
      assert.equal(event.event, 'online');
      assert.equal(event.url, event.tunnel.public_url);
      assert.ok(event.port > 0);
      assert.deepEqual(await account.api.list(), []);
    });

    together('has visitors wait until it listens', async () => {
      const { child } = await run([
        '--json',
        '--',
        NODE,
        '-e',
        `setTimeout(() => require('./server.cjs'), 2000)`,
      ]);
      const [, url = ''] = await child.printed(/"url":"([^"]+)"/);
      assert.equal((await fetchAt(url)).text, `/hello ${new URL(url).host}`);
      assert.equal((await child.stop('SIGTERM')).code, 9);
    });

    together('answers 502 if it does not listen in time, and says so', async () => {
      const { child } = await run(['--wait', '1', '--', NODE, '-e', 'setInterval(() => {}, 1000)']);
      const [, url = ''] = await child.printed(/Online at {4}(\S+)/);
      assert.equal((await fetchAt(url)).status, 502);
      await child.printed(/listen/);
      assert.deepEqual(await child.stop('SIGTERM'), { code: 143, signal: null });
    });

    together('ends with its exit code, also at once, and with 128 and the number of its signal', async () => {
      for (const [script, code] of [
        ['process.exit(42)', 42],
        ["process.kill(process.pid, 'SIGKILL')", 137],
      ] as const) {
        const { child, account } = await run(['--', NODE, '-e', script]);
        assert.deepEqual(await child.exit(), { code, signal: null });
        assert.deepEqual(await account.api.list(), []);
      }
    });

    together('passes each signal on once, and kills one that ignores SIGTERM after 10 s', async () => {
      const { child, account } = await run(['--', NODE, 'server.cjs'], { environment: { ENDS: '0' } });
      await ready(child);
      // Without a terminal, SIGHUP is ignored: nohup may have started culvert.
      child.kill('SIGHUP');
      for (const [index, signal] of (['SIGUSR2', 'SIGINT', 'SIGTERM'] as const).entries()) {
        child.kill(signal);
        // A launcher such as `bun run` passes on what the terminal has sent already.
        if (signal === 'SIGINT' || signal === 'SIGTERM') child.kill(signal);
        await child.line((line) => (line === `got ${signal} ${index + 1}` ? true : undefined));
      }
      assert.deepEqual(await child.exit(), { code: 137, signal: null });
      assert.match(child.stderr, /did not end within 10 s/);
      assert.deepEqual(await account.api.list(), []);
    });

    together('goes on without its tunnel, if that is closed', async () => {
      const { child, account } = await run(['--', NODE, 'server.cjs']);
      await ready(child);
      const [tunnel] = await account.api.list();
      await account.api.close(tunnel?.id ?? '');
      await child.printed(/The tunnel was closed/);
      assert.ok(!child.hasExited);
      assert.deepEqual(await child.stop('SIGINT'), { code: 9, signal: null });
    });

    together('listens on the port that is given, unless something else does', async () => {
      const port = await closedPort();
      const { child } = await run(['--port', String(port), '--', NODE, 'server.cjs']);
      assert.equal((await ready(child))[0], String(port));
      await child.stop('SIGINT');
      const other = await startEchoService(scope);
      const refused = await run(['--port', String(other.port), '--', NODE, 'server.cjs']);
      assert.equal((await refused.child.exit()).code, 2);
      assert.match(refused.child.stderr, /^culvert: Port \d+ is in use\./);
      assert.deepEqual(await refused.account.api.list(), []);
    });
  });

  describe('of other programs', () => {
    const together = concurrentTests();

    together('reaches the server of npm run, and leaves nothing behind', async () => {
      const { child } = await run(['--', 'npm', 'run', 'dev'], {
        files: {
          'package.json': JSON.stringify({
            scripts: { dev: `npm run inner && true`, inner: `"${NODE}" server.cjs; true` },
          }),
        },
      });
      const [port, url = ''] = await ready(child);
      assert.match((await fetchAt(url)).text, /^\/hello /);
      await child.stop('SIGTERM');
      await eventually(10_000, () => assert.rejects(visit(Number(port), { host: 'localhost', target: '/' })));
    });

    together('starts a relay, which does not take the host of the tunnel for its own', async () => {
      const folder = temporaryDirectory(scope);
      const { child } = await run(['--', NODE, RELAY_SCRIPT, '--port', '0', '--data-dir', folder]);
      await child.line((line) => (line.startsWith('listening on http://127.0.0.1:') ? line : undefined));
      assert.equal((await child.stop('SIGTERM')).code, 0);
    });

    together('adds the port to the arguments of one that reads no variable', async () => {
      const vite = `#!${NODE}\nconsole.log(process.env.PORT, process.env.CULVERT_HOST, process.env.__VITE_ADDITIONAL_SERVER_ALLOWED_HOSTS, process.argv.slice(2).join(' '));\n`;
      const { child } = await run(['--', 'npm', 'run', '--silent', 'dev'], {
        files: {
          'package.json': JSON.stringify({ scripts: { dev: 'vite' } }),
          'node_modules/.bin/vite': vite,
        },
      });
      await child.exit();
      const [port, host, hosts, ...args] = (child.lines.at(-1) ?? '').split(' ');
      assert.equal(hosts, host);
      assert.deepEqual(args, ['--port', port, '--strictPort']);
      assert.match(child.stderr, /^Runs {9}npm run --silent dev -- --port \d+ --strictPort$/m);
    });

    together('ends with 127 for a program that is not found', async () => {
      const { child, account } = await run(['--', 'culvert-no-such-command']);
      assert.equal((await child.exit()).code, 127);
      assert.match(child.stderr, /The command "culvert-no-such-command" was not found\./);
      assert.deepEqual(await account.api.list(), []);
    });
  });

  describe('without --name', () => {
    const together = concurrentTests();

    together('asks for the name of the package and the branch, if that is free', async () => {
      const first = await run(['--', NODE, 'server.cjs'], { files: packageOnBranch('@acme/shop-of-run') });
      const [, url = ''] = await ready(first.child);
      assert.equal(new URL(url).hostname, 'shop-of-run-fix-two.localhost');
      const second = await run(['--', NODE, 'server.cjs'], { files: packageOnBranch('shop-of-run') });
      const [, other = ''] = await ready(second.child);
      assert.doesNotMatch(other, /shop-of-run/);
      await Promise.all([first.child.stop('SIGINT'), second.child.stop('SIGINT')]);
    });

    together('leaves alone a tunnel that has the name and no client', async () => {
      const account = await createAccount(relay);
      const json = { local_port: 1, name: 'mine-of-run-fix-two', access: { password: 'a long secret' } };
      await account.api.send('POST', '/v1/tunnels', { json });
      const { child } = await run(['--', NODE, 'server.cjs'], {
        files: packageOnBranch('mine-of-run'),
        environment: { CULVERT_API_KEY: account.key },
      });
      const [, url = ''] = await ready(child);
      assert.doesNotMatch(url, /mine-of-run/);
      await child.stop('SIGINT');
      const [left, ...others] = await account.api.list();
      assert.deepEqual([left?.name, left?.access, others], [json.name, { password: true }, []]);
    });

    together('gets a random one on a plan without names', async () => {
      const { child } = await run(['--', NODE, 'server.cjs'], {
        plan: 'free',
        files: packageOnBranch('free-of-run'),
      });
      const [, url = ''] = await ready(child);
      assert.doesNotMatch(url, /free-of-run/);
      await child.stop('SIGINT');
    });
  });

  it('leaves the terminal to the command, which Ctrl-C reaches once', async () => {
    const { key } = await createAccount(relay);
    const folder = temporaryDirectory(scope);
    const script = join(folder, 'server.cjs');
    writeFileSync(
      script,
      `console.log('tty', process.stdin.isTTY, process.stdout.isTTY);\nprocess.stdin.on('data', (data) => console.log('typed', String(data).trim()));\n${SERVER}`,
    );
    // The shell gets Ctrl-C as well.
    const command = `trap : INT; cd ${folder}; ${NODE} ${CULVERT_SCRIPT} run -- ${NODE} ${script}; echo "code $?"`;
    const access = { CULVERT_RELAY: relay.url, CULVERT_API_KEY: key, XDG_CONFIG_HOME: '/nonexistent' };
    const terminal = new Terminal(scope, command, access);
    await terminal.shows(/tty true true/);
    await terminal.shows(/ready/);
    terminal.type('hello\r');
    await terminal.shows(/typed hello/);
    terminal.type('\u{3}');
    const text = await terminal.shows(/code 9/);
    assert.equal(text.match(/got SIGINT/g)?.length, 1, text);
  });
});
