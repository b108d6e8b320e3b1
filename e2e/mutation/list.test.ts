import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MUTATIONS } from './list.ts';
import { replaceOnce, ROOT } from './workspace.ts';

describe('the list of deliberate breaks', () => {
  for (const { file, find, replace, notice } of MUTATIONS) {
    it(`still fits ${file}: ${notice}`, () => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      assert.notEqual(replaceOnce(text, find, replace), undefined, `not there exactly once: ${find}`);
    });
  }

  it('tells its breaks apart', () => {
    assert.equal(new Set(MUTATIONS.map(({ notice }) => notice)).size, MUTATIONS.length);
  });
});
