import assert from 'node:assert/strict';
import { median, quantile, rotated, Samples } from './stats.ts';

describe('median', () => {
  it('is the middle value, or the mean of the middle two', () => {
    assert.equal(median([9, 1, 5]), 5);
    assert.equal(median([4, 1, 2, 10]), 3);
    assert.ok(Number.isNaN(median([])));
  });
});

describe('quantile', () => {
  it('is the value that a given share does not exceed', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    assert.equal(quantile(values, 0.5), 100);
    assert.equal(quantile(values, 0.99), 198);
    assert.equal(quantile([7], 0.99), 7);
    assert.ok(Number.isNaN(quantile([], 0.5)));
  });
});

describe('rotated', () => {
  it('puts each value first in turn', () => {
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

  it('sums related measures before it computes the ratio', () => {
    const samples = new Samples();
    for (const value of [1, 2]) samples.add('our relay', value);
    for (const value of [3, 4]) samples.add('our client', value);
    for (const value of [2, 2]) samples.add('theirs', value);
    assert.equal(samples.ratio(['our relay', 'our client'], 'theirs'), 2.5);
    assert.equal(samples.ratio(['our relay', 'nobody'], 'theirs'), undefined);
  });

  it('returns undefined for measures that were not taken', () => {
    const samples = new Samples();
    samples.add('ours', 1);
    assert.equal(samples.median('theirs'), undefined);
    assert.equal(samples.ratio('ours', 'theirs'), undefined);
  });
});
