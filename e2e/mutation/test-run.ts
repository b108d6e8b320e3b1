import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { Layer } from './mutation.ts';

/** A run that takes longer hangs. */
const RUN_TIMEOUT_MS = 600_000;

export interface Failure {
  readonly title: string;
  /** the error on one line */
  readonly why: string;
}

export interface TestRun {
  /** whole titles */
  readonly passed: readonly string[];
  readonly failed: readonly Failure[];
}

/**
 * Runs tests of a layer by their whole titles.
 *
 * @throws Error when mocha ends without a result, as where the code is broken so much that no test begins
 */
export async function runTests(
  folder: string,
  { files, timeoutMs, hooks }: Layer,
  titles: readonly string[],
): Promise<TestRun> {
  const output = join(folder, 'mutation-result.json');
  rmSync(output, { force: true });
  const said = await runMocha(folder, [
    // What a broken program leaves open must not keep the run from ending.
    '--exit',
    ...(hooks === undefined ? [] : [`--require=${hooks}`]),
    `--timeout=${timeoutMs}`,
    `--grep=^(?:${titles.map(escape).join('|')})$`,
    '--reporter=json',
    `--reporter-option=output=${output}`,
    files,
  ]);
  if (!existsSync(output)) throw new Error(`mocha ended without a result: ${said}`);
  return readResult(JSON.parse(readFileSync(output, 'utf8')) as MochaResult);
}

interface MochaResult {
  readonly passes: readonly { readonly fullTitle: string }[];
  readonly failures: readonly { readonly fullTitle: string; readonly err: { readonly message?: string } }[];
}

function readResult({ passes, failures }: MochaResult): TestRun {
  return {
    passed: passes.map(({ fullTitle }) => fullTitle),
    failed: failures.map(({ fullTitle, err }) => ({
      title: fullTitle,
      why: stripVTControlCharacters(err.message ?? '')
        .replace(/\s+/g, ' ')
        .trim(),
    })),
  };
}

/** @returns the end of what it said */
async function runMocha(folder: string, args: readonly string[]): Promise<string> {
  const mocha = join(folder, 'node_modules/mocha/bin/mocha.js');
  // In a group of its own: what tests have started ends with it.
  const child = spawn(process.execPath, [mocha, ...args], {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const hear = (chunk: Buffer): void => {
    said = (said + chunk.toString()).slice(-4000);
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const timer = setTimeout(() => killGroup(child.pid), RUN_TIMEOUT_MS);
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  clearTimeout(timer);
  return said;
}

function killGroup(pid: number | undefined): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}

/** Line ends too: mocha reads a pattern up to the first. */
function escape(text: string): string {
  return text
    .replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
    .replaceAll('\r', '\\r')
    .replaceAll('\n', '\\n');
}
