import assert from 'node:assert/strict';
import { ALLOW_MAX, BASIC_USERS_MAX, OPEN, readAccess } from './access.ts';
import { ApiError } from './errors.ts';

const ANN = { user: 'ann', password: 'x' };

describe('readAccess', () => {
  it('reads the given fields, and treats missing ones as unset', () => {
    for (const given of [undefined, null, {}, { allow: null, basic: [], password: null, links: false }])
      assert.deepEqual(readAccess(given), OPEN);
    const given = {
      allow: ['10.0.0.0/8', '::1'],
      basic: [ANN],
      password: 'mild oak fern',
      links: true,
      knock: true,
    };
    assert.deepEqual(readAccess(given), given);
  });

  it('accepts values at the limits', () => {
    const allow = Array.from({ length: ALLOW_MAX }, (_, index) => `10.0.0.${index}`);
    const basic = Array.from({ length: BASIC_USERS_MAX }, (_, index) => ({
      user: `u${index}`,
      password: 'p'.repeat(128),
    }));
    assert.equal(readAccess({ allow }).allow.length, ALLOW_MAX);
    assert.equal(readAccess({ basic }).basic.length, BASIC_USERS_MAX);
    for (const password of ['abcd', 'x'.repeat(128), 'äöü…', '🦊🦊🦊🦊'])
      assert.equal(readAccess({ password }).password, password);
  });

  it('names the field that is invalid, and what it accepts', () => {
    const cases: [unknown, RegExp][] = [
      [[], /^access must be an object$/],
      ['open', /^access must be an object$/],
      [{ pasword: 'secret' }, /^access has no field "pasword"$/],
      [{ allow: '10.0.0.0/8' }, /^allow must be up to 64 addresses or ranges/],
      [{ allow: ['10.0.0.0/33'] }, /^allow must/],
      [{ allow: Array.from({ length: ALLOW_MAX + 1 }, () => '::1') }, /^allow must/],
      [{ basic: [{ user: 'ann' }] }, /^basic must be up to 16 objects with user/],
      [{ basic: [{ user: 'a:b', password: 'x' }] }, /^basic must/],
      [{ basic: [{ user: '', password: 'x' }] }, /^basic must/],
      [{ basic: [{ user: 'half \ud83e', password: 'x' }] }, /^basic must/],
      [{ basic: [ANN, ANN] }, /^basic must/],
      [{ basic: [{ ...ANN, password: 'a\nb' }] }, /^basic must/],
      [
        { basic: Array.from({ length: BASIC_USERS_MAX + 1 }, (_, index) => ({ ...ANN, user: `u${index}` })) },
        /^basic must/,
      ],
      [{ password: 'abc' }, /^password must be 4 to 128 characters$/],
      [{ password: 'x'.repeat(129) }, /^password must/],
      [{ password: '🦊🦊🦊' }, /^password must/],
      [{ password: 1234 }, /^password must/],
      [{ password: 'half \udd8a' }, /^password must/],
      [{ links: 'yes' }, /^links must be true or false$/],
      [{ knock: 1 }, /^knock must be true or false$/],
    ];
    for (const [given, text] of cases) {
      assert.throws(
        () => readAccess(given),
        (error) => {
          assert.ok(error instanceof ApiError);
          assert.equal(error.status, 400);
          assert.equal(error.body.code, 'invalid-access');
          assert.match(error.body.error, text);
          return true;
        },
        JSON.stringify(given),
      );
    }
  });
});
