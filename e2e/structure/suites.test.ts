import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { SUITES } from '../suites.ts';

describe('the suites', () => {
  it('run every test file of e2e, in exactly one of them', () => {
    const suites = SUITES.filter(({ name }) => name !== 'main' && name !== 'workers');
    const ran = suites.flatMap(({ command }) => {
      const patterns = command.filter((argument) => argument.includes('.test.ts'));
      return [...new Set(patterns.flatMap((pattern) => globSync(pattern)))];
    });
    const there = globSync('e2e/**/*.test.ts');
    assert.deepEqual(ran.filter((file) => file.startsWith('e2e')).toSorted(), there.toSorted());
  });
});
