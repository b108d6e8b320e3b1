import assert from 'node:assert/strict';
import { RevokedLinks } from './access-policy.ts';

describe('RevokedLinks', () => {
  it('contain those they are created with and those that are added', () => {
    const links = new RevokedLinks([['a', 100]]);
    assert.equal(links.add([['b', 100]], 0), true);
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => links.has(id)),
      [true, true, false],
    );
  });

  it('keep newer entries when older data is added', () => {
    const links = new RevokedLinks([['a', 100]]);
    assert.equal(links.add([], 0), false);
    assert.equal(links.add([['a', 100]], 0), false);
    assert.equal(links.has('a'), true);
  });

  it('drop ended links on the next addition, and accept none that has ended', () => {
    const links = new RevokedLinks([]);
    assert.equal(links.add([['a', 100]], 100), false);
    links.add([['a', 100]], 99);
    links.add([['b', 200]], 100);
    assert.deepEqual(
      ['a', 'b'].map((id) => links.has(id)),
      [false, true],
    );
  });
});
