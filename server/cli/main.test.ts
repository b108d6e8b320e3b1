import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashKey } from '../accounts/api-key.ts';
import { RevokedKeyError } from '../accounts/bootstrap.ts';
import type { Config } from '../config.ts';
import type { Log, LogEvent, LogFields } from '../log.ts';
import type { RunningRelay } from '../relay.ts';
import { SETTINGS, variableOf } from '../settings.ts';
import { openSqlite } from '../store/sqlite/open-sqlite.ts';
import type { Shell } from './command.ts';
import { main } from './main.ts';

class FakeShell implements Shell {
  readonly env: NodeJS.ProcessEnv = {};
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly logged: [event: LogEvent, fields: LogFields][] = [];
  signal: () => void = () => assert.fail('nobody listens to signals');

  out(line: string): void {
    this.stdout.push(line);
  }

  err(line: string): void {
    this.stderr.push(line);
  }

  openLog(): Log {
    return (event, fields = {}) => void this.logged.push([event, fields]);
  }

  onStopSignal(handler: () => void): void {
    this.signal = handler;
  }
}

/** A relay that has stopped when `stopped` is called. */
class FakeRelay implements RunningRelay {
  readonly url = 'http://127.0.0.1:8080';
  readonly calls: string[] = [];
  readonly #stop = new EventEmitter();

