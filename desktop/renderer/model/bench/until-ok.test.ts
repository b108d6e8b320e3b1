import assert from 'node:assert/strict';
import { isOk, nextTry, TRIES_MAX, UNTIL_MS } from './until-ok.ts';

describe('a request that is repeated until it succeeds', () => {
  it('is sent again after 2 s, then less and less often, every 30 s at last', () => {
    const waits = Array.from({ length: 9 }, (_, index) => nextTry(index + 1, false, 0));
    assert.deepEqual(waits.slice(0, 3), [2000, 3000, 4500]);
    assert.equal(waits.at(-1), 30_000);
  });

  it('looks every second whether a server that is not there listens again', () => {
    assert.deepEqual([nextTry(0, true, 0), nextTry(9, true, 0)], [1000, 1000]);
  });

  it('is over after 30 tries or 10 minutes', () => {
    assert.equal(nextTry(TRIES_MAX, false, 0), undefined);
    assert.equal(nextTry(0, true, UNTIL_MS), undefined);
    assert.notEqual(nextTry(TRIES_MAX - 1, false, 0), undefined);
  });

  it('succeeds with any 2xx', () => {
    assert.deepEqual([200, 299, 199, 300, undefined].map(isOk), [true, true, false, false, false]);
  });
});
