import assert from 'node:assert/strict';
import { mostWithin } from './kill-relay.ts';

describe('mostWithin', () => {
  it('finds the fullest span, wherever it begins', () => {
    assert.equal(mostWithin([], 1), 0);
    assert.equal(mostWithin([0, 0.9, 1.1, 1.2, 1.85, 3], 1), 4);
    assert.equal(mostWithin([0, 1, 2, 3], 1), 1);
  });
});