  async stop(deadlineMs: number): Promise<void> {
    this.calls.push(`stop ${deadlineMs}`);
    await once(this.#stop, 'stopped');
  }

  stopped(): void {
    this.#stop.emit('stopped');
  }

  abort(): void {
    this.calls.push('abort');
  }
}

const noRelay = () => assert.fail('no relay should start');

describe('culvert-relay', () => {
  let shell: FakeShell;

  beforeEach(() => {
    shell = new FakeShell();
  });

  function run(...argv: string[]): Promise<number> {
    return main(shell, argv, noRelay);
  }

  function json(): Record<string, unknown> {
    assert.equal(shell.stdout.length, 1);
    return JSON.parse(shell.stdout.pop() ?? '') as Record<string, unknown>;
  }

  it('shows every setting in its help', async () => {
    assert.equal(await main(shell, ['--help'], noRelay), 0);
    const help = shell.stdout.join('\n');
    for (const { name } of SETTINGS) {
      assert.ok(help.includes(`--${name}`) && help.includes(variableOf(name)), name);
    }
  });

  for (const argv of [['foo'], ['account'], ['serve', 'foo'], ['key', 'list']]) {
    it(`does not know "${argv.join(' ')}"`, async () => {
      assert.equal(await main(shell, argv, noRelay), 2);
      assert.deepEqual(shell.stderr, [
        `culvert-relay: there is no command "${argv.join(' ')}"; culvert-relay --help lists them`,
      ]);
    });
  }

  describe('serve', () => {
    it('says on one line where it listens, and stops in order at a signal', async () => {
      const relay = new FakeRelay();
      let config: Config | undefined;
      const exit = main(shell, ['--port', '0'], (given) => {
        config = given;
        return Promise.resolve(relay);
      });
      await tick();
      assert.equal(config?.port, 0);
      assert.deepEqual(shell.stdout, ['listening on http://127.0.0.1:8080']);
      shell.signal();
      relay.stopped();
      assert.equal(await exit, 0);
      assert.deepEqual(relay.calls, ['stop 30000']);
      assert.deepEqual(
        shell.logged.map(([event]) => event),
        ['relay starting', 'listening', 'relay stopping', 'relay stopped'],
      );
    });

    it('ends at once at a second signal', async () => {
      const relay = new FakeRelay();
      const exit = main(shell, ['serve'], () => Promise.resolve(relay));
      await tick();
      shell.signal();
      shell.signal();
      assert.equal(await exit, 1);
      assert.deepEqual(relay.calls, ['stop 30000', 'abort']);
    });

    it('ends with 2 and a line for each wrong setting', async () => {
      shell.env['CULVERT_PORT'] = 'x';
      assert.equal(await main(shell, ['--max-ttl', 'x'], noRelay), 2);
      assert.deepEqual(shell.stderr, [
        'culvert-relay: CULVERT_PORT takes a port number from 0 to 65535',
        'culvert-relay: --max-ttl takes a duration from 1s to 87600h0m0s, like 90m or 168h',
      ]);
      assert.deepEqual(shell.stdout, []);
    });

    it('ends with 2 for a bootstrap key that was revoked', async () => {
      assert.equal(await main(shell, [], () => Promise.reject(new RevokedKeyError())), 2);
      assert.deepEqual(shell.stderr, [
        'culvert-relay: CULVERT_BOOTSTRAP_KEY takes a key that was not revoked; set another one, or leave it out',
      ]);
    });

    it('says what to do about a port that is taken', async () => {
      const error = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });
      assert.equal(await main(shell, [], () => Promise.reject(error)), 1);
      const reason =
        'cannot listen on 127.0.0.1 port 8080: another program uses it; choose another with --port';
      assert.deepEqual(shell.logged.at(-1), ['start refused', { reason }]);
      assert.deepEqual(shell.stderr, []);
    });

    it('says which of its ports is taken', async () => {
      const error = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port: 9100 });
      await main(shell, ['--metrics-port', '9100'], () => Promise.reject(error));
      const reason =
        'cannot listen on 127.0.0.1 port 9100: another program uses it; choose another with --metrics-port';
      assert.deepEqual(shell.logged.at(-1), ['start refused', { reason }]);
    });
  });

  describe('account create and key create', () => {
    let folder: string;

    beforeEach(() => {
      folder = mkdtempSync(join(tmpdir(), 'culvert-test-'));
      shell.env['CULVERT_DATA_DIR'] = folder;
    });

    afterEach(() => rmSync(folder, { recursive: true }));

    it('make an account and a key for it', async () => {
      const options = ['--name', 'Acme Inc', '--plan', 'team', '--subdomain', 'acme', '--json'];
      assert.equal(await run('account', 'create', ...options), 0);
      const account = json();
      assert.deepEqual(Object.keys(account), ['id', 'name', 'plan', 'subdomain', 'created_at']);
      assert.deepEqual(
        [account['name'], account['plan'], account['subdomain']],
        ['Acme Inc', 'team', 'acme'],
      );
      assert.equal(await run('key', 'create', '--account', 'Acme Inc', '--json'), 0);
      const issued = json();
      assert.deepEqual(Object.keys(issued), ['id', 'account', 'key', 'created_at']);
      const store = await openSqlite(join(folder, 'culvert.db'), () => {});
      const owner = await store.findKeyOwner(hashKey(String(issued['key'])));
      await store.close();
      assert.equal(owner?.account.id, account['id']);
    });

    it('speak to people without --json', async () => {
      await run('account', 'create', '--name', 'acme', '--plan', 'free');
      await run('key', 'create', '--account', 'acme');
      assert.match(shell.stdout[0] ?? '', /^Created the account "acme" \(plan free, no subdomain\)/);
      assert.match(shell.stdout[1] ?? '', /shown only now/);
      assert.match(shell.stdout[2] ?? '', /^cvt_\w{32}$/);
    });

    const wrong: [argv: string, exitCode: number, line: RegExp][] = [
      ['account create --plan dev', 2, /^--name takes the name of an account/],
      ['account create --name x', 2, /^--plan takes one of free, dev, team$/],
      ['account create --name x --plan gold', 2, /^--plan takes one of free, dev, team$/],
      ['account create --name x --plan dev --subdomain A', 2, /^--subdomain takes 2-63 characters/],
      ['account create --name x --plan dev --subdomain www', 1, /^the subdomain "www" is reserved/],
      ['account create --name taken --plan dev', 1, /^the name is taken/],
      ['account create --name x --plan dev --subdomain taken', 1, /^the subdomain is taken/],
      ['account create --name x --plan dev --colour red', 2, /^Unknown option '--colour'$/],
      ['key create', 2, /^--account takes the name of an account/],
      ['key create --account nobody', 1, /^there is no account "nobody"/],
    ];
    for (const [argv, exitCode, line] of wrong) {
      it(`refuse "${argv}"`, async () => {
        await run('account', 'create', '--name', 'taken', '--plan', 'dev', '--subdomain', 'taken');
        shell.stdout.length = 0;
        assert.equal(await run(...argv.split(' ')), exitCode);
        const [problem = '', ...more] = shell.stderr;
        assert.match(problem.replace('culvert-relay: ', ''), line);
        assert.deepEqual([more, shell.stdout], [[], []]);
      });
    }

    it("refuse a subdomain that would be the relay's own host", async () => {
      shell.env['CULVERT_PUBLIC_URL'] = 'https://edge.example.com';
      shell.env['CULVERT_SERVICE_DOMAIN'] = 'example.com';
      assert.equal(await run('account', 'create', '--name', 'x', '--plan', 'dev', '--subdomain', 'edge'), 1);
    });

    it('say why the database cannot be opened', async () => {
      shell.env['CULVERT_DATABASE_URL'] = `sqlite:${folder}`;
      assert.equal(await run('key', 'create', '--account', 'x'), 1);
      assert.match(
        shell.stderr[0] ?? '',
        /^culvert-relay: cannot open the database .*: unable to open database file$/,
      );
    });
  });
});

function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
