import assert from 'node:assert/strict';
import { RevokedKeyError } from '../accounts/accounts.ts';
import { type Config, loadConfig } from '../config.ts';
import { HandoffError } from '../handoff/take.ts';
import { OtherAddressError, type Place } from '../listeners.ts';
import type { LogEvent, LogFields } from '../log.ts';
import type { RunningRelay } from '../relay.ts';
import { ALL_SETTINGS } from '../settings.ts';
import { DatabaseInUseError } from '../store/store-errors.ts';
import { FakeShell } from '../testing/fake-shell.ts';
import { ALL_USAGES } from './commands.ts';
import { main, translateWords } from './main.ts';

/** A relay that has stopped when `stopped` is called. */
class FakeRelay implements RunningRelay {
  readonly announced = Promise.resolve();
  readonly url = 'http://127.0.0.1:8080';
  readonly isNew: boolean;
  readonly reload = undefined;
  readonly #replaced = Promise.withResolvers<void>();
  readonly replaced = this.#replaced.promise;
  readonly calls: string[] = [];
  readonly #stopped = Promise.withResolvers<void>();

  constructor(isNew = false) {
    this.isNew = isNew;
  }

  async stop(deadlineMs: number): Promise<void> {
    this.calls.push(`stop ${deadlineMs}`);
    await this.#stopped.promise;
  }

  stopped(): void {
    this.#stopped.resolve();
  }

  /** Hands off to another relay. */
  replace(): void {
    this.#replaced.resolve();
  }

  abort(): void {
    this.calls.push('abort');
  }
}

const listening = (code: string, port?: number): Error =>
  Object.assign(new Error(`listen ${code}`), { code, ...(port !== undefined && { port }) });
const noRelay = () => assert.fail('no relay should start');

