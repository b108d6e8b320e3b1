/** Checks the workflows of the public home, which run where no test of ours can: what they name must at least exist. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { SUITES } from '../e2e/suites.ts';
import { ROOT } from './repository.ts';

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Job {
  readonly 'timeout-minutes'?: number;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly needs?: string | string[];
  readonly uses?: string;
  readonly steps?: readonly Step[];
  readonly strategy?: { readonly matrix: { readonly suite?: readonly string[] } };
}

interface Workflow {
  readonly permissions: object;
  readonly concurrency: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

const FOLDER = join(ROOT, '.github/workflows');
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
/** The write permissions of each job that needs more than read access. */
const WRITES = {
  'release.yml publish': ['contents'],
  'release.yml npm': ['id-token'],
  'release.yml container': ['packages'],
};

describe('workflows', () => {
  const files = readdirSync(FOLDER);

  it('check, release, and make the faults at night', () =>
    assert.deepEqual(files.sort(), ['ci.yml', 'nightly.yml', 'release.yml']));

  it('run every suite of npm run test:all, those beyond npm test in separate jobs', () => {
    const { jobs } = parse(readFileSync(join(FOLDER, 'ci.yml'), 'utf8')) as Workflow;
    const commands = Object.values(jobs).flatMap(({ steps = [] }) => steps.map(({ run = '' }) => run));
    assert.ok(commands.some((command) => /\bnpm test$/.test(command)));
    const more = SUITES.filter(({ runs }) => runs === 'with all').map(({ name }) => name);
    assert.deepEqual(jobs['more']?.strategy?.matrix.suite?.toSorted(), more.toSorted());
  });

  for (const file of files) {
    const { permissions, concurrency, jobs } = parse(readFileSync(join(FOLDER, file), 'utf8')) as Workflow;

    it(`${file} limits the permissions and the time of each job`, () => {
      assert.deepEqual(permissions, {});
      assert.ok('group' in concurrency);
      for (const [name, job] of Object.entries(jobs)) {
        const rights = Object.entries(job.permissions ?? assert.fail(`${name} has no permissions`));
        const written = rights.filter(([, right]) => right !== 'read').map(([what]) => what);
        assert.deepEqual(written, new Map(Object.entries(WRITES)).get(`${file} ${name}`) ?? [], name);
        // A called workflow has its own timeouts.
        assert.ok(
          job.uses !== undefined || Number(job['timeout-minutes']) > 0,
          `${name} has no timeout-minutes`,
        );
        for (const other of [job.needs ?? []].flat()) assert.ok(other in jobs, `${name} needs ${other}`);
      }
    });

    it(`${file} runs no script of a package in a step with a secret`, () => {
      for (const [name, job] of Object.entries(jobs)) {
        const isTrusted =
          Object.values(job.permissions ?? {}).includes('write') || job.environment !== undefined;
        if (!isTrusted && !JSON.stringify(job).includes('secrets')) continue;
        const commands = (job.steps ?? []).flatMap(({ run = '' }) => run.split('\n'));
        for (const command of commands.filter((line) => /\bnpm (?:install|i|ci)\b/.test(line)))
          assert.equal(command, 'npm ci --ignore-scripts', name);
        // Not even programs of packages may run in a job whose output is trusted as ours.
        if (job.permissions?.['id-token'] === 'write')
          assert.deepEqual(
            commands.filter((line) => /\bnpm (?:ci|run)\b|\bnpx\b/.test(line)),
            [],
            name,
          );
      }
    });

    it(`${file} names only things that exist`, () => {
      const steps: Step[] = Object.values(jobs).flatMap((job) => [
        { uses: job.uses ?? '' },
        ...(job.steps ?? []),
      ]);
      for (const { uses = '' } of steps) {
        if (uses.startsWith('./')) assert.ok(existsSync(join(ROOT, uses)), uses);
        // A tag can be moved to other code, a commit cannot.
        else assert.match(uses, /^$|^actions\/[a-z-]+@[0-9a-f]{40}$/);
      }
      const commands = steps.map(({ run = '' }) => run).join('\n');
      for (const [, script = ''] of commands.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g)) {
        assert.ok(script in scripts, `npm run ${script}`);
      }
      for (const [, program = ''] of commands.matchAll(/\bnpx ([\w-]+)/g)) {
        assert.ok(existsSync(join(ROOT, 'node_modules/.bin', program)), `npx ${program}`);
      }
      for (const [path] of commands.matchAll(/\.ci\/run|server\/deploy\/\w+/g)) {
        assert.ok(existsSync(join(ROOT, path)), path);
      }
      // Untrusted text, such as branch names, must not become part of a command.
      assert.ok(!commands.includes('${{'), 'an expression within a command');
    });
  }
});
