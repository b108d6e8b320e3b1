import assert from 'node:assert/strict';
import { PASSWORD_RULE } from '../../shared/access.ts';
import { inventPassword, WORDS } from './invented-password.ts';

describe('inventPassword', () => {
  it('chooses three words, each equally likely', () => {
    const drawn: number[] = [];
    const indices = [0, WORDS.length - 1, 7];
    const password = inventPassword((below) => {
      drawn.push(below);
      return indices.shift() ?? 0;
    });
    assert.equal(password, [WORDS[0], WORDS.at(-1), WORDS[7]].join('-'));
    assert.deepEqual(drawn, [WORDS.length, WORDS.length, WORDS.length]);
  });

  it('returns a different one each time, which the relay accepts', () => {
    const made = Array.from({ length: 100 }, () => inventPassword());
    assert.ok(new Set(made).size > 98);
    for (const password of made) assert.ok(PASSWORD_RULE.accepts(password), password);
  });

  it('has at least 1,024 distinct words, short and of plain letters', () => {
    assert.ok(WORDS.length >= 1024, String(WORDS.length));
    assert.equal(new Set(WORDS).size, WORDS.length);
    for (const word of WORDS) assert.match(word, /^[a-z]{3,8}$/);
  });
});
