import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually, within } from '../support/deadline.ts';
import { newDatabase, PostgresServer } from '../support/postgres.ts';
import { Relay, temporaryDirectory } from '../support/programs.ts';
import { RedisServer } from '../support/redis.ts';
import { runScope, suiteScope } from '../support/scope.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MOCHA = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
/** Tells this file that it is the suite to be killed. */
const IS_KILLED = 'TEST_IS_KILLED';

if (process.env[IS_KILLED] === undefined)
  describe('tests that are killed', function () {
    const scope = suiteScope();

    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      it(`leave no program and no file behind when killed by ${signal}`, async () => {
        const temporary = temporaryDirectory(scope);
        // PostgreSQL runs as another user.
        chmodSync(temporary, 0o711);
        const { pids, mocha } = await startFixture(temporary);
        assert.ok(pids.length > 5, `${pids.length} programs`);
        for (const pid of pids) assert.ok(isRunning(pid), `${pid}`);
        assert.ok(readdirSync(temporary).length >= 3, String(readdirSync(temporary)));
        mocha.kill(signal);
        // At SIGINT mocha lets the running test finish.
        await within(20_000, 'end of mocha', once(mocha, 'close'));
        await eventually(20_000, () => {
          assert.deepEqual(pids.filter(isRunning), []);
          assert.deepEqual(readdirSync(temporary), []);
        });
      });
    }

    async function startFixture(temporary: string) {
      const mocha = spawn(process.execPath, [MOCHA, import.meta.filename], {
        cwd: ROOT,
        env: { ...process.env, TMPDIR: temporary, [IS_KILLED]: '1' },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      scope.defer(() => mocha.kill('SIGKILL'));
      const said: string[] = [];
      for await (const line of createInterface({ input: mocha.stdout })) {
        said.push(line);
        if (line.startsWith('{')) {
          const { pids } = JSON.parse(line) as { pids: number[] };
          mocha.stdout.resume();
          return { pids, mocha };
        }
      }
      throw new Error(`it did not begin: ${said.join('\n')}`);
    }
  });
else
  /** Killed while everything that suites start is running. */
  describe('a suite', () => {
    const scope = runScope;
    before(async function () {
      const postgres = await PostgresServer.start();
      const redis = await RedisServer.start(scope);
      const relay = await Relay.start(scope, {
        CULVERT_DATABASE_URL: await newDatabase(scope, postgres.url),
        CULVERT_REDIS_URL: redis.url,
        CULVERT_CLUSTER_SECRET: 's'.repeat(32),
      });
      const backends = execFileSync('ps', ['-o', 'pid=', '--ppid', String(postgres.pid)], {
        encoding: 'utf8',
      });
      // A frozen server cannot notice that its parent is gone.
      postgres.freeze();
      const pids = [postgres.pid, redis.pid, relay.child.pid, ...backends.trim().split(/\s+/).map(Number)];
      console.log(JSON.stringify({ pids }));
    });

    it('that is interrupted', async () => {
      await new Promise(() => {});
    }).timeout(5000);
  });

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
