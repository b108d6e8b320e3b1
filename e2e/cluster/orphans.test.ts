import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually, within } from '../support/deadline.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MOCHA = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'));
const FIXTURE = fileURLToPath(new URL('orphans-fixture.ts', import.meta.url));

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
    const mocha = spawn(process.execPath, [MOCHA, FIXTURE], {
      cwd: ROOT,
      env: { ...process.env, TMPDIR: temporary },
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

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
