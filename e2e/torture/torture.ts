/**
 * Runs a row as a mocha test: `npm test -- torture` in minutes, `npm run torture` (LONG=1) whole, which writes
 * docs/contributing/reliability.md. SEED repeats random choices.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { within } from '../support/deadline.ts';
import { isLong, Scope } from '../support/scope.ts';
import {
  broken,
  commandOf,
  merged,
  type Outcome,
  page,
  recordOf,
  type Row,
  type RowRecord,
  type RowResult,
  summary,
  treeState,
} from './report.ts';

const PAGE = fileURLToPath(new URL('../../docs/contributing/reliability.md', import.meta.url));
const DATA = fileURLToPath(new URL('../../docs/contributing/reliability.json', import.meta.url));

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
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
        ? commandOf(row.name, seed)
        : `SEED=${seed} npm test -- torture --grep ${row.name}`;
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
    result = await within(TIMEOUT_MS, 'end of the row', row.run({ short: !isLong, seed, scope, say }));
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
  const records = merged(before, recordOf(outcome, seed, treeState(new Date())), isRow);
  const style = await resolveConfig(PAGE);
  writeFileSync(DATA, await format(JSON.stringify(records), { ...style, parser: 'json' }));
  writeFileSync(PAGE, await format(page(records), { ...style, parser: 'markdown' }));
}

function isRow(name: string): boolean {
  return existsSync(new URL(`rows/${name}.test.ts`, import.meta.url));
}
