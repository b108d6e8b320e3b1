import assert from 'node:assert/strict';
import { ERROR_HELP } from './error-help.ts';
import { ALL_API_ERRORS, VISITOR_ERRORS } from './errors.ts';

describe('the error catalogue', () => {
  it('has unique codes', () => {
    const codes = ALL_API_ERRORS.map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length);
  });

  it('has a cause and a remedy for each code', () => {
    for (const code of [...ALL_API_ERRORS.map((entry) => entry.code), ...Object.keys(VISITOR_ERRORS)])
      assert.ok(ERROR_HELP[code] !== undefined, code);
    for (const code of Object.keys(ERROR_HELP))
      assert.ok(
        Object.hasOwn(VISITOR_ERRORS, code.replace('visitor:', '')) ||
          ALL_API_ERRORS.some((entry) => entry.code === code),
        code,
      );
  });
});
