/**
 * `npm run torture [-- --short --rows a,b --seed N --list]`: does its worst to Culvert, row by row, and writes
 * docs/reliability.md. A short run takes five minutes at most, leaves out rows that are only run whole, and writes nothing.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { treeState } from '../support/tree-state.ts';
import { commandOf, merged, page, recordOf, type RowRecord, summary } from './report.ts';
import { type Outcome, type Row, runRow } from './row.ts';
import { ROWS } from './rows.ts';

const PAGE = fileURLToPath(new URL('../../docs/reliability.md', import.meta.url));
const DATA = fileURLToPath(new URL('../../docs/reliability.json', import.meta.url));
/** ms that one row may take: the soak is 30 minutes long, and a short one 2, on a machine that may be busy with other things. */
const TIMEOUT_MS = { whole: 3_600_000, short: 600_000 };

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    rows: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    list: { type: 'boolean', default: false },
  },
});
const seed = Number(options.seed);
const chosen = chooseRows(options.rows?.split(','), options.short);
if (!Number.isSafeInteger(seed) || seed < 0) usage('--seed takes a whole number');
else if (chosen === undefined) usage(`--rows takes some of ${ROWS.map(({ name }) => name).join()}`);
else if (options.list) for (const { name, title } of chosen) console.log(`${name}: ${title}`);
else await torture(chosen, options.short);
// An abandoned row may have left something that never ends.
process.exit();

function usage(text: string): void {
  console.error(text);
  process.exitCode = 2;
}

/**
 * @param short leaves out rows that only whole runs do, unless they are named
 * @returns `undefined` if no row has that name
 */
function chooseRows(names: readonly string[] | undefined, short: boolean): readonly Row[] | undefined {
  if (names === undefined) return short ? ROWS.filter(({ onlyWhole }) => onlyWhole !== true) : ROWS;
  const rows = ROWS.filter(({ name }) => names.includes(name));
  return rows.length === new Set(names).size ? rows : undefined;
}

async function torture(rows: readonly Row[], short: boolean): Promise<void> {
  const failed: string[] = [];
  for (const row of rows) {
    const say = (line: string): void => console.error(`    ${row.name}: ${line}`);
    const outcome = await runRow(row, { short, seed, say }, short ? TIMEOUT_MS.short : TIMEOUT_MS.whole);
    const said = summary(outcome);
    console.log(said);
    if (outcome.problems.length > 0)
      failed.push(`${said}\n      repeat with: ${commandOf(row.name, seed)}${short ? ' --short' : ''}`);
    if (!short) await write(outcome);
  }
  // In mocha's form: continuous integration adds these up.
  console.log(`\n  ${rows.length - failed.length} passing\n  ${failed.length} failing\n  0 pending\n`);
  // Once more, as mocha does: of a long output only the end is read.
  for (const said of failed) console.log(said);
  if (failed.length > 0) process.exitCode = 1;
}

/** Writes after each row, so that an interrupted run keeps what it has measured. */
async function write(outcome: Outcome): Promise<void> {
  const before = existsSync(DATA) ? (JSON.parse(readFileSync(DATA, 'utf8')) as readonly RowRecord[]) : [];
  const records = merged(ROWS, before, [recordOf(outcome, seed, treeState(new Date()))]);
  const style = await resolveConfig(PAGE);
  writeFileSync(DATA, await format(JSON.stringify(records), { ...style, parser: 'json' }));
  writeFileSync(PAGE, await format(page(records), { ...style, parser: 'markdown' }));
}
