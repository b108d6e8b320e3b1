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
      tokens: [
        { name: 'ci', token: undefined },
        { name: '0-9', token: '!'.repeat(24) },
      ],
    };
    assert.deepEqual(readAccess(given), given);
    assert.deepEqual(readAccess({ tokens: null }), OPEN);
    assert.deepEqual(readAccess({ tokens: [{ name: 'ci', token: null }] }).tokens, [
      { name: 'ci', token: undefined },
    ]);
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
      [{ tokens: 'ci' }, /^tokens must be up to 16 objects with name \(1 to 32 lowercase letters, digits/],
      [{ tokens: ['ci'] }, /^tokens must/],
      [{ tokens: [{}] }, /^tokens must/],
      [{ tokens: [{ name: '' }] }, /^tokens must/],
      [{ tokens: [{ name: 'CI' }] }, /^tokens must/],
      [{ tokens: [{ name: 'ci\n' }] }, /^tokens must/],
      [{ tokens: [{ name: 'x'.repeat(33) }] }, /^tokens must/],
      [{ tokens: [{ name: 'ci' }, { name: 'ci' }] }, /^tokens must/],
      [{ tokens: [{ name: 'ci', token: 'x'.repeat(23) }] }, /token \(24 to 256 visible ASCII characters/],
      [{ tokens: [{ name: 'ci', token: 'x'.repeat(257) }] }, /^tokens must/],
      [{ tokens: [{ name: 'ci', token: `${'x'.repeat(24)} x` }] }, /^tokens must/],
      [{ tokens: [{ name: 'ci', token: `${'x'.repeat(24)}\n` }] }, /^tokens must/],
      [{ tokens: [{ name: 'ci', token: 'ä'.repeat(24) }] }, /^tokens must/],
      [{ tokens: Array.from({ length: 17 }, (_, index) => ({ name: `t${index}` })) }, /^tokens must/],
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
