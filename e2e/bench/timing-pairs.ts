/** Do two actions take the same time? Measured in random order, and decided by Welch's t. */
const SHARES = [1, 0.99, 0.9, 0.5];

/** The times of two actions in ms. */
export interface Times {
  readonly one: Float64Array;
  readonly other: Float64Array;
}

/** Performs both actions this many times, in an unpredictable order. */
export async function timePairs(
  samples: number,
  one: () => Promise<unknown>,
  other: () => Promise<unknown>,
): Promise<Times> {
  const times = { one: new Float64Array(samples), other: new Float64Array(samples) };
  const work = { one, other };
  for (let count = 0; count < samples; count += 1) {
    const order = Math.random() < 0.5 ? (['one', 'other'] as const) : (['other', 'one'] as const);
    for (const kind of order) {
      const start = performance.now();
      await work[kind]();
      times[kind][count] = performance.now() - start;
    }
  }
  return times;
}

/** Prints t for all times and without the slowest; the exit code is 1 if any of them differ. */
export function reportPairs(what: string, { one, other }: Times): void {
  for (const share of SHARES) {
    const t = welchT(...withoutSlowest(one, other, share));
    const verdict = Math.abs(t) < T_MAX ? 'no difference' : 'DIFFERENT';
    console.log(`${what}, ${one.length} each, fastest ${share * 100} %: t = ${t.toFixed(2)} (${verdict})`);
    if (Math.abs(t) >= T_MAX) process.exitCode = 1;
  }
}

/** Above this, two means almost certainly differ. */
export const T_MAX = 4.5;

/** @returns Welch's t; 0 for equal means */
export function welchT(a: Float64Array, b: Float64Array): number {
  const [left, right] = [momentsOf(a), momentsOf(b)];
  return (left.mean - right.mean) / Math.sqrt(left.variance / a.length + right.variance / b.length);
}

/**
 * Removes the slowest samples of both sets, by one bound for both: other work of the machine hides the effect of the
 * code.
 *
 * @param share share of the samples to keep, above 0, at most 1
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
