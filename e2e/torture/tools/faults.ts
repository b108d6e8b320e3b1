/** What goes wrong in a row, counted by figure; the first few are kept in words. */

const KEPT = 5;
const MAX_CHARS = 2000;

export class Faults {
  readonly #counts = new Map<string, number>();
  readonly #first: string[] = [];

  add(figure: string, what: string): void {
    const count = this.#counts.get(figure) ?? 0;
    this.#counts.set(figure, count + 1);
    // For each figure the first few are kept.
    if (count < KEPT) this.#first.push(`${figure}: ${what}`.slice(0, MAX_CHARS));
  }

  get first(): readonly string[] {
    return this.#first;
  }

  /** How many of each of these figures there were. */
  counts<Name extends string>(...names: readonly Name[]): Record<Name, number> {
    return Object.fromEntries(names.map((name) => [name, this.#counts.get(name) ?? 0])) as Record<
      Name,
      number
    >;
  }
}
