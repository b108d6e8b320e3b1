/** A row of docs/reliability.md: what is done to Culvert, what is counted meanwhile, and how much would be too much. */
import { deferred, within } from '../support/deadline.ts';
import { Scope } from '../support/scope.ts';

/** The threshold of a figure; fixed in the source, so before any run. */
export interface Threshold {
  /** what is counted or measured, as the report says it, with its unit */
  readonly meaning: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /** The figure is a time that a busy machine makes longer: a short run shows it, but only checks that it was measured. */
  readonly onlyWhole?: boolean;
}

export interface RunOptions {
  /** Whether this is the run of a few minutes that CI does. */
  readonly short: boolean;
  /** The seed of all random choices: the same seed repeats them. */
  readonly seed: number;
  /** Ends what the row starts. */
  readonly scope: Scope;
  /** Reports progress on the terminal. */
  readonly say: (line: string) => void;
}

/** What a row has measured. */
export interface RowResult<Name extends string = string> {
  readonly figures: Readonly<Record<Name, number>>;
  /** how much was done, as the report says it: `1,768 requests, each straight and behind three proxies` */
  readonly done: string;
  /** the first few things that went wrong, so that they can be repeated; empty when nothing did */
  readonly faults: readonly string[];
}

export interface Row<Name extends string = string> {
  /** kebab-case, as `--rows` takes it */
  readonly name: string;
  /** what is done, as the report says it */
  readonly title: string;
  readonly thresholds: Readonly<Record<Name, Threshold>>;
  /**
   * Whether a short run leaves it out: it compares times, which need a machine that does nothing else, or repeats at length
   * what suites cover.
   */
  readonly onlyWhole?: boolean;
  run(options: RunOptions): Promise<RowResult<Name>>;
}

/** The figures of a result that break their thresholds; a figure that is not a number breaks any. */
export function broken(row: Row, result: RowResult, short: boolean): string[] {
  return Object.entries(row.thresholds).flatMap(([name, threshold]) => {
    const { atMost = Infinity, atLeast = -Infinity, onlyWhole = false } = threshold;
    const value = result.figures[name] ?? Number.NaN;
    const isKept = short && onlyWhole ? !Number.isNaN(value) : value <= atMost && value >= atLeast;
    return isKept ? [] : [name];
  });
}

/* Runs one row, whatever it does. */

/** The outcome of a row. */
export interface Outcome {
  readonly row: Row;
  /** `undefined` for a row that did not finish */
  readonly result: RowResult | undefined;
  /** figures that break their thresholds, and the error of a row that did not finish */
  readonly problems: readonly string[];
  readonly seconds: number;
}

/**
 * Runs a row and ends what it has started.
 *
 * @param timeoutMs after which the row has failed
 */
export async function runRow(
  row: Row,
  options: Omit<RunOptions, 'scope'>,
  timeoutMs: number,
): Promise<Outcome> {
  const scope = new Scope();
  const started = performance.now();
  let result: RowResult | undefined;
  const problems: string[] = [];
  const thrown = strayErrors();
  try {
    const running = row.run({ ...options, scope });
    result = await within(timeoutMs, 'end of the row', Promise.race([running, thrown.first]));
    problems.push(...broken(row, result, options.short));
  } catch (error) {
    problems.push(textOf(error));
  }
  try {
    await scope.end();
  } catch (error) {
    problems.push(textOf(error));
  }
  thrown.stop();
  return { row, result, problems, seconds: (performance.now() - started) / 1000 };
}

/** An unhandled error of a row fails that row, and not the following ones. */
function strayErrors(): { readonly first: Promise<never>; readonly stop: () => void } {
  const { promise, reject } = deferred<never>();
  // Nobody waits once the row has ended.
  promise.catch(() => undefined);
  process.on('uncaughtException', reject);
  return { first: promise, stop: () => process.off('uncaughtException', reject) };
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
