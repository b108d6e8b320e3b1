/**
 * Counts what code does instead of how long it takes, so that a busy machine changes nothing: how often each block of
 * our own code runs (V8's precise coverage), and how many bytes, characters or elements pass through the built-in
 * functions it calls. Create it before loading the code to count: code that was compiled before is counted by function
 * only.
 */
import { Session } from 'node:inspector';

/** The parts of a coverage report that are read. */
interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

/** Matches the code that is counted. */
const OURS = /\/(?:shared|server|desktop)\/(?!testing\/)/;

type Weigh = (self: unknown, args: readonly unknown[], result: unknown) => number;

const lengthOf = (value: unknown): number => (value as { length?: number } | undefined)?.length ?? 0;
const bySelf: Weigh = (self) => lengthOf(self);
const byResult: Weigh = (_self, _args, result) => lengthOf(result);
const byNumber: Weigh = (_self, _args, result) => Number(result);
const byArgument: Weigh = (_self, [argument]) => lengthOf(argument);
/** The text examined for a match: up to its end, or all of it. */
const byMatch: Weigh = (_self, [input, from], result) => {
  const match = result as RegExpExecArray | null | boolean;
  const end = match !== null && typeof match === 'object' ? match.index + match[0].length : lengthOf(input);
  return end - Number(from);
};
const bySearch: Weigh = (self, [, from], result) => {
  const start = typeof from === 'number' ? from : 0;
  return (result === -1 ? lengthOf(self) : Number(result)) - start;
};
const byBytes: Weigh = (_self, [source], result) => (source instanceof ArrayBuffer ? 0 : lengthOf(result));

const WEIGHED: readonly [object, Readonly<Record<string, Weigh>>][] = [
  [Buffer, { concat: byResult, from: byBytes }],
  [
    Buffer.prototype,
    { copy: byNumber, indexOf: bySearch, toString: byResult, write: byNumber, latin1Slice: byResult },
  ],
  [Array.prototype, { includes: bySelf, indexOf: bySelf, join: byResult, concat: byResult, slice: byResult }],
  [
    String.prototype,
    {
      includes: bySelf,
      indexOf: bySearch,
      split: bySelf,
      toLowerCase: bySelf,
      trim: bySelf,
      replace: bySelf,
      replaceAll: bySelf,
      startsWith: byArgument,
      endsWith: byArgument,
    },
  ],
  [RegExp.prototype, { exec: byMatch, test: byMatch }],
  [Set.prototype, { has: byArgument, add: byArgument }],
  [Map.prototype, { has: byArgument, get: byArgument, set: byArgument }],
];

export class StepCounter {
  readonly #session = new Session();
  #native = 0;

  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
    for (const [owner, functions] of WEIGHED)
      for (const [name, weigh] of Object.entries(functions)) this.#replace(owner, name, weigh);
  }

  /** The steps of one run. */
  count(run: () => void): number {
    this.#native = 0;
    run();
    const native = this.#native;
    return native + this.#blocks();
  }

  #replace(owner: object, name: string, weigh: Weigh): void {
    const original = Reflect.get(owner, name) as (...args: unknown[]) => unknown;
    const add = (steps: number): void => {
      this.#native += Math.max(1, steps);
    };
    const counted = function (this: unknown, ...args: unknown[]): unknown {
      const from = this instanceof RegExp && this.global ? this.lastIndex : 0;
      const result = original.apply(this, args);
      add(weigh(this, this instanceof RegExp ? [args[0], from] : args, result));
      return result;
    };
    Reflect.set(owner, name, Object.assign(counted, original));
  }

  /** How often blocks have run since the last call. */
  #blocks(): number {
    let blocks = 0;
    this.#session.post('Profiler.takePreciseCoverage', (error, report) => {
      if (error !== null) throw error;
      for (const { url, functions } of (report as Coverage).result) {
        if (!OURS.test(url)) continue;
        for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
      }
    });
    return blocks;
  }
}
