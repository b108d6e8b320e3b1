/** What a program uses while it runs, and what it logs when something unexpected goes wrong in it. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/deadline.ts';
import { memoryOf } from '../../support/memory.ts';
import { type Environment, type RelayProcess, temporaryDirectory } from '../../support/programs.ts';
import type { Scope } from '../../support/scope.ts';

const MEBIBYTE = 1024 ** 2;
/** ms within which a program collects its garbage, even on the busiest machine. */
const COLLECTION_MS = 60_000;
const PROBE = new URL('heap-probe.mjs', import.meta.url).href;

/** Where a program reports what it uses once its garbage is collected. */
export class HeapReport {
  readonly #file: string;

  constructor(scope: Scope) {
    this.#file = join(temporaryDirectory(scope), 'heap');
  }

  /** Of the program that is to report. */
  get environment(): Environment {
    return { HEAP_REPORT: this.#file, NODE_OPTIONS: `--expose-gc --import=${PROBE}` };
  }

  /** Has the program collect its garbage. @returns MiB that are still in use, in its heap and in buffers outside it */
  async ask(program: RelayProcess): Promise<number> {
    rmSync(this.#file, { force: true });
    program.kill('SIGUSR2');
    const bytes = await eventually(COLLECTION_MS, () => readFileSync(this.#file, 'utf8'));
    return Number(bytes) / MEBIBYTE;
  }
}

export class ProcessWatch {
  readonly name: string;
  readonly #program: RelayProcess;
  readonly #report: HeapReport;
  /** MiB after a garbage collection */
  readonly #live: number[] = [];
  /** MiB */
  readonly #resident: number[] = [];
  readonly #descriptors: number[] = [];

  /** @param report whose environment the program has */
  constructor(name: string, program: RelayProcess, report: HeapReport) {
    this.name = name;
    this.#program = program;
    this.#report = report;
  }

  /** Records what it uses now. */
  look(): void {
    if (this.#program.hasExited) return;
    this.#resident.push(memoryOf(this.#program.pid).resident / MEBIBYTE);
    this.#descriptors.push(readdirSync(`/proc/${this.#program.pid}/fd`).length);
  }

  /**
   * Has it collect its garbage, and records what it still uses. Seldom: its resident memory is measured as it is when the
   * program decides that itself.
   */
  async lookAtHeap(): Promise<void> {
    if (!this.#program.hasExited) this.#live.push(await this.#report.ask(this.#program));
  }

  /** MiB that what it still uses after a garbage collection has grown from the first such look to the last. */
  get liveGrowth(): number {
    return (this.#live.at(-1) ?? NaN) - (this.#live[0] ?? NaN);
  }

  /**
   * How much its memory has certainly grown, in % of its mean, leaving out the first third of the measurements, in which it
   * warms up.
   */
  get residentGrowth(): number {
    const values = settled(this.#resident);
    return (100 * certainGrowth(values)) / (values.reduce((sum, value) => sum + value, 0) / values.length);
  }

  /** The same of its file descriptors, in descriptors. */
  get descriptorGrowth(): number {
    return certainGrowth(settled(this.#descriptors));
  }

  get summary(): string {
    const [resident, descriptors] = [this.#resident, this.#descriptors].map(
      (values) => `${values[Math.floor(values.length / 3)]?.toFixed()} to ${values.at(-1)?.toFixed()}`,
    );
    const live = this.#live.map((value) => value.toFixed(1)).join(' to ');
    return `${this.name}: ${resident} MiB, ${live} MiB of them in use, ${descriptors} descriptors`;
  }

  /** Its end, if it has ended, and lines of its log that show bugs: stack traces, warnings of Node, internal errors. */
  get unhandled(): readonly string[] {
    const lines = this.#program.stderr.split('\n').filter((line) => line !== '');
    const bugs = lines.filter(
      (line) => !line.startsWith('{') || /"msg":"(internal error|relay crashed)"/.test(line),
    );
    return [...(this.#program.hasExited ? [`${this.name} has ended`] : []), ...bugs];
  }
}

/** Without the first third. */
function settled(values: readonly number[]): readonly number[] {
  return values.slice(Math.floor(values.length / 3));
}

/** Whether a series grows, apart from what it swings by anyway. */

/** How many standard errors on each side of a slope leave out one in twenty. */
const CERTAINTY = 2;

/**
 * Fits a line (least squares) to values taken at regular intervals.
 *
 * @returns how much the series has grown from its first to its last value at the very least, as far as its noise lets one say
 *   (the lower end of the 95 % confidence interval); below 0 where that may be nothing
 */
export function certainGrowth(values: readonly number[]): number {
  const count = values.length;
  const middle = (count - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const spread = (count * (count ** 2 - 1)) / 12;
  const slope = values.reduce((sum, value, index) => sum + (index - middle) * (value - mean), 0) / spread;
  const residue = values.reduce(
    (sum, value, index) => sum + (value - mean - slope * (index - middle)) ** 2,
    0,
  );
  const error = Math.sqrt(residue / (count - 2) / spread);
  return (slope - CERTAINTY * error) * (count - 1);
}

/**
 * @param times sorted
 * @returns the most of them that lie within `span` of each other, wherever that span begins
 */
export function mostWithin(times: readonly number[], span: number): number {
  let most = 0;
  let first = 0;
  for (const [index, time] of times.entries()) {
    while ((times[first] ?? time) <= time - span) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
