import assert from 'node:assert/strict';
import { assert as assertProperty, constantFrom, property, string } from 'fast-check';
import { NAME_PATTERN } from '../../../shared/constraints.ts';
import { nameProblem, tidyName } from './name-rules.ts';

describe('name rules', () => {
  const cases: readonly [name: string, problem: RegExp | undefined][] = [
    ['', undefined],
    ['shop-demo', undefined],
    ['a1', undefined],
    ['a', /at least 2/],
    ['-a', /Start with/],
    ['shop-', /End with/],
    ['xn--shop', /xn--/],
    ['shop demo', /^A space/],
    ['shöp', /^"ö"/],
    ['a'.repeat(63), undefined],
    ['a'.repeat(64), /at most 63 characters; this has 64/],
  ];
  for (const [name, problem] of cases) {
    it(`${problem === undefined ? 'takes' : 'explains'} "${name.slice(0, 20)}" (${name.length})`, () => {
      const found = nameProblem(name);
      if (problem === undefined) assert.equal(found, undefined);
      else assert.match(found ?? '', problem);
    });
  }

  it('says that a name is taken by a tunnel of the user', () => {
    assert.match(nameProblem('shop', new Set(['shop'])) ?? '', /already have/);
  });

  it('agrees with the rule of the relay on every name', () => {
    const typed = string({
      unit: constantFrom('a', 'z', '0', '-', 'x', 'n', 'A', ' '),
      minLength: 1,
      maxLength: 70,
    });
    assertProperty(property(typed, (name) => (nameProblem(name) === undefined) === NAME_PATTERN.test(name)));
  });

  it('corrects capitals and spaces', () => assert.equal(tidyName('My Shop_demo'), 'my-shop-demo'));
});
