/** Runs one row, whatever it does. */
import { within } from '../support/deadline.ts';
import { deferred } from '../support/deferred.ts';
import { Scope } from '../support/scope.ts';
import { broken, type Row, type RowResult, type RunOptions } from './row.ts';

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
