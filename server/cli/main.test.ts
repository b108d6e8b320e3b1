import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { VERSION } from '../../shared/version.ts';
import { RevokedKeyError } from '../accounts/bootstrap.ts';
import type { Config } from '../config.ts';
import type { RunningRelay } from '../relay.ts';
import { SETTING_NAMES, variableOf } from '../settings.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { main } from './main.ts';

/** A relay that has stopped when `stopped` is called. */
class FakeRelay implements RunningRelay {
  readonly url = 'http://127.0.0.1:8080';
  readonly reload = undefined;
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

  it('says its version', async () => {
    assert.equal(await main(shell, ['--version'], noRelay), 0);
    assert.deepEqual(shell.stdout, [`culvert-relay ${VERSION}`]);
  });

  it('shows every setting in its help', async () => {
    assert.equal(await main(shell, ['--help'], noRelay), 0);
    const help = shell.stdout.join('\n');
    for (const name of SETTING_NAMES) {
      assert.ok(help.includes(`--${name}`) && help.includes(variableOf(name)), name);
    }
  });

  for (const argv of [['foo'], ['account'], ['serve', 'foo'], ['key', 'forget'], ['constructor']]) {
    it(`does not know "${argv.join(' ')}"`, async () => {
      assert.equal(await main(shell, argv, noRelay), 2);
      assert.deepEqual(shell.stderr, [
        `culvert-relay: there is no command "${argv.join(' ')}"; culvert-relay --help lists them`,
      ]);
    });
  }

  describe('serve', () => {
    it('says on one line where it listens, and shuts down in order at a signal', async () => {
      const relay = new FakeRelay();
      let config: Config | undefined;
      const exit = main(shell, ['--port', '0'], (given) => {
        config = given;
        return Promise.resolve(relay);
      });
      await shell.serving;
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
      await shell.serving;
      shell.signal();
      shell.signal();
      assert.equal(await exit, 1);
      assert.deepEqual(relay.calls, ['stop 30000', 'abort']);
      assert.equal(shell.logged.at(-1)?.[0], 'relay aborted');
    });

    it('logs an error that nobody has caught', async () => {
      void main(shell, ['serve'], () => Promise.resolve(new FakeRelay()));
      await shell.serving;
      const error = new Error('boom');
      shell.crash(error);
      assert.deepEqual(shell.logged.at(-1), ['relay crashed', { error: 'boom', stack: error.stack }]);
    });

    it('exits with 2 and one line for each wrong setting', async () => {
      shell.env['CULVERT_PORT'] = 'x';
      assert.equal(await main(shell, ['--max-ttl', 'x'], noRelay), 2);
      assert.deepEqual(shell.stderr, [
        'culvert-relay: CULVERT_PORT takes a port number from 0 to 65535',
        'culvert-relay: --max-ttl takes a duration from 1s to 87600h0m0s, like 90m or 168h',
      ]);
      assert.deepEqual(shell.stdout, []);
    });

    it('exits with 2 for a bootstrap key that was revoked', async () => {
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

    it('says what to do about a port that cannot be shared', async () => {
      const cluster = {
        CULVERT_REDIS_URL: 'redis://h',
        CULVERT_DATABASE_URL: 'postgres://h/d',
        CULVERT_CLUSTER_SECRET: 's'.repeat(32),
      };
      Object.assign(shell.env, cluster, { CULVERT_REUSE_PORT: 'true' });
      for (const [code, reason] of [
        ['EADDRINUSE', /another program uses it and does not share it; choose another with --port$/],
        ['ENOTSUP', /^this system does not let programs share a port; leave out CULVERT_REUSE_PORT/],
      ] as const) {
        const error = Object.assign(new Error(`listen ${code}`), { code });
        assert.equal(await main(shell, [], () => Promise.reject(error)), 1);
        const [event, fields] = shell.logged.at(-1) ?? [];
        assert.equal(event, 'start refused');
        assert.match(String(fields?.['reason']), reason);
      }
    });

    it('says which of its ports is taken', async () => {
      const error = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', port: 9100 });
      await main(shell, ['--metrics-port', '9100'], () => Promise.reject(error));
      const reason =
        'cannot listen on 127.0.0.1 port 9100: another program uses it; choose another with --metrics-port';
      assert.deepEqual(shell.logged.at(-1), ['start refused', { reason }]);
    });
  });
});
