/**
 * `npm run release -- X.Y.Z`: checks, tests, writes the version to all files, commits and tags. Nothing leaves this
 * machine.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { VERSION } from '../shared/version.ts';
import { cutRelease, obstacles, setVersion, type Situation, VERSION_FILES } from './plan.ts';
import { readRepository, ROOT } from './repository.ts';

const USAGE = `usage: npm run release -- X.Y.Z [--tested]

--tested  leaves out npm run check and npm run test:all: continuous integration has passed this very commit
`;

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trimEnd();
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function look(version: string): Situation {
  return {
    version,
    current: VERSION,
    branch: git('rev-parse', '--abbrev-ref', 'HEAD'),
    changes: git('status', '--porcelain'),
    tags: git('tag', '--list').split('\n'),
    changelog: read('CHANGELOG.md'),
    repository: readRepository(),
    lock: JSON.parse(read('package-lock.json')) as Situation['lock'],
  };
}

/** @throws Error with all obstacles */
function assertPossible(situation: Situation): void {
  const found = obstacles(situation);
  if (found.length === 0) return;
  throw new Error(`${situation.version} cannot be released:\n${found.map((text) => `- ${text}`).join('\n')}`);
}

function run(...args: string[]): void {
  // npm is a shell script on Windows.
  const { status } = spawnSync('npm', args, {
    cwd: ROOT,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed, so nothing is released`);
}

function release(version: string, isTested: boolean): void {
  assertPossible(look(version));
  if (!isTested) {
    run('run', 'check');
    run('run', 'test:all');
  }
  // Check again, because the tests take a while, and files may have changed since.
  const situation = look(version);
  assertPossible(situation);
  const today = new Date().toISOString().slice(0, 10);
  const texts = setVersion(new Map(VERSION_FILES.map((file) => [file, read(file)])), version);
  texts.set('CHANGELOG.md', cutRelease(situation.changelog, version, today));
  for (const [file, text] of texts) writeFileSync(join(ROOT, file), text);
  try {
    git('commit', '--quiet', '--message', `release: ${version}`, '--', ...texts.keys());
  } catch (error) {
    git('checkout', '--quiet', '--', ...texts.keys());
    throw error;
  }
  git('tag', '--annotate', `v${version}`, '--message', `Culvert ${version}`);
  process.stdout.write(`Culvert ${version} is committed, and tagged v${version}. So far that is here only.
To publish it:      git push --atomic origin main v${version}
To take it back:    git tag -d v${version} && git reset --hard HEAD~1
`);
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { tested: { type: 'boolean', default: false } },
  });
  const [version, ...more] = positionals;
  if (version === undefined || more.length > 0) throw new Error(USAGE);
  release(version, values.tested);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
