import assert from 'node:assert/strict';
import { RevokedLinks } from './access-policy.ts';

describe('RevokedLinks', () => {
  it('have those that they begin with, and those that are added', () => {
    const links = new RevokedLinks([['a', 100]]);
    assert.equal(links.add([['b', 100]], 0), true);
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => links.has(id)),
      [true, true, false],
    );
  });

  it('lose none to what was read earlier', () => {
    const links = new RevokedLinks([['a', 100]]);
    assert.equal(links.add([], 0), false);
    assert.equal(links.add([['a', 100]], 0), false);
    assert.equal(links.has('a'), true);
  });

  it('forget those that have ended with the next one, and take none that has', () => {
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
