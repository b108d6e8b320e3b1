import assert from 'node:assert/strict';
import { median, rotated, Samples } from './stats.ts';

describe('median', () => {
  it('is the middle value, or the mean of the middle two', () => {
    assert.equal(median([9, 1, 5]), 5);
    assert.equal(median([4, 1, 2, 10]), 3);
    assert.ok(Number.isNaN(median([])));
  });
});

describe('rotated', () => {
  it('lets each come first in turn', () => {
    assert.deepEqual(rotated(['a', 'b', 'c'], 1), ['b', 'c', 'a']);
    assert.deepEqual(rotated(['a', 'b', 'c'], 3), ['a', 'b', 'c']);
  });
});

describe('Samples', () => {
  it('takes ratios round by round, so that a slow round counts for both', () => {
    const samples = new Samples();
    for (const value of [100, 10, 90]) samples.add('ours', value);
    for (const value of [50, 5, 60]) samples.add('theirs', value);
    assert.equal(samples.ratio('ours', 'theirs'), 2);
  });

  it('knows nothing about what was not measured', () => {
    const samples = new Samples();
    samples.add('ours', 1);
    assert.equal(samples.median('theirs'), undefined);
    assert.equal(samples.ratio('ours', 'theirs'), undefined);
  });
});
