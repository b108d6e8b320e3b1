import assert from 'node:assert/strict';
import { ALL_API_ERRORS, API_ERRORS, ApiError, ERROR_VALUES_FIELD, withValues } from './errors.ts';

describe('the error catalogue', () => {
  it('has unique codes', () => {
    const codes = ALL_API_ERRORS.map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length);
  });
});

describe('an error of the catalogue', () => {
  const errors: readonly (readonly [
    what: string,
    error: ApiError,
    text: string,
    values: object | undefined,
  ])[] = [
    [
      'has no values if its text has none',
      new ApiError(API_ERRORS.nameTaken),
      'name already in use',
      undefined,
    ],
    [
      'has the values of its text, unchanged even if they look like placeholders',
      new ApiError(withValues(API_ERRORS.noSuch, { kind: 'account', name: '{kind} $& {name}' })),
      'there is no account "{kind} $& {name}"',
      { kind: 'account', name: '{kind} $& {name}' },
    ],
    [
      'has the code of words, and the values in them',
      new ApiError(
        withValues(API_ERRORS.invalidDomain, {
          problem: { code: 'long', text: 'must have at most 244 characters', values: { max: 244 } },
        }),
      ),
      'the domain must have at most 244 characters',
      { problem: 'long', max: 244 },
    ],
    [
      'has values of any characters, in a field of visible ones',
      new ApiError(withValues(API_ERRORS.accountSuspended, { reason: 'für\r\n🦊\u007f' })),
      'this account is suspended: für\r\n🦊\u007f',
      { reason: 'für\r\n🦊\u007f' },
    ],
    [
      'has no values that are too long for a head',
      new ApiError(withValues(API_ERRORS.accountSuspended, { reason: 'x'.repeat(2100) })),
      `this account is suspended: ${'x'.repeat(2100)}`,
      undefined,
    ],
  ];
  for (const [what, { body, headers }, text, values] of errors)
    it(what, () => {
      assert.deepEqual(Object.keys(body), ['error', 'code']);
      assert.equal(body.error, text);
      const field = headers[ERROR_VALUES_FIELD];
      assert.match(field ?? '', /^[ -~]*$/);
      assert.deepEqual(field && JSON.parse(field), values);
    });
});
