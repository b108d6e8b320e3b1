/**
 * Runs suites (suites.ts), several at a time; the programs are built once.
 *
 *     node e2e/run.ts                       those of npm test
 *     node e2e/run.ts all                   those of npm run test:all
 *     node e2e/run.ts SUITE [ARGUMENT...]   one, with further arguments for its program
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Suite, SUITES } from './suites.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** One more than two cores can work on: `hostile` and `deploy` wait for half of their time. */
const LANES = 3;

const [name, ...args] = process.argv.slice(2);
if (name === undefined) await runAll(SUITES.filter(({ runs }) => runs === 'always'));
else if (name === 'all') await runAll(SUITES.filter(({ runs }) => runs !== 'by name'));
else runOne(SUITES.find((suite) => suite.name === name) ?? usage(), args);

function usage(): never {
  console.error(
    `usage: node e2e/run.ts [all | SUITE [ARGUMENT...]]\nsuites: ${SUITES.map((s) => s.name).join(' ')}`,
  );
  process.exit(2);
}

function runOne({ setup, runsBuild, command }: Suite, more: readonly string[]): void {
  if (setup !== undefined) runToEnd('sh', setup.split(' '));
  if (runsBuild) build();
  runToEnd(process.execPath, [...command, ...more]);
}

function build(): void {
  runToEnd('npm run --silent build', [], true);
}

/** Also ends this program if it fails. */
function runToEnd(program: string, programArgs: readonly string[], shell = false): void {
  const { status } = spawnSync(program, programArgs, { cwd: ROOT, stdio: 'inherit', shell });
  if (status !== 0) process.exit(status ?? 1);
}

/** The script that installs what a suite needs, without the arguments that choose a part of it. */
function scriptOf(setup = ''): string {
  return setup.split(' ')[0] ?? '';
}

/** Runs suites and prints the output of each in one piece. Failures are printed last, where people look for them. */
async function runAll(suites: readonly Suite[]): Promise<void> {
  const waiting = [...suites];
  const running = new Set<ChildProcess>();
  // Ctrl-C reaches the children directly, through the terminal.
  process.once('SIGTERM', () => {
    waiting.length = 0;
    for (const child of running) child.kill();
  });

  /** @returns whether it succeeded, and its output */
  async function run(program: string, programArgs: readonly string[]): Promise<[boolean, string]> {
    const child = spawn(program, programArgs, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [code] = (await once(child, 'close')) as [number | null];
    running.delete(child);
    return [code === 0, said];
  }

  /**
   * What each script installs, for all suites in one run of it, beside the suites that need nothing. One after the
   * other: two package installations must not run at the same time.
   */
  const installed = new Map<string, Promise<[boolean, string]>>();
  let last: Promise<unknown> = Promise.resolve();
  for (const { setup } of suites) {
    const script = scriptOf(setup);
    if (script === '' || installed.has(script)) continue;
    const mine = last.then(async () => await run('sh', [script]));
    installed.set(script, mine);
    last = mine;
  }
  build();

  async function runSuite({ setup, command }: Suite): Promise<[boolean, string]> {
    const [isThere, said] = (await installed.get(scriptOf(setup))) ?? [true, ''];
    return isThere ? await run(process.execPath, command) : [false, said];
  }

  const failed = new Map<string, string>();
  async function lane(): Promise<void> {
    for (let suite = waiting.shift(); suite !== undefined; suite = waiting.shift()) {
      console.log(`${suite.name} begins`);
      const start = performance.now();
      const [hasPassed, said] = await runSuite(suite);
      const seconds = Math.round((performance.now() - start) / 1000);
      const verdict = `\n──── ${suite.name}: ${hasPassed ? 'passed' : 'failed'} after ${seconds} s\n\n`;
      if (hasPassed) console.log(verdict + said);
      else {
        console.log(`${suite.name} failed after ${seconds} s`);
        failed.set(suite.name, verdict + said);
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane));
  if (failed.size === 0) return;
  const parts = [...failed].map(([suite, said]) => ({ suite, ...atTotals(said) }));
  for (const { before } of parts) console.log(before);
  for (const { suite, totals } of parts) console.log(`──── ${suite}\n${totals}`);
  console.error(`failed: ${[...failed.keys()].join(', ')}`);
  process.exitCode = 1;
}

/**
 * Splits the output of a suite: people read only the end of a long output, so the totals of all suites are printed
 * there.
 */
function atTotals(said: string): { before: string; totals: string } {
  const at = said.search(/^ *\d+ passing\b/m);
  return at < 0 ? { before: '', totals: said } : { before: said.slice(0, at), totals: said.slice(at) };
}
