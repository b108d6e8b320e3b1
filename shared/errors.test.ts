import assert from 'node:assert/strict';
import { ALL_API_ERRORS, API_ERRORS, ApiError, withValues } from './errors.ts';

describe('the error catalogue', () => {
  it('has unique codes', () => {
    const codes = ALL_API_ERRORS.map(({ code }) => code);
    assert.equal(new Set(codes).size, codes.length);
  });
});

describe('the body of an error', () => {
  const bodies: readonly (readonly [what: string, error: ApiError, body: object])[] = [
    [
      'has no values if its text has none',
      new ApiError(API_ERRORS.nameTaken),
      { error: 'name already in use', code: 'name-taken' },
    ],
    [
      'has the values of its text, unchanged even if they look like placeholders',
      new ApiError(withValues(API_ERRORS.noSuch, { kind: 'account', name: '{kind} $& {name}' })),
      {
        error: 'there is no account "{kind} $& {name}"',
        code: 'no-such-thing',
        values: { kind: 'account', name: '{kind} $& {name}' },
      },
    ],
    [
      'has the code of words, and the values in them',
      new ApiError(
        withValues(API_ERRORS.invalidDomain, {
          problem: { code: 'long', text: 'must have at most 244 characters', values: { max: 244 } },
        }),
      ),
      {
        error: 'the domain must have at most 244 characters',
        code: 'invalid-domain',
        values: { problem: 'long', max: 244 },
      },
    ],
  ];
  for (const [what, { body }, expected] of bodies) it(what, () => assert.deepEqual(body, expected));
});
