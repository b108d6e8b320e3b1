/**
 * `npx node e2e/mutation/faults.ts [WORD…]`: makes the faults of faults.yml whose file or description contains one of
 * the words, or all of them. Each is made in a copy of the repository, where the one test file that must notice it runs.
 * Prints the faults that it does not notice. Nothing of the repository itself is changed.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Loader, transformSync } from 'esbuild';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COPIES = 2;
/** ms that a test may take. A fault may keep it from ending. */
const TEST_TIMEOUT_MS = 20_000;
/** ms for a test file. A fault may keep the process busy indefinitely. */
const RUN_TIMEOUT_MS = 180_000;

interface Fault {
  readonly file: string;
  /** what is wrong then */
  readonly fault: string;
  /** occurs exactly once in the file, where each blank may be any blanks and line breaks */
  readonly find: string;
  readonly put: string;
  /** the file that must notice it; by default the test beside the file */
  readonly test: string;
}

const faults = readFaults();
const mistakes = faults.flatMap((fault) => mistakeIn(fault) ?? []);
if (mistakes.length > 0) throw new Error(`faults.yml has to follow the code:\n${mistakes.join('\n')}`);
const words = process.argv.slice(2);
const chosen = faults.filter(
  ({ file, fault }) => words.length === 0 || words.some((word) => `${file}: ${fault}`.includes(word)),
);
const missed: string[] = [];
const copies = Array.from({ length: Math.min(COPIES, chosen.length) }, copyRepository);
try {
  const tests = new Set(chosen.map(({ test }) => test)).values();
  await eachCopy(async (copy) => {
    for (const test of tests)
      if (!(await passes(copy, test))) throw new Error(`${test} does not pass without a fault`);
  });
  const waiting = chosen.values();
  await eachCopy(async (copy) => {
    for (const fault of waiting)
      if (await isMissed(copy, fault)) missed.push(`${fault.file}: ${fault.fault}`);
  });
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
for (const each of missed) console.log(`not noticed: ${each}`);
console.log(`${chosen.length - missed.length} of ${chosen.length} faults noticed`);
process.exitCode = missed.length === 0 ? 0 : 1;

async function eachCopy(work: (copy: string) => Promise<void>): Promise<void> {
  await Promise.all(copies.map(work));
}

function readFaults(): Fault[] {
  const text = readFileSync(new URL('faults.yml', import.meta.url), 'utf8');
  const byFile = parse(text) as Record<string, (Omit<Fault, 'file' | 'test'> & { readonly test?: string })[]>;
  return Object.entries(byFile).flatMap(([file, rows]) =>
    rows.map((row) => ({ test: file.replace(/\.tsx?$/, '.test.ts'), ...row, file })),
  );
}

/** @returns why a fault cannot be made */
function mistakeIn({ file, fault, find, put, test }: Fault): string | undefined {
  if (!existsSync(join(ROOT, file))) return `there is no ${file}`;
  const count = [...readFileSync(join(ROOT, file), 'utf8').matchAll(patternOf(find))].length;
  if (count !== 1) return `${file}: ${fault}: found ${count} times: ${find}`;
  if (find === put) return `${file}: ${fault}: changes nothing`;
  return existsSync(join(ROOT, test)) ? undefined : `${file}: ${fault}: there is no ${test}`;
}

function patternOf(find: string): RegExp {
  return new RegExp(find.split(/\s+/).map(escaped).join('\\s+'), 'g');
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

/** Copies the files that Git knows or would add. @returns the folder */
function copyRepository(): string {
  const copy = mkdtempSync(join(tmpdir(), 'culvert-faults-'));
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    maxBuffer: 1e8,
  });
  for (const path of list.toString().split('\0'))
    if (path !== '' && existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(copy, path));
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function isMissed(copy: string, { file, find, put, test }: Fault): Promise<boolean> {
  const path = join(copy, file);
  const before = readFileSync(path, 'utf8');
  const broken = before.replace(patternOf(find), () => put);
  // A syntax error would be noticed by any test.
  if (!file.endsWith('.md')) transformSync(broken, { loader: extname(file).slice(1) as Loader });
  writeFileSync(path, broken);
  try {
    return await passes(copy, test);
  } finally {
    writeFileSync(path, before);
  }
}

async function passes(copy: string, test: string): Promise<boolean> {
  const node = async (...args: string[]): Promise<boolean> => {
    const child = spawn(process.execPath, args, { cwd: copy, stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), RUN_TIMEOUT_MS);
    try {
      const [code] = (await once(child, 'close')) as [number | null];
      return code === 0;
    } finally {
      clearTimeout(timer);
    }
  };
  // These run the built programs.
  if (/^e2e\/(?!structure)/.test(test) && !(await node('release/build.ts')))
    throw new Error('the build failed');
  return await node('node_modules/mocha/bin/mocha.js', '--bail', `--timeout=${TEST_TIMEOUT_MS}`, test);
}
