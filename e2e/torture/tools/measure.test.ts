import assert from 'node:assert/strict';
import { certainGrowth, mostWithin } from './measure.ts';

/** Oscillates between -1 and 1 without a trend. */
const noise = Array.from({ length: 60 }, (_, index) => Math.sin(index * 2.4));

describe('certainGrowth', () => {
  it('finds none in mere oscillation', () => {
    assert.ok(certainGrowth(noise) <= 0);
  });

  it('finds growth beneath oscillation, and no more than there is', () => {
    const growth = certainGrowth(noise.map((value, index) => 100 + value + index * 0.1));
    assert.ok(growth > 4 && growth < 5.9, `${growth}`);
  });

  it('finds all of the growth without oscillation', () => {
    assert.ok(Math.abs(certainGrowth([1, 2, 3, 4, 5]) - 4) < 1e-9);
  });

  it('returns NaN for too few values', () => {
    assert.ok(Number.isNaN(certainGrowth([1, 2])));
  });
});

describe('mostWithin', () => {
  it('finds the fullest span, wherever it begins', () => {
    assert.equal(mostWithin([], 1), 0);
    assert.equal(mostWithin([0, 0.9, 1.1, 1.2, 1.85, 3], 1), 4);
    assert.equal(mostWithin([0, 1, 2, 3], 1), 1);
  });
});
