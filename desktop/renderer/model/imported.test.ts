import assert from 'node:assert/strict';
import { importedWords } from './imported.ts';

describe('what is said of an import', () => {
  it('is how many there are', () => {
    assert.deepEqual(importedWords({ ids: [1], leftOut: [], hasRedacted: false }), [
      '1 request is imported.',
    ]);
    assert.deepEqual(importedWords({ ids: [1, 2], leftOut: [], hasRedacted: false }), [
      '2 requests are imported.',
    ]);
  });

  it('is also what was left out, and what is missing in the others', () => {
    const leftOut = Array.from({ length: 7 }, (_, index) => `No ${index}\u202e.`);
    const words = importedWords({ ids: [], leftOut, hasRedacted: true });
    assert.equal(words.length, 8);
    assert.equal(words[1], 'No 0\\u{202e}.');
    assert.deepEqual(words.slice(-2), [
      '2 more are left out.',
      'Some have [redacted] in place of secrets: write them with Edit and send.',
    ]);
  });
});
