/**
 * Rows of reliability.md: what is done to Culvert, what is counted during that, and the acceptable limits. A row runs as
 * a mocha test: `npm test -- torture` in minutes, `npm run torture` (LONG=1) whole, which writes
 * docs/contributing/reliability.md. SEED repeats random choices.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { describeMachine } from '../bench/machine.ts';
import { within } from '../support/deadline.ts';
import { isLong, Scope } from '../support/scope.ts';

/** The threshold of a figure, fixed in the source and therefore before any run. */
export interface Threshold {
  /** description of the figure in the report, with its unit */
  readonly meaning: string;
  readonly atMost?: number;
  readonly atLeast?: number;
  /**
   * Whether the figure is a time that a busy machine prolongs. A short run shows it, but only checks that it was
   * measured.
   */
  readonly onlyWhole?: boolean;
}

export interface RunOptions {
  /** Whether this is the run of a few minutes that CI does. */
  readonly short: boolean;
  /** The seed of all random choices, which repeats them. */
  readonly seed: number;
  /** Ends whatever the row starts. */
  readonly scope: Scope;
  /** Reports progress on the terminal. */
  readonly say: (line: string) => void;
}

/** The measurements of a row. */
export interface RowResult<Name extends string = string> {
  readonly figures: Readonly<Record<Name, number>>;
  /** the amount of work, as worded in the report: `1,768 requests, each straight and behind three proxies` */
  readonly done: string;
  /** the first failures, so that they can be reproduced; empty if there were none */
  readonly faults: readonly string[];
}

export interface Row<Name extends string = string> {
  /** kebab-case, the same as its file name */
  readonly name: string;
  /** description in the report */
  readonly title: string;
  readonly thresholds: Readonly<Record<Name, Threshold>>;
  /**
   * Whether a short run leaves it out: it compares times, which need an idle machine, or repeats at length what other
   * suites cover.
   */
  readonly onlyWhole?: boolean;
  run(options: RunOptions): Promise<RowResult<Name>>;
}

/** The figures of a result that violate their thresholds. A figure that is not a number violates any. */
export function broken(row: Row, result: RowResult, short: boolean): string[] {
  return Object.entries(row.thresholds).flatMap(([name, threshold]) => {
    const { atMost = Infinity, atLeast = -Infinity, onlyWhole = false } = threshold;
    const value = result.figures[name] ?? Number.NaN;
    const isKept = short && onlyWhole ? !Number.isNaN(value) : value <= atMost && value >= atLeast;
    return isKept ? [] : [name];
  });
}

/** The outcome of a row. */
export interface Outcome {
  readonly row: Row;
  /** `undefined` for a row that did not finish */
  readonly result: RowResult | undefined;
  /** figures that violate their thresholds, and the error of a row that did not finish */
  readonly problems: readonly string[];
  readonly seconds: number;
}

const PAGE = fileURLToPath(new URL('../../docs/contributing/reliability.md', import.meta.url));
const DATA = fileURLToPath(new URL('../../docs/contributing/reliability.json', import.meta.url));

const SEED = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
/** ms that one row may take. The soak takes 30 minutes, or 2 in a short run, and the machine may be busy. */
const TIMEOUT_MS = isLong ? 3_600_000 : 600_000;

/** Defines the test of a row, unless it is only part of a whole run. */
export function torture<Name extends string>(row: Row<Name>): void {
  if (!isLong && row.onlyWhole === true) return;
  describe(row.name, function () {
    this.timeout(0);

    it(row.title, async () => {
      const outcome = await run(row);
      const said = summary(outcome);
      console.log(said);
      if (isLong) await write(outcome);
      const command = isLong
        ? commandOf(row.name, SEED)
        : `SEED=${SEED} npm test -- torture --grep ${row.name}`;
      assert.deepEqual(outcome.problems, [], `${said}\n      repeat with: ${command}`);
    });
  });
}

