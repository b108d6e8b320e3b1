import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS, variableOf } from '../../server/settings.ts';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const DEPLOY = new URL('../../server/deploy/', import.meta.url);
const UNIT = 'culvert-relay.service';

describe('server/deploy', () => {
  const scope = suiteScope();

  for (const file of [UNIT, 'Dockerfile', 'nginx.conf', 'Caddyfile', '../../docs/operating.md']) {
    it(`${file} names only settings that there are`, () => {
      const names = readFileSync(new URL(file, DEPLOY), 'utf8').match(/CULVERT_[A-Z_]+/g) ?? [];
      const known = new Set(SETTINGS.map(({ name }) => variableOf(name)));
      assert.deepEqual(
        names.filter((name) => !known.has(name)),
        [],
      );
    });
  }

  it(`${UNIT} is right in the eyes of systemd, and keeps the relay away from what it does not need`, function () {
    if (spawnSync('systemd-analyze', ['--version']).status !== 0) this.skip();
    const path = join(temporaryDirectory(scope), UNIT);
    // systemd looks whether the program is there.
    writeFileSync(
      path,
      readFileSync(new URL(UNIT, DEPLOY), 'utf8').replace('/usr/local/bin/culvert-relay', '/bin/true'),
    );
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
    assert.deepEqual([status, stderr.includes(UNIT)], [0, false], stderr);
    // Tenths of what it calls exposure: 10 is all that a service may, beyond 2 this fails.
    execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', path], {
      stdio: 'pipe',
    });
  });
});
