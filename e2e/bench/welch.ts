/** Welch's t-test: do two sets of times have the same mean? Used the way dudect does, to find out what a time reveals. */

/** Above this, two means almost certainly differ. */
export const T_MAX = 4.5;

/** @returns Welch's t; 0 for equal means */
export function welchT(a: Float64Array, b: Float64Array): number {
  const [left, right] = [momentsOf(a), momentsOf(b)];
  return (left.mean - right.mean) / Math.sqrt(left.variance / a.length + right.variance / b.length);
}

/**
 * Leaves out the slowest of both sets, by one bound for both: other work of the machine hides what the code did.
 *
 * @param share share of the samples that stays, above 0, at most 1
 */
export function withoutSlowest(
  a: Float64Array,
  b: Float64Array,
  share: number,
): readonly [Float64Array, Float64Array] {
  const all = new Float64Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  all.sort();
  const bound = all[Math.ceil(all.length * share) - 1] ?? Infinity;
  return [a.filter((value) => value <= bound), b.filter((value) => value <= bound)];
}

function momentsOf(values: Float64Array): { mean: number; variance: number } {
  const mean = sum(values) / values.length;
  const squares = sum(values.map((value) => (value - mean) ** 2));
  return { mean, variance: squares / (values.length - 1) };
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
