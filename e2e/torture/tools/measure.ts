/**
 * What rows measure: failures, times, and the resources that a program uses while it runs. And in which order and how
 * many at a time things are done.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { eventually, timed, within } from '../../support/deadline.ts';
import { memoryOf } from '../../support/memory.ts';
import { type Environment, type RelayProcess, temporaryDirectory } from '../../support/programs.ts';
import type { Random } from '../../support/random.ts';
import { visit } from '../../support/raw-http.ts';
import type { Scope } from '../../support/scope.ts';

const KEPT = 5;
const MAX_CHARS = 2000;

/** Failures of a row, counted by figure. The first few are kept in words. */
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

  /** The counts of these figures. */
  counts<Name extends string>(...names: readonly Name[]): Record<Name, number> {
    return Object.fromEntries(names.map((name) => [name, this.#counts.get(name) ?? 0])) as Record<
      Name,
      number
    >;
  }
}

const LOOK_MS = 100;

/** Watches how much the resident memory of a process grows from now on. */
export class ResidentWatch {
  readonly #pid: number;
  readonly #base: number;
  #most = 0;

  constructor(scope: Scope, pid: number) {
    this.#pid = pid;
    this.#base = memoryOf(pid).resident;
    const timer = setInterval(() => this.#look(), LOOK_MS);
    scope.defer(() => clearInterval(timer));
  }

  /** The maximum growth so far, in MiB. */
  get growthMib(): number {
    this.#look();
    return this.#most / MEBIBYTE;
  }

  #look(): void {
    this.#most = Math.max(this.#most, memoryOf(this.#pid).resident - this.#base);
  }
}

/** Whether a promise settles in time, either way. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  try {
    return await within(ms, 'end', settled);
  } catch {
    return false;
  }
}

/* Measures with new visitors how long it takes until a tunnel serves. */

/** ms after which visitors give up: more than any row allows. */
const GIVE_UP_MS = 40_000;

/**
 * Sends requests to a tunnel whose service responds with `ok`, until it does.
 *
 * @returns the seconds it took, and the last outcome if it never did
 */
export async function secondsUntilServed(
  relay: { readonly port: number },
  host: string,
): Promise<{ readonly seconds: number; readonly faults: readonly string[] }> {
  const served = async (): Promise<void> => {
    const { status, text } = await visit(relay.port, { host });
    if (status !== 200 || text !== 'ok') throw new Error(`answered ${status}: ${text}`);
  };
  const { value, ms } = await timed(() =>
    eventually(GIVE_UP_MS, served).then(
      () => [],
      (error: unknown) => [String(error)],
    ),
  );
  return { seconds: ms / 1000, faults: value };
}

/** A given number of items, or all, in an order that depends only on the random numbers. */
export function sample<T>(all: readonly T[], count: number, random: Random): T[] {
  const keyed = all.map((each) => ({ each, key: random.below(0x1_0000_0000) }));
  return keyed
    .sort((one, other) => one.key - other.key)
    .slice(0, count)
    .map(({ each }) => each);
}

/**
 * Processes each item, with limited concurrency.
 *
 * @param items consumed as needed
 */
export async function inParallel<T>(
  atATime: number,
  items: Iterable<T>,
  action: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) await action(next.value);
  };
  await Promise.all(Array.from({ length: atATime }, work));
}

const MEBIBYTE = 1024 ** 2;
/** ms within which a program collects its garbage, even on the busiest machine. */
const COLLECTION_MS = 60_000;
const PROBE = new URL('heap-probe.mjs', import.meta.url).href;

/** Receives a program's report of its memory after a garbage collection. */
export class HeapReport {
  readonly #file: string;

  constructor(scope: Scope) {
    this.#file = join(temporaryDirectory(scope), 'heap');
  }

  /** Environment of the program that is to report. */
  get environment(): Environment {
    return { HEAP_REPORT: this.#file, NODE_OPTIONS: `--expose-gc --import=${PROBE}` };
  }

  /**
   * Makes the program collect its garbage. @returns MiB that are still in use, in its heap and in buffers outside it
   */
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

  /** Records the current usage. */
  look(): void {
    if (this.#program.hasExited) return;
    this.#resident.push(memoryOf(this.#program.pid).resident / MEBIBYTE);
    this.#descriptors.push(readdirSync(`/proc/${this.#program.pid}/fd`).length);
  }

  /**
   * Makes it collect its garbage, and records what it still uses. To be called rarely, because resident memory is only
   * meaningful if the program itself decides when to collect.
   */
  async lookAtHeap(): Promise<void> {
    if (!this.#program.hasExited) this.#live.push(await this.#report.ask(this.#program));
  }

  /** Growth in MiB of the memory in use after a garbage collection, from the first such measurement to the last. */
  get liveGrowth(): number {
    return (this.#live.at(-1) ?? NaN) - (this.#live[0] ?? NaN);
  }

  /**
   * The certain growth of its memory, in % of its mean, without the first third of the measurements, in which
   * it warms up.
   */
  get residentGrowth(): number {
    const values = withoutWarmUp(this.#resident);
    return (100 * certainGrowth(values)) / (values.reduce((sum, value) => sum + value, 0) / values.length);
  }

  /** The same for its file descriptors, as a number of descriptors. */
  get descriptorGrowth(): number {
    return certainGrowth(withoutWarmUp(this.#descriptors));
  }

  get summary(): string {
    const [resident, descriptors] = [this.#resident, this.#descriptors].map(
      (values) => `${values[Math.floor(values.length / 3)]?.toFixed()} to ${values.at(-1)?.toFixed()}`,
    );
    const live = this.#live.map((value) => value.toFixed(1)).join(' to ');
    return `${this.name}: memory ${resident} MiB, of which ${live} MiB in use, file descriptors ${descriptors}`;
  }

  /** Its exit, if it has exited, and log lines that indicate bugs: stack traces, warnings of Node, internal errors. */
  get unhandled(): readonly string[] {
    const lines = this.#program.stderr.split('\n').filter((line) => line !== '');
    const bugs = lines.filter(
      (line) => !line.startsWith('{') || /"msg":"(internal error|relay crashed)"/.test(line),
    );
    return [...(this.#program.hasExited ? [`${this.name} has ended`] : []), ...bugs];
  }
}

/** The values without the first third. */
function withoutWarmUp(values: readonly number[]): readonly number[] {
  return values.slice(Math.floor(values.length / 3));
}

/** The growth of a series beyond its usual oscillation. */

/** The number of standard errors on each side of a slope that exclude one case in twenty. */
const CERTAINTY = 2;

/**
 * Fits a line (least squares) to values taken at regular intervals.
 *
 * @returns the minimum growth of the series from its first to its last value, given its noise (the lower end of the 95
 * %
 * confidence interval); below 0 if there may be none
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
 * @returns the maximum number of them that lie within `span` of each other, wherever that span begins
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
