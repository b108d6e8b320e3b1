import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { takeLink } from './link-parameter.ts';

describe('the parameter of a signed link', () => {
  const cases: [asked: string, target: string, link: string | undefined][] = [
    ['/', '/', undefined],
    ['/x?culvert_pass=abc', '/x', 'abc'],
    ['/x?a=1&culvert_pass=abc', '/x?a=1', 'abc'],
    ['/x?culvert_pass=abc&a=1', '/x?a=1', 'abc'],
    ['/x?%61=%2F+&&b;c&culvert_pass=abc&d=e=f&', '/x?%61=%2F+&&b;c&d=e=f&', 'abc'],
    ['/x?culvert_pass=a=b', '/x', 'a=b'],
    ['/x?culvert_pass=', '/x', ''],
    ['/x?culvert_pass', '/x', ''],
    ['/x?&culvert_pass=abc', '/x?', 'abc'],
    ['//x/../y?culvert_pass=abc', '//x/../y', 'abc'],
    ['/x?y?culvert_pass=abc', '/x?y?culvert_pass=abc', undefined],
    ['/x?y?&culvert_pass=abc', '/x?y?', 'abc'],
    ['/culvert_pass=abc', '/culvert_pass=abc', undefined],
    ['/x?xculvert_pass=abc&culvert_passx=d', '/x?xculvert_pass=abc&culvert_passx=d', undefined],
    ['/x?Culvert_Pass=abc', '/x?Culvert_Pass=abc', undefined],
    ['/x?culvert%5Fpass=abc', '/x?culvert%5Fpass=abc', undefined],
    ['/x?a=culvert_pass', '/x?a=culvert_pass', undefined],
    ['/x?culvert_pass=a&culvert_pass=b', '/x', ''],
    ['/x?culvert_pass=a&c&culvert_pass=a', '/x?c', ''],
  ];
  for (const [asked, target, link] of cases) {
    it(`is taken out of ${asked}`, () => assert.deepEqual(takeLink(asked), { target, link }));
  }

  it('leaves everything else byte for byte, wherever it is', () => {
    const piece = fc.string({
      unit: fc.constantFrom('a', '=', '%', ';', '?', '/', '\u00e9', 'culvert_pas', 's'),
    });
    const others = fc.array(piece.filter((text) => text.split('=')[0] !== 'culvert_pass'));
    fc.assert(
      fc.property(others, fc.nat(), (parameters, place) => {
        const target = parameters.length === 0 ? '/x' : `/x?${parameters.join('&')}`;
        const asked = `/x?${parameters.toSpliced(place % (parameters.length + 1), 0, 'culvert_pass=abc').join('&')}`;
        assert.deepEqual(takeLink(asked), { target, link: 'abc' });
        assert.deepEqual(takeLink(target), { target, link: undefined });
      }),
    );
  });
});
