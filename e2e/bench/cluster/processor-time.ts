/** CPU time of named groups of processes, including those that they have started. */
import { familyCpuSeconds } from '../processes.ts';

/** Processes, by the name that readers see. */
export type Groups = Readonly<Record<string, readonly number[]>>;

/** Starts measuring when it is created. */
export class ProcessorTime {
  readonly #groups: Groups;
  readonly #before: ReadonlyMap<string, number>;

  constructor(groups: Groups) {
    this.#groups = groups;
    this.#before = this.#now();
  }

  /** CPU seconds of each group since then. */
  seconds(): Map<string, number> {
    return new Map([...this.#now()].map(([name, now]) => [name, now - (this.#before.get(name) ?? 0)]));
  }

  #now(): Map<string, number> {
    return new Map(
      Object.entries(this.#groups).map(([name, pids]) => [name, sum(pids.map(familyCpuSeconds))]),
    );
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
