import assert from 'node:assert/strict';
import { visitorWords } from './visitor.ts';

describe('visitorWords', () => {
  const visitors: [string, string][] = [
    ['link:for the review', 'With the link “for the review”.'],
    ['link:10:30', 'With the link “10:30”.'],
    ['link:', 'With a link.'],
    ['link', 'With a link.'],
    ['basic:ann', 'As ann.'],
    ['password', 'With the password.'],
    ['knock', 'Admitted by you.'],
    ['oauth:ann', 'As oauth:ann.'],
  ];
  for (const [visitor, words] of visitors)
    it(`says ${words} for ${visitor}`, () => {
      assert.equal(visitorWords(visitor), words);
    });
});
