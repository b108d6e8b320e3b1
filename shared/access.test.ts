import assert from 'node:assert/strict';
import { ALLOW_MAX, BASIC_USERS_MAX, OPEN, readAccess } from './access.ts';
import { ApiError } from './errors.ts';

const ANN = { user: 'ann', password: 'x' };

const named = (token: unknown): object => ({ name: 'ci', token });

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
      sign_in: ['ann@example.com', '*@example.com', 'group:platform team', '*'],
      oauth: true,
    };
    assert.deepEqual(readAccess(given), given);
    assert.deepEqual(readAccess({ tokens: null }), OPEN);
    assert.deepEqual(readAccess({ sign_in: ['*', '*'] }).sign_in, ['*']);
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
    const users = Array.from({ length: BASIC_USERS_MAX + 1 }, (_, index) => ({ ...ANN, user: `u${index}` }));
    const given: Readonly<Record<string, readonly unknown[]>> = {
      allow: ['10.0.0.0/8', ['10.0.0.0/33'], Array.from({ length: ALLOW_MAX + 1 }, () => '::1')],
      basic: [
        ...[
          { user: 'ann' },
          ...['a:b', '', 'half \ud83e', 'nna\u202e'].map((user) => ({ user, password: 'x' })),
        ].map((one) => [one]),
        [ANN, ANN],
        [{ ...ANN, password: 'a\nb' }],
        users,
      ],
      password: ['abc', 'x'.repeat(129), '🦊🦊🦊', 1234, 'half \udd8a'],
      tokens: [
        'ci',
        ...['ci', {}, ...['', 'CI', 'ci\n', 'x'.repeat(33)].map((name) => ({ name }))].map((one) => [one]),
        [{ name: 'ci' }, { name: 'ci' }],
        ...[
          'x'.repeat(23),
          'x'.repeat(257),
          `${'x'.repeat(24)} x`,
          `${'x'.repeat(24)}\n`,
          'ä'.repeat(24),
        ].map((token) => [named(token)]),
        Array.from({ length: 17 }, (_, index) => ({ name: `t${index}` })),
      ],
      sign_in: [
        '*',
        ...['', 'ann', '@example.com', 'ann@', 'a@b@c', 'änn@example.com', 'ann@*', '**@example.com'].map(
          (rule) => [rule],
        ),
        ...[
          `${'x'.repeat(243)}@example.com`,
          'group:',
          `group:${'x'.repeat(129)}`,
          'group:a\n',
          'group:a\u202e',
          'ann@ex.com\n',
          7,
        ].map((rule) => [rule]),
        Array.from({ length: 33 }, (_, index) => `u${index}@example.com`),
      ],
    };
    const texts: Readonly<Record<string, RegExp>> = {
      allow: /^allow must be up to 64 addresses or ranges/,
      basic: /^basic must be up to 16 objects with user/,
      sign_in: /^sign_in must be up to 32 of ann@example\.com, \*@example\.com, group:NAME or \*$/,
      password: /^password must be 4 to 128 characters$/,
      tokens:
        /^tokens must be up to 16 objects with name \(1 to 32 lowercase letters, digits.*token \(24 to 256 visible ASCII characters/,
    };
    const cases: [unknown, RegExp][] = [
      [[], /^access must be an object$/],
      ['open', /^access must be an object$/],
      [{ pasword: 'secret' }, /^access has no field "pasword"$/],
      [{ links: 'yes' }, /^links must be true or false$/],
      [{ knock: 1 }, /^knock must be true or false$/],
      ...Object.entries(given).flatMap(([field, values]) =>
        values.map((value): [unknown, RegExp] => [{ [field]: value }, texts[field] ?? /^$/]),
      ),
    ];
    for (const [wrong, text] of cases) {
      assert.throws(
        () => readAccess(wrong),
        (error) => {
          assert.ok(error instanceof ApiError);
          assert.equal(error.status, 400);
          assert.equal(error.body.code, 'invalid-access');
          assert.match(error.body.error, text);
          return true;
        },
        JSON.stringify(wrong),
      );
    }
  });
});
