import assert from 'node:assert/strict';
import { trimBlanks } from './trim-blanks.ts';

describe('the white space around a value', () => {
  it('is spaces and tabs, and no byte of a character in UTF-8', () => {
    assert.equal(trimBlanks(' \ta b\t '), 'a b');
    assert.equal(trimBlanks('\xc3\xa0'), '\xc3\xa0');
    assert.equal(trimBlanks(' \t '), '');
  });
});
