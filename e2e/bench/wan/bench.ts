/**
 * `npm run bench:wan [-- --rounds N --profile NAME --only TEST --short]`: compares Culvert with no tunnel and with ssh
 * over emulated links with delay, limited rates and losses. A whole run writes `docs/contributing/benchmarks/wan.md`.
 */
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import { Authority } from '../../support/certificates.ts';
import type { Child } from '../../support/child.ts';
import { temporaryDirectory } from '../../support/programs.ts';
import { Scope } from '../../support/scope.ts';
import { describeMachine, install } from '../machine.ts';
import { rotated } from '../stats.ts';
import { allowCongestionControl, buildWanlink, disturb, Lab, removeAbandoned } from './lab.ts';
import { type Options, PROFILES, readOptions, TESTS, testsOf } from './options.ts';
import { type Run, wanPage, wanPlot, type WanSamples } from './report.ts';
import { NAMES, REFERENCE, startSystems, SYSTEMS } from './systems.ts';

const PACKAGES = 'openssl gcc libc6-dev iproute2 nginx openssh-server openssh-client chromium'.split(' ');
const VISITOR = fileURLToPath(new URL('visitor.ts', import.meta.url));
const PAGE = fileURLToPath(new URL('../../../docs/contributing/benchmarks/wan.md', import.meta.url));
/** ms that a test of one system may take. */
const TEST_MS = 150_000;
/** How long the link of the client is cut, by test. A `move` gives the client another address instead. */
const DISTURBANCES: Readonly<Record<string, number | undefined>> = {
  'cut-20': 20_000,
  'cut-60': 60_000,
  move: undefined,
};

/** Tests in which processor time decides. All others wait for the network, so the profiles run them at the same time. */
const ALONE = new Set(['page', 'requests', 'text']);

/** Each profile has its own systems and links. */
async function measure(
  scope: Scope,
  options: Options,
  samples: WanSamples,
  signal: AbortSignal,
): Promise<void> {
  const folder = temporaryDirectory(scope);
  const wanlink = buildWanlink(folder);
  const authority = new Authority(scope);
  const { CULVERT_CHROMIUM: chromium } = process.env;
  const browser = chromium === undefined ? {} : { CULVERT_CHROMIUM: chromium };
  removeAbandoned();
  allowCongestionControl(scope);
  const starting = options.profiles.map(async (name) => {
    const profile = PROFILES[name];
    if (profile === undefined) return [];
    const lab = await Lab.start(scope, name, profile, wanlink, NAMES);
    await startSystems(scope, lab, authority);
    return [{ name, lab }];
  });
  const labs = (await Promise.all(starting)).flat();
  const visitorOf =
    (lab: Lab) =>
    (...args: string[]): Child =>
      lab.run('visitor', process.execPath, [VISITOR, authority.path, ...args], {
        TMPDIR: folder,
        ...browser,
      });
  // A relay runs for weeks; V8 compiles its code only during the first requests.
  for (const { name, lab } of labs) {
    console.error(`${name}: warm-up`);
    await measureTest(visitorOf(lab), 'requests', 0, signal);
  }
  for (let round = 0; round < options.rounds; round += 1) {
    const run = async (name: string, lab: Lab, test: string): Promise<void> => {
      signal.throwIfAborted();
      console.error(`${name}, round ${round + 1}: ${test}`);
      const visitor = visitorOf(lab);
      const values = await (test in DISTURBANCES
        ? measureRecovery(lab, visitor, test)
        : measureTest(visitor, test, round, signal));
      signal.throwIfAborted();
      for (const [system, numbers] of values) {
        for (const [index, row] of (TESTS[test] ?? []).entries()) {
          (samples[`${name}/${row}/${system}`] ??= []).push(numbers[index] ?? null);
        }
      }
    };
    for (const { name, lab } of labs)
      for (const test of testsOf(options, name).filter((each) => ALONE.has(each))) await run(name, lab, test);
    await Promise.all(
      labs.map(async ({ name, lab }) => {
        for (const test of testsOf(options, name).filter((each) => !ALONE.has(each)))
          await run(name, lab, test);
      }),
    );
  }
}

/** One system after the other. Each round begins with another one. */
async function measureTest(
  visitor: (...args: string[]) => Child,
  test: string,
  round: number,
  signal: AbortSignal,
): Promise<Map<string, number[]>> {
  const values = new Map<string, number[]>();
  for (const system of rotated(Object.keys(SYSTEMS), round)) {
    signal.throwIfAborted();
    const program = visitor(test, system);
    try {
      await program.finished(TEST_MS);
      values.set(system, JSON.parse(program.lines.at(-1) ?? '[]') as number[]);
    } catch (error) {
      console.error(`${test} of ${system} failed: ${String(error)}`);
      values.set(system, []);
    }
    await program.end();
  }
  return values;
}

/** All systems at the same time: they are cut off together. HTTP/1.1 makes no difference to a tunnel that is gone. */
async function measureRecovery(
  lab: Lab,
  visitor: (...args: string[]) => Child,
  test: string,
): Promise<Map<string, number[]>> {
  const cutMs = DISTURBANCES[test];
  // Without a tunnel, nothing finds the new address.
  const systems = ['culvert', 'ssh', ...(cutMs === undefined ? [] : [REFERENCE])];
  const seconds = await disturb(lab, visitor('ask', ...systems), systems, cutMs);
  return new Map([...seconds].map(([system, value]) => [system, value === undefined ? [] : [value]]));
}

/** @throws Error that says what this machine lacks */
function prepare(): void {
  if (process.getuid?.() !== 0) {
    throw new Error(
      'npm run bench:wan creates network namespaces, so it needs Linux and root. Run it as root.',
    );
  }
  if (!existsSync('/dev/net/tun')) {
    throw new Error('There is no /dev/net/tun. Give the container this device, or load the module tun.');
  }
  install(...PACKAGES);
}

async function write(samples: WanSamples, run: Run): Promise<void> {
  writeFileSync(PAGE, await format(wanPage(samples, run), { parser: 'markdown', printWidth: 110 }));
  writeFileSync(PAGE.replace(/md$/, 'svg'), wanPlot(samples));
  const json = JSON.stringify({ ...run, samples });
  writeFileSync(PAGE.replace(/md$/, 'json'), await format(json, { parser: 'json', printWidth: 110 }));
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  prepare();
  const machine = describeMachine(['nginx -v', 'ssh -V', '(chromium --version 2>/dev/null)']);
  const samples: WanSamples = {};
  let highestLoad = 0;
  const watch = setInterval(() => (highestLoad = Math.max(highestLoad, loadavg()[0] ?? 0)), 5000);
  const interruption = new AbortController();
  const interrupted = once(interruption.signal, 'abort').then(() => interruption.signal.throwIfAborted());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => interruption.abort(new Error(`interrupted by ${signal}`)));
  }
  const scope = new Scope();
  try {
    await Promise.race([measure(scope, options, samples, interruption.signal), interrupted]);
  } finally {
    clearInterval(watch);
    await scope.end();
  }
  const date = new Date().toISOString().slice(0, 10);
  const run = { machine, date, rounds: options.rounds, highestLoad };
  console.log(wanPage(samples, run));
  if (options.isWhole) await write(samples, run);
}

try {
  await main();
  process.exit(0);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
