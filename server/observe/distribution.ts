/** Counts values by size, as a histogram of Prometheus does, at the cost of a few comparisons. */
export class Distribution {
  /** upper bounds, ascending */
  readonly bounds: readonly number[];
  readonly #counts: number[];
  #count = 0;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#counts = bounds.map(() => 0);
  }

  get count(): number {
    return this.#count;
  }

  get sum(): number {
    return this.#sum;
  }

  add(value: number): void {
    this.#count += 1;
    this.#sum += value;
    const { bounds } = this;
    for (let bucket = 0; bucket < bounds.length; bucket += 1) {
      if (value > (bounds[bucket] ?? Infinity)) continue;
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
      return;
    }
  }

  /** @returns for each bound the number of values not above it */
  cumulative(): number[] {
    let total = 0;
    return this.#counts.map((count) => (total += count));
  }
}
