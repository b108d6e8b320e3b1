import assert from 'node:assert/strict';
import { ALL_API_ERRORS } from './errors.ts';

describe('the error catalogue', () => {
  it('has unique codes', () => {
    const codes = ALL_API_ERRORS.map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length);
  });
});