async function run(row: Row): Promise<Outcome> {
  const scope = new Scope();
  const started = performance.now();
  let result: RowResult | undefined;
  const problems: string[] = [];
  try {
    const say = (line: string): void => console.error(`    ${row.name}: ${line}`);
    result = await within(TIMEOUT_MS, 'end of the row', row.run({ short: !isLong, seed: SEED, scope, say }));
    problems.push(...broken(row, result, !isLong));
  } catch (error) {
    problems.push(textOf(error));
  }
  await scope.end().catch((error: unknown) => problems.push(textOf(error)));
  return { row, result, problems, seconds: (performance.now() - started) / 1000 };
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Writes after each row, so that an interrupted run keeps its measurements. */
async function write(outcome: Outcome): Promise<void> {
  const before = existsSync(DATA) ? (JSON.parse(readFileSync(DATA, 'utf8')) as readonly RowRecord[]) : [];
  const records = merged(before, recordOf(outcome, SEED, new Date().toISOString().slice(0, 10)), isRow);
  const style = await resolveConfig(PAGE);
  writeFileSync(DATA, await format(JSON.stringify(records), { ...style, parser: 'json' }));
  writeFileSync(PAGE, await format(page(records), { ...style, parser: 'markdown' }));
}

function isRow(name: string): boolean {
  return existsSync(new URL(`rows/${name}.test.ts`, import.meta.url));
}

/* docs/contributing/reliability.md, generated from docs/contributing/reliability.json. */

const PREFACE = `# Reliability

These tests expose Culvert to attacks, bad networks and failing machines, and record what happens. Each test is called a row. Thresholds
are in the rows' source code (\`e2e/torture/rows\`), so they were fixed before the run. The tests run the built relay and \`culvert\`, and
proxies with the configuration files in \`server/deploy\`. Everything, including the load, runs on one machine, so times are
comparable only within one run. Each figure is followed by its threshold.

\`npm run torture\` runs all rows and writes this page; \`npm run torture -- --grep NAME\` repeats one row and keeps the others.
[reliability.json](reliability.json) records the machine, Node version, commit, date and seed of each row.
\`SEED=7 npm run torture -- --grep NAME\` repeats the random choices made with seed 7. \`npm test -- torture\`, which is part of
\`npm run test:all\`, runs short versions of most rows and writes nothing. Both need root and Debian packages ([testing](testing.md)).
`;

/** The whole page, as Markdown. */
export function page(records: readonly RowRecord[]): string {
  const passed = records.filter((record) => record.passed).length;
  return `${PREFACE}
${passed} of ${records.length} rows passed.

${records.map(section).join('\n')}`;
}

function section({ name, title, passed, figures, done, faults, seconds }: RowRecord): string {
  const found = faults.length === 0 ? '' : `\nFirst failures:\n\n${faults.map(codeBlock).join('\n')}\n`;
  return `## ${name}

${title}.

${figures.map(figureLine).join('\n')}

${passed ? 'Passed' : '**Failed**'} in ${seconds} s: ${done}.
${found}`;
}

/** The command that repeats a row. */
export function commandOf(name: string, seed: number): string {
  return `SEED=${seed} npm run torture -- --grep ${name}`;
}

function codeBlock(text: string): string {
  return `\`\`\`\`text\n${text}\n\`\`\`\`\n`;
}

function figureLine(figure: FigureRecord): string {
  return `- ${figure.meaning}: ${valueText(figure)} (${figure.threshold})${figure.passed ? '' : ', **failed**'}`;
}

/** The terminal output for a row that has just run: its figures and failures. */
export function summary(outcome: Outcome): string {
  const figures = figuresOf(outcome).map((figure) => {
    const mark = figure.passed ? '✔' : '✖';
    return `    ${mark} ${figure.meaning}: ${valueText(figure)} (${figure.threshold})`;
  });
  const { row, result, problems, seconds } = outcome;
  const mark = problems.length === 0 ? '✔' : '✖';
  const lines = [`  ${mark} ${row.name} (${Math.round(seconds)} s): ${result?.done ?? 'not finished'}`];
  return [...lines, ...figures, ...wrongs(outcome).map((text) => `      ${text}`)].join('\n');
}

function valueText({ value }: FigureRecord): string {
  return value === undefined || Number.isNaN(value) ? 'none' : numberText(value);
}

/** One figure, with the threshold that applied when it was measured. */
export interface FigureRecord {
  readonly meaning: string;
  /** in readable form: `≤ 0` */
  readonly threshold: string;
  /** `undefined` if the row did not get that far */
  readonly value?: number;
  readonly passed: boolean;
}

export type RowRecord = ReturnType<typeof recordOf>;

/** The record of a row that has just run. @param date in UTC */
export function recordOf(outcome: Outcome, seed: number, date: string) {
  const { row, result, problems, seconds } = outcome;
  const { cores, processor, memoryGiB, kernel, node, commit } = describeMachine([]);
  return {
    name: row.name,
    title: row.title,
    passed: problems.length === 0,
    figures: figuresOf(outcome),
    done: result?.done ?? 'not finished',
    faults: wrongs(outcome),
    seed,
    seconds: Math.round(seconds),
    date,
    commit,
    node,
    machine: `${cores} cores (${processor}), ${memoryGiB} GiB, ${kernel}`,
  };
}

/** Failures other than figures: the faults that a row reports, and its error if it did not finish. */
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
 * The previous records with the new one at the position of its predecessor, or at the end.
 *
 * @param exists whether a row of that name still exists; other records are dropped
 */
export function merged(
  before: readonly RowRecord[],
  now: RowRecord,
  exists: (name: string) => boolean,
): RowRecord[] {
  const kept = before.filter(({ name }) => exists(name));
  const index = kept.findIndex(({ name }) => name === now.name);
  return index < 0 ? [...kept, now] : kept.with(index, now);
}

/** At most four significant digits; whole numbers stay whole. */
export function numberText(value: number): string {
  return Number.isInteger(value)
    ? value.toLocaleString('en-US')
    : value.toLocaleString('en-US', { maximumSignificantDigits: 4 });
}
