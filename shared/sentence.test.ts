import assert from 'node:assert/strict';
import { withoutEnd } from './sentence.ts';

describe('withoutEnd', () => {
  for (const [text, without] of [
    ['is it paid ??', 'is it paid'],
    ['too many. ', 'too many'],
    ['wait…', 'wait'],
    ['did you mean port?', 'did you mean port'],
    ['port? 3000', 'port? 3000'],
    ['? ?', ''],
  ] as const)
    it(`leaves "${without}" of "${text}"`, () => assert.equal(withoutEnd(text), without));
});
