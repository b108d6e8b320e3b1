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
   * @returns `undefined` when one was not measured
   */
  ratio(name: string, against: string): number | undefined {
    const [values, others] = [this.#values.get(name), this.#values.get(against)];
    if (values === undefined || others === undefined) return undefined;
    return median(values.map((value, round) => value / (others[round] ?? NaN)).filter(Number.isFinite));
  }

  /** Every measure with its rounds, in the order of their first sample. */
  entries(): IterableIterator<[string, number[]]> {
    return this.#values.entries();
  }
}
