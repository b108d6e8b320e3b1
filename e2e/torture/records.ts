/** What docs/reliability.json keeps of each row's last whole run. */
import { arch, cpus, release, totalmem, type } from 'node:os';
import type { TreeState } from '../support/tree-state.ts';
import type { Row } from './row.ts';
import type { Outcome } from './run-row.ts';

/** One figure, with the threshold that applied when it was measured. */
export interface FigureRecord {
  readonly meaning: string;
  /** as people read it: `≤ 0` */
  readonly threshold: string;
  /** `undefined` if the row did not get that far */
  readonly value?: number;
  readonly passed: boolean;
}

export interface RowRecord extends TreeState {
  readonly name: string;
  readonly title: string;
  readonly passed: boolean;
  readonly figures: readonly FigureRecord[];
  readonly done: string;
  readonly faults: readonly string[];
  readonly seed: number;
  readonly seconds: number;
  readonly node: string;
  readonly machine: string;
}

const GIBIBYTE = 1024 ** 3;

/** What is kept from a row that has just run. */
export function recordOf(outcome: Outcome, seed: number, tree: TreeState): RowRecord {
  const { row, result, problems, seconds } = outcome;
  return {
    name: row.name,
    title: row.title,
    passed: problems.length === 0,
    figures: figuresOf(outcome),
    done: result?.done ?? 'did not come to its end',
    faults: wrongs(outcome),
    seed,
    seconds: Math.round(seconds),
    ...tree,
    node: process.version,
    machine: machine(),
  };
}

/** What went wrong, besides figures: the faults that a row reports, and its error if it did not finish. */
export function wrongs({ row, result, problems }: Outcome): string[] {
  return [...(result?.faults ?? []), ...problems.filter((problem) => !(problem in row.thresholds))];
}

/** Every figure of a row, measured or not. */
export function figuresOf({ row, result, problems }: Outcome): FigureRecord[] {
  return Object.entries(row.thresholds).map(([name, { meaning, atMost, atLeast }]) => {
    const value = result?.figures[name];
    const bounds = [
      ...(atLeast === undefined ? [] : [`≥ ${numberText(atLeast)}`]),
      ...(atMost === undefined ? [] : [`≤ ${numberText(atMost)}`]),
    ];
    const passed = value !== undefined && !problems.includes(name);
    return { meaning, threshold: bounds.join(', '), ...(value === undefined ? {} : { value }), passed };
  });
}

/**
 * The previous records, replaced by new ones where there are any, in the order of the rows; records of removed rows are
 * dropped.
 */
export function merged(
  rows: readonly Pick<Row, 'name'>[],
  before: readonly RowRecord[],
  now: readonly RowRecord[],
): RowRecord[] {
  return rows.flatMap(({ name }) => {
    const record = [...now, ...before].find((each) => each.name === name);
    return record === undefined ? [] : [record];
  });
}

/** At most four significant digits; whole numbers stay whole. */
export function numberText(value: number): string {
  return Number.isInteger(value)
    ? value.toLocaleString('en-US')
    : value.toLocaleString('en-US', { maximumSignificantDigits: 4 });
}

function machine(): string {
  const [processor] = cpus();
  const memory = Math.round(totalmem() / GIBIBYTE);
  // The version only: what follows it names a vendor's build.
  const kernel = `${type()} ${release().replace(/-.*/, '')} ${arch()}`;
  return `${cpus().length} cores (${processor?.model ?? 'unknown'}), ${memory} GiB, ${kernel}`;
}
