/** Statistics over rounds. */

/** The median; of an even count, the mean of the middle two. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

/** The value that a share of all values, from 0 to 1, does not exceed. NaN without values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? NaN;
}

/** The values rotated by `by` places, so that the same neighbours do not always follow each other. */
export function rotated<T>(values: readonly T[], by: number): T[] {
  const start = by % Math.max(1, values.length);
  return [...values.slice(start), ...values.slice(0, start)];
}

/** Measured values by name, one per round. */
export class Samples {
  readonly #values = new Map<string, number[]>();

  /** @param name `case/peer/measure` */
  add(name: string, value: number): void {
    const values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, [value]);
    else values.push(value);
  }

  /** The median of the rounds, `undefined` for a measure that was not taken. */
  median(name: string): number | undefined {
    const values = this.#values.get(name);
    return values === undefined ? undefined : median(values);
  }

  /**
   * The median of the ratios of two measures, round by round: a temporary disturbance of the machine affects both.
   *
   * @param name a measure, or several to sum up
   * @param against the same
   * @returns `undefined` when one was not measured
   */
  ratio(name: string | readonly string[], against: string | readonly string[]): number | undefined {
    const values = this.#sums([name].flat());
    const others = this.#sums([against].flat());
    if (values === undefined || others === undefined) return undefined;
    return median(values.map((value, round) => value / (others[round] ?? NaN)).filter(Number.isFinite));
  }

  /** The sums of measures, round by round. */
  #sums(names: readonly string[]): number[] | undefined {
    const measures = names.map((name) => this.#values.get(name));
    const known = measures.filter((values) => values !== undefined);
    if (known.length < names.length) return undefined;
    return known[0]?.map((_, round) => known.reduce((sum, values) => sum + (values[round] ?? NaN), 0));
  }

  /** Every measure with its rounds, in the order of their first sample. */
  entries(): IterableIterator<[string, number[]]> {
    return this.#values.entries();
  }
}

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
  const mean = timingPairsSum(values) / values.length;
  const squares = timingPairsSum(values.map((value) => (value - mean) ** 2));
  return { mean, variance: squares / (values.length - 1) };
}

function timingPairsSum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