describe('culvert-relay', () => {
  let shell: FakeShell;

  beforeEach(() => {
    shell = new FakeShell();
  });

  function logged(event: LogEvent): LogFields[] {
    return shell.logged.filter(([name]) => name === event).map(([, fields]) => fields);
  }

  /** Has a relay serve, and end. */
  async function serveOnce(argv: readonly string[], isNew: boolean): Promise<void> {
    const relay = new FakeRelay(isNew);
    const exit = main(shell, ['--data-dir', '/data', ...argv], () => Promise.resolve(relay));
    await shell.serving;
    shell.signal();
    relay.stopped();
    await exit;
  }

  it('shows every setting in its help', async () => {
    assert.equal(await main(shell, ['--help'], noRelay), 0);
    const text = shell.stdout.join('\n');
    for (const { name, variable } of ALL_SETTINGS) {
      assert.ok(text.includes(`--${name}`) && text.includes(variable), name);
    }
  });

  /** The text of `--help` and the like. */
  async function help(...argv: string[]): Promise<string> {
    assert.equal(await main(shell, argv, noRelay), 0);
    return shell.stdout.splice(0).join('\n');
  }

  describe('help', () => {
    for (const { words, options, examples } of ALL_USAGES) {
      it(`explains "${words}" alone, with its options`, async () => {
        const text = await help('help', ...words.split(' '));
        assert.ok(text.includes(`culvert-relay ${words}`));
        for (const option of Object.keys(options)) assert.ok(text.includes(`--${option}`), option);
        assert.equal(await help(...words.split(' '), '--help'), text);
        if (words !== 'serve') assert.doesNotMatch(text, /CULVERT_PORT/);
      });

      it(`has examples of "${words}" that work as typed`, () => {
        assert.notDeepEqual(examples, {});
        for (const line of Object.keys(examples)) {
          const typed = line
            .replaceAll(/'([^']*)'/g, (_, text: string) => text.replaceAll(' ', '_'))
            .split(' ')
            .slice(1);
          const name = words === 'serve' && typed[0] !== 'serve' ? [] : words.split(' ');
          assert.deepEqual(typed.slice(0, name.length), name);
          const types = Object.entries(options).map(([option, { value }]) => {
            return [
              option,
              { type: value === undefined ? ('boolean' as const) : ('string' as const) },
            ] as const;
          });
          const result = loadConfig({}, typed.slice(name.length), Object.fromEntries(types), 1);
          assert.ok('config' in result, `${line}: ${JSON.stringify(result)}`);
        }
      });
    }

    it('is that of --help without a command', async () => {
      assert.equal(await help('help'), await help('--help'));
    });
  });

  it('understands aliases', () => {
    for (const [typed, meant] of [
      ['key rm ID', 'key revoke ID'],
      ['keys', 'key list'],
      ['start --port 0', 'serve --port 0'],
      ['account create --name ls', 'account create --name ls'],
    ] as const)
      assert.deepEqual(translateWords(typed.split(' ')), meant.split(' '));
  });

  describe('serve', () => {
    it('logs its address on one line, and shuts down in order at a signal', async () => {
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

    describe('at the first start', () => {
      it('shows a person what to set next', async () => {
        shell.isTerminal = true;
        await serveOnce([], true);
        const shown = shell.stderr.join('\n');
        for (const part of [
          'culvert login --relay http://localhost:8080 ',
          'CULVERT_PUBLIC_URL=',
          'CULVERT_TUNNEL_DOMAIN=',
          'CULVERT_ACME_EMAIL=',
          '*.tunnels.example.com',
          ' 443 and 80',
          '/data/culvert.db',
          'culvert-relay help serve',
        ])
          assert.ok(shown.includes(part), `${part} in ${shown}`);
        assert.deepEqual(logged('first start'), []);
      });

      it('points to it in the log without a terminal', async () => {
        await serveOnce([], true);
        assert.deepEqual(logged('first start'), [{ data: '/data', next: 'culvert-relay help serve' }]);
        assert.deepEqual(shell.stderr, []);
      });

      for (const [when, argv, isNew] of [
        ['at a later one', [], false],
        ['with a public URL', ['--public-url', 'http://localhost'], true],
      ] as const)
        it(`shows none of it ${when}`, async () => {
          shell.isTerminal = true;
          await serveOnce(argv, isNew);
          assert.deepEqual(shell.stderr, []);
        });
    });

    it('logs what is missing beside a public URL', async () => {
      await serveOnce(['--public-url', 'https://relay.test'], false);
      assert.deepEqual(
        logged('setting missing').map(({ setting }) => setting),
        ['CULVERT_TUNNEL_DOMAIN', 'CULVERT_ACME_EMAIL'],
      );
    });

    it('logs the variables of a Kubernetes service in one line', async () => {
      Object.assign(shell.env, { CULVERT_SERVICE_HOST: '10.0.0.7', CULVERT_PORT: 'tcp://10.0.0.7:80' });
      await serveOnce([], false);
      assert.deepEqual(logged('setting ignored'), [{ settings: 'CULVERT_PORT CULVERT_SERVICE_HOST' }]);
    });

    it('logs that all proxies are trusted, and serves', async () => {
      await serveOnce(['--trust-proxy', '0.0.0.0/0'], false);
      const [unsafe] = logged('setting unsafe');
      assert.equal(unsafe?.['setting'], 'CULVERT_TRUST_PROXY');
      assert.match(String(unsafe?.['reason']), /list only the proxies/);
    });

    it('exits immediately at a second signal', async () => {
      const relay = new FakeRelay();
      const exit = main(shell, ['serve'], () => Promise.resolve(relay));
      await shell.serving;
      shell.signal();
      await new Promise(setImmediate);
      shell.signal();
      assert.equal(await exit, 1);
      assert.deepEqual(relay.calls, ['stop 30000', 'abort']);
      assert.equal(shell.logged.at(-1)?.[0], 'relay aborted');
    });

    it('ends its start at a signal, which no longer commits', async () => {
      const going = Promise.withResolvers<void>();
      const served: string[] = [];
      const exit = main(shell, ['serve'], async (_config, { commit }) => {
        going.resolve();
        await exit;
        await commit();
        served.push('a visitor');
        return new FakeRelay();
      });
      await going.promise;
      shell.signal();
      assert.equal(await exit, 0);
      await new Promise(setImmediate);
      assert.deepEqual(served, []);
      assert.deepEqual(
        shell.logged.map(([event]) => event),
        ['relay starting', 'relay stopped'],
      );
    });

    it('stops in order at a signal between its commitment and its service', async () => {
      const relay = new FakeRelay();
      relay.stopped();
      const exit = main(shell, ['serve'], async (_config, { commit }) => {
        await commit();
        shell.signal();
        return relay;
      });
      assert.equal(await exit, 0);
      assert.deepEqual(relay.calls, ['stop 30000']);
    });

    it('ends immediately at a second signal while its start hangs, and in order if the start fails after a first one', async () => {
      const hangs = Promise.withResolvers<RunningRelay>();
      for (const [signals, code] of [
        [2, 1],
        [1, 0],
      ] as const) {
        const exit = main(shell, ['serve'], async (_config, { commit }) => {
          await commit();
          for (let count = 0; count < signals; count += 1) shell.signal();
          if (signals === 1) hangs.reject(new Error('a process of the relay ended at its start'));
          return await hangs.promise;
        });
        assert.equal(await exit, code);
      }
    });

    it('ends in order when another relay has taken over', async () => {
      const relay = new FakeRelay();
      const exit = main(shell, ['serve', '--replace'], (_config, _operator, replaces) => {
        assert.equal(replaces, true);
        return Promise.resolve(relay);
      });
      await shell.serving;
      relay.replace();
      await relay.replaced;
      relay.stopped();
      assert.equal(await exit, 0);
      assert.deepEqual(
        shell.logged.map(([event]) => event),
        ['relay starting', 'listening', 'relay replaced', 'relay stopped'],
      );
    });

    it('limits how its memory grows once it has started', async () => {
      const exit = main(shell, ['serve'], async () => {
        assert.equal(shell.isLimited, false);
        return new FakeRelay();
      });
      await shell.serving;
      assert.equal(shell.isLimited, true);
      void exit;
    });

    it('runs in the background with --detach', async () => {
      assert.equal(await main(shell, ['--replace', '--detach', '--port', '1'], noRelay), 0);
      assert.deepEqual(shell.stdout, ['serve --replace --port 1']);
    });

    it('logs an uncaught error', async () => {
      void main(shell, ['serve'], () => Promise.resolve(new FakeRelay()));
      await shell.serving;
      const error = new Error('boom');
      shell.crash(error);
      assert.deepEqual(shell.logged.at(-1), ['relay crashed', { error: 'boom', stack: error.stack }]);
    });

    const [here, there] = [8080, 443].map((port) => ({ host: '::', port }));
    const cluster = {
      CULVERT_REDIS_URL: 'redis://h',
      CULVERT_DATABASE_URL: 'postgres://h/d',
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
      CULVERT_REUSE_PORT: 'true',
    };
    /** The reason is in the log with code 1, and on stderr with code 2. */
    for (const [what, argv, error, code, reason, env] of [
      [
        'the service manager listens at another address',
        ['serve'],
        new OtherAddressError('visitors', here as Place, there as Place),
        2,
        /listens on \[::\]:8080, but .* say \[::\]:443: set ListenStream/,
      ],
      [
        'there is no relay on another port to replace',
        ['serve', '--replace', '--port', '443'],
        new DatabaseInUseError('/data/culvert.db', '--data-dir'),
        1,
        /^no relay on port 443 .*, but another relay is using .*To change CULVERT_PORT .*, restart the relay/,
      ],
      [
        'the running relay is not replaced',
        ['--replace'],
        new HandoffError('another relay is already replacing it'),
        1,
        /^the running relay continues: another relay is already replacing it$/,
      ],
      [
        'the bootstrap key was revoked',
        [],
        new RevokedKeyError(),
        2,
        /^culvert-relay: CULVERT_BOOTSTRAP_KEY must be a key that was not revoked; set a different key, or remove the setting$/,
      ],
      [
        'its port is in use',
        [],
        listening('EADDRINUSE'),
        1,
        /^cannot listen on 127\.0\.0\.1 port 8080: another program is using it; choose a different port with --port$/,
      ],
      [
        'its port for metrics is in use',
        ['--metrics-port', '9100'],
        listening('EADDRINUSE', 9100),
        1,
        /^cannot listen on 127\.0\.0\.1 port 9100: another program is using it; choose a different port with --metrics-port$/,
      ],
      [
        'its port is not shared',
        [],
        listening('EADDRINUSE'),
        1,
        /another program is using it and does not share it; choose a different port with --port$/,
        cluster,
      ],
      [
        'the system does not share ports',
        [],
        listening('ENOTSUP'),
        1,
        /^this system does not allow programs to share a port; remove CULVERT_REUSE_PORT/,
        cluster,
      ],
    ] as readonly [string, string[], Error, number, RegExp, object?][])
      it(`explains with code ${code} that ${what}`, async () => {
        Object.assign(shell.env, env);
        assert.equal(await main(shell, argv, () => Promise.reject(error)), code);
        const refused = logged('start refused').map((fields) => String(fields['reason']));
        assert.match((code === 1 ? refused : shell.stderr).join('\n'), reason);
        assert.deepEqual(code === 1 ? shell.stderr : refused, []);
      });
  });
});
