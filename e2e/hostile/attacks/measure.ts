/** What rows count: failures, and memory. And in which order and how many at a time things are done. */
import { eventually, timed, within } from '../../support/deadline.ts';
import { memoryOf } from '../../support/memory.ts';
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
const MEBIBYTE = 1024 ** 2;

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
