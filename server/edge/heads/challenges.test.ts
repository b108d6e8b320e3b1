import assert from 'node:assert/strict';
import { challengeBelow } from './challenges.ts';

describe('challengeBelow', () => {
  for (const [given, passed] of [
    ['Basic realm="shop"', 'Basic realm="/t/abc shop"'],
    ['basic realm=shop', 'Basic realm="/t/abc shop"'],
    ['BASIC  realm = "a b, c" , charset="utf-8"', 'Basic realm="/t/abc a b, c", charset="UTF-8"'],
    ['Basic realm=""', 'Basic realm="/t/abc "'],
    ['Bearer realm="shop"', 'Bearer realm="shop"'],
    ['Bearer error="not basically"', 'Bearer error="not basically"'],
    // Challenges that browsers might read differently, or keep for the origin.
    ['Basic', undefined],
    ['Basic realm="shop", realm="/t/evil x"', undefined],
    ['Basic realm="a\\"b"', undefined],
    ['Basic charset="UTF-8", realm="shop"', undefined],
    ['Bearer, Basic realm="shop"', undefined],
    ['Basic realm="shop", Digest realm="shop", nonce="x"', undefined],
    ['Digest realm="shop", nonce="x"', undefined],
    ['Negotiate', undefined],
    ['NTLM TlRMTVNTUAAB', undefined],
  ] as const) {
    it(`${passed === undefined ? 'drops' : 'passes on'} ${given}`, () => {
      assert.equal(challengeBelow(given, '/t/abc', false), passed);
    });
  }

  it('does not ask for a password at the bare prefix, from where browsers would send it to all of /t/', () => {
    assert.equal(challengeBelow('Basic realm="shop"', '/t/abc', true), undefined);
    assert.equal(challengeBelow('Bearer', '/t/abc', true), 'Bearer');
  });
});
