/**
 * `npx node e2e/mutation/mutate.ts`: breaks the program, one deliberate break at a time (breaks.ts), and counts how
 * many of them the unit tests of the same folder notice. Prints the ones that they miss.
 *
 *     npx node e2e/mutation/mutate.ts                                  up to 100 breaks of each part, spread evenly over it
 *     npx node e2e/mutation/mutate.ts --part shared/http1 --all     every break of one part
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { breaksOf } from './breaks.ts';
import { type BrokenFile, VARIABLE } from './hook.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where an unnoticed break costs the most: misread messages, mixed-up streams, and unauthorized visits. */
const PARTS = ['shared/http1', 'shared/trunk', 'server/access'];
const SAMPLE = 100;
const AT_A_TIME = 2;
/** ms that a test may take. A break may keep it from ending. */
const TEST_TIMEOUT_MS = 5000;
/** ms for all tests of a part. A break may keep the process busy indefinitely. */
const RUN_TIMEOUT_MS = 60_000;

const { values } = parseArgs({
  options: { part: { type: 'string', multiple: true, default: PARTS }, all: { type: 'boolean' } },
});
for (const part of values.part) await tryPart(part, values.all === true);

async function tryPart(part: string, isWhole: boolean): Promise<void> {
  if (!(await passes(part))) throw new Error(`the tests of ${part} do not pass without a break`);
  const all = globSync(`${part}/**/*.ts`, { cwd: ROOT, exclude: ['**/*.test.ts'] })
    .toSorted()
    .flatMap((file) => {
      const path = join(ROOT, file);
      return breaksOf(readFileSync(path, 'utf8')).map((each) => ({ ...each, path, file }));
    });
  const step = isWhole ? 1 : Math.max(1, all.length / SAMPLE);
  const chosen = all.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step));
  const waiting = chosen.values();
  let caught = 0;
  const work = async (): Promise<void> => {
    for (const each of waiting) {
      if (!(await passes(part, each))) caught += 1;
      else console.log(`not noticed: ${each.file}:${each.line}: ${described(each)}`);
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  console.log(`${part}: ${caught} of ${chosen.length} breaks noticed, of ${all.length} there are`);
}

/** The original code and its replacement. */
function described({ path, start, end, text }: BrokenFile): string {
  const before = readFileSync(path, 'utf8').slice(start, end).replaceAll(/\s+/g, ' ');
  return `${before.length > 60 ? `${before.slice(0, 60)}…` : before} → ${text === '' ? '(nothing)' : text}`;
}

/** @returns whether the tests of the part pass in a process with the break */
async function passes(part: string, brokenFile?: BrokenFile): Promise<boolean> {
  const hook = fileURLToPath(new URL('hook.ts', import.meta.url));
  const mocha = [`--import=${hook}`, 'node_modules/mocha/bin/mocha.js', '--bail', '--reporter=dot'];
  const child = spawn(process.execPath, [...mocha, `--timeout=${TEST_TIMEOUT_MS}`, `${part}/**/*.test.ts`], {
    cwd: ROOT,
    stdio: 'ignore',
    env: { ...process.env, ...(brokenFile === undefined ? {} : { [VARIABLE]: JSON.stringify(brokenFile) }) },
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIMEOUT_MS);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0;
  } finally {
    clearTimeout(timer);
  }
}
