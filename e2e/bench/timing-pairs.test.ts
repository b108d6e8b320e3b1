import assert from 'node:assert/strict';
import { T_MAX, welchT, withoutSlowest } from './timing-pairs.ts';

function noise(index: number): number {
  return (index * 7919) % 1000;
}

describe('welchT', () => {
  it('is the difference of the means divided by their common error', () => {
    // Means 2 and 5, variances 1 and 20/3: -3 / sqrt(1/3 + 20/12).
    const t = welchT(Float64Array.of(1, 2, 3), Float64Array.of(2, 4, 6, 8));
    assert.ok(Math.abs(t + 3 / Math.SQRT2) < 1e-12, String(t));
  });

  it('detects a difference of a hundredth of the spread with enough samples', () => {
    const length = 1_000_000;
    const a = Float64Array.from({ length }, (_, index) => noise(index));
    const b = Float64Array.from({ length }, (_, index) => noise(index + 13) + 5);
    assert.ok(Math.abs(welchT(a, a)) < 0.001);
    assert.ok(welchT(b, a) > T_MAX);
  });
});

describe('withoutSlowest', () => {
  it('applies one bound to both sets', () => {
    const [a, b] = withoutSlowest(Float64Array.of(1, 2, 9), Float64Array.of(3, 8, 7), 0.5);
    assert.deepEqual([[...a], [...b]], [[1, 2], [3]]);
  });
});
