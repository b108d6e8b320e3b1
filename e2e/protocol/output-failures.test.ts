/** Output that cannot be written, and signals that are none: neither ends a tunnel or loses a secret. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { notRun } from '../../shared/testing/posix.ts';
import { createAccount } from '../support/accounts.ts';
import { Child } from '../support/child.ts';
import { eventually } from '../support/deadline.ts';
import { hostOf } from '../support/manual-client.ts';
import {
  Culvert,
  CULVERT_SCRIPT,
  newApiKey,
  RELAY_SCRIPT,
  spawnRelay,
  temporaryDirectory,
} from '../support/programs.ts';
import { visit } from '../support/raw-http.ts';
import { concurrentTests } from '../support/scope.ts';
import { relaySuite, sharedRelaySuite } from '../support/relay-suite.ts';
import { startEchoService } from '../support/services/echo.ts';
import type { HttpService } from '../support/services/listen.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';

/** Replaces standard output by a pipe whose reader has gone. */
const NO_READER =
  'import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1); os.execvp(sys.argv[1], sys.argv[1:])';

describe('output that cannot be written', () => {
  const { scope, relay, pool } = relaySuite();
  let service: HttpService;

  before(async () => {
    service = await startEchoService(scope);
  });

  function run(script: string, args: readonly string[], key: string, shell: readonly string[]): Child {
    const environment = {
      ...process.env,
      ...relay.databaseSettings,
      CULVERT_DATA_DIR: relay.dataDirectory,
      CULVERT_RELAY: relay.url,
      CULVERT_API_KEY: key,
      XDG_CONFIG_HOME: temporaryDirectory(scope),
    };
    const [program = '', ...before] = shell;
    const child = new Child(program, [...before, process.execPath, script, ...args], { environment });
    scope.defer(() => child.stop('SIGKILL'));
    return child;
  }

  const full = (script: string, args: readonly string[], key: string): Child =>
    run(script, args, key, ['sh', '-c', 'exec "$@" >/dev/full', 'sh']);
  const unread = (script: string, args: readonly string[], key: string): Child =>
    run(script, args, key, ['python3', '-c', NO_READER]);

  describe('of a short command', () => {
    const together = concurrentTests();
    for (const [script, ...args] of [
      [CULVERT_SCRIPT, 'list'],
      [RELAY_SCRIPT, 'account', 'list'],
    ] as const)
      together(`${script === RELAY_SCRIPT ? 'culvert-relay' : 'culvert'} ${args.join(' ')}`, async () => {
        const { key } = await pool.take();
        const child = full(script, args, key);
        assert.equal((await child.exit()).code, 1);
        assert.match(child.stderr, /tandard output cannot be written \(ENOSPC: [^\n]*\n$/);
        assert.doesNotMatch(child.stderr, /\n {4}at /);
        const other = unread(script, args, key);
        assert.equal((await other.exit()).code, 0, other.stderr);
        assert.doesNotMatch(other.stderr, /EPIPE/);
      });
  });

  describe('withdraws what it cannot show:', () => {
    const together = concurrentTests();

    together('keys, accounts and invitations of culvert-relay', async () => {
      const { key } = await pool.take();
      for (const [start, ...args] of [
        [full, 'key', 'create', '--account', 'default', '--label', 'lost'],
        [unread, 'account', 'create', '--name', 'lost', '--plan', 'dev', '--with-key'],
        [full, 'invite', 'create', '--account', 'default', '--count', '2'],
      ] as const) {
        const child = start(RELAY_SCRIPT, args, key);
        assert.equal((await child.exit()).code, 1, args.join(' '));
        assert.match(child.stderr, /what could not be shown was withdrawn/);
      }
      assert.doesNotMatch(JSON.stringify(await relay.administer('key', 'list')), /lost/);
      assert.doesNotMatch(JSON.stringify(await relay.administer('account', 'list')), /lost/);
      assert.deepEqual(await relay.administer('invite', 'list'), { invites: [] });
    });

    together('signed links of culvert', async () => {
      const { key, api } = await pool.take();
      const { tunnel } = await Culvert.start(scope, relay, key, service.port, ['--links']);
      const child = full(CULVERT_SCRIPT, ['link', tunnel.slug], key);
      assert.equal((await child.exit()).code, 1);
      const { links } = (await api.send('GET', `/v1/tunnels/${tunnel.id}/links`)).json as {
        links: unknown[];
      };
      assert.deepEqual(links, []);
      const access = full(CULVERT_SCRIPT, ['access', tunnel.slug, '--links', '--token', 'ci'], key);
      assert.equal((await access.exit()).code, 1);
      assert.match(access.stderr, /run the command without --token ci, then with it/);
    });
  });

  it('of a log does not end a tunnel, and is written once the disk has space again', async function () {
    const disk = smallDisk(scope);
    if (disk === undefined) notRun(this, 'only root may mount');
    const { key, api } = await createAccount(relay);
    const log = join(disk, 'log');
    const free = fillDisk(disk);
    const child = run(CULVERT_SCRIPT, ['http', String(service.port)], key, [
      'sh',
      '-c',
      'exec "$@" >"$0"',
      log,
    ]);
    await child.printed(/culvert: Standard output cannot be written \(ENOSPC.*The command continues\./);
    const [tunnel] = await api.list();
    assert.ok(tunnel);
    free();
    assert.equal((await visit(relay.port, { host: hostOf(tunnel, relay), target: '/after' })).status, 200);
    await eventually(10_000, () => assert.match(readFileSync(log, 'utf8'), /^Online at .*\n[^]* \/after/));
    assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
  });

  it('of a reader that has gone does not end a tunnel', async () => {
    const { key, api } = await createAccount(relay);
    const child = unread(CULVERT_SCRIPT, ['http', String(service.port), '--json'], key);
    await child.printed(/EPIPE.*The command continues\./);
    assert.equal((await api.list()).length, 1);
    assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
  });
});

describe('signals', () => {
  const { scope, relay } = sharedRelaySuite();
  const together = concurrentTests();

  together('a Ctrl-C that arrives twice closes the tunnel and ends culvert with code 0', async () => {
    const service = await startEchoService(scope);
    const { key, api } = await createAccount(relay);
    const { child } = await Culvert.start(scope, relay, key, service.port);
    child.kill('SIGINT');
    assert.deepEqual(await child.stop('SIGINT'), { code: 0, signal: null });
    assert.deepEqual(await api.list(), []);
  });

  together('SIGHUP without a terminal ends neither culvert nor culvert-relay', async () => {
    const service = await startEchoService(scope);
    const { key, api } = await createAccount(relay);
    const { child } = await Culvert.start(scope, relay, key, service.port);
    const settings = { CULVERT_DATA_DIR: temporaryDirectory(scope), CULVERT_PORT: '0' };
    const other = spawnRelay(scope, ['serve'], { ...settings, CULVERT_BOOTSTRAP_KEY: newApiKey() });
    await other.line((line) => (line.startsWith('listening') ? line : undefined));
    for (const program of [child, other]) {
      program.kill('SIGHUP');
      program.kill('SIGHUP');
    }
    assert.equal((await api.list()).length, 1);
    // The same signal, so both have handled the first ones.
    assert.deepEqual(await child.stop('SIGTERM'), { code: 0, signal: null });
    assert.deepEqual(await other.stop('SIGTERM'), { code: 0, signal: null });
  });
});
