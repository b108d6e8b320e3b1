import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../support/programs.ts';
import { suiteScope } from '../support/scope.ts';

const RULES = fileURLToPath(new URL('../../server/deploy/prometheus-rules.yml', import.meta.url));

/** Debian's `prometheus` has promtool. */
describe('server/deploy/prometheus-rules.yml', () => {
  const scope = suiteScope();

  it('is valid for Prometheus', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' });
    assert.deepEqual([status, /SUCCESS/.test(stdout)], [0, true], stderr);
  });

  it('fires on its condition after a while, and not before', () => {
    const tests = readFileSync(new URL('prometheus-rules.yml', import.meta.url), 'utf8');
    const file = join(temporaryDirectory(scope), 'tests.yml');
    writeFileSync(file, tests.replace('RULES', RULES));
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  });
});
