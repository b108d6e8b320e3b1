import assert from 'node:assert/strict';
import { Distribution } from './counters.ts';

describe('Distribution', () => {
  it('counts each value under every bound it does not exceed', () => {
    const distribution = new Distribution([1, 2, 5]);
    for (const value of [0.5, 1, 1.5, 5, 6]) distribution.add(value);
    assert.deepEqual(distribution.cumulative(), [2, 3, 4]);
    assert.deepEqual([distribution.count, distribution.sum], [5, 14]);
  });
});
