import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { transform } from 'esbuild';
import { CULVERT_SCRIPT, RELAY_SCRIPT } from '../support/programs.ts';

const PROGRAMS = [
  ['culvert', CULVERT_SCRIPT],
  ['culvert-relay', RELAY_SCRIPT],
] as const;

/** Runs a script on a Node that claims to be an older one. */
function runOn(version: string, script: string) {
  const versions = JSON.stringify({ ...process.versions, node: version });
  const pretend = `Object.defineProperty(process, 'versions', { value: ${versions} })`;
  const hook = `data:text/javascript,${encodeURIComponent(pretend)}`;
  return spawnSync(process.execPath, ['--import', hook, script, '--version'], {
    encoding: 'utf8',
    timeout: 25_000,
  });
}

/** A built file with its imports, which are read before any of it runs. */
function importedWith(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const imported = [...text.matchAll(/^import\s*(?:[^'"]*from\s*)?["'](\.[^"']+)["']/gm)];
  return [file, ...imported.flatMap(([, path = '']) => importedWith(join(dirname(file), path)))];
}

describe('on a Node that is too old,', () => {
  for (const [name, script] of PROGRAMS) {
    it(`${name} prints one line with the required version and how to get it`, () => {
      for (const version of ['16.20.2', '18.19.0', '20.20.2', '22.12.0']) {
        const { status, stdout, stderr } = runOn(version, script);
        assert.deepEqual([status, stdout], [1, '']);
        assert.ok(stderr.startsWith(`${name}: needs Node 22.13 or newer, and this is ${version};`), stderr);
        assert.match(stderr, /^[^\n]*https:\/\/nodejs\.org[^\n]*\n$/);
      }
    });

    it(`${name} runs on the oldest supported version`, () => {
      assert.equal(runOn('22.13.0', script).status, 0);
    });

    it(`${name} uses only syntax that Node 12 can parse in the files that every Node reads`, async () => {
      const files = importedWith(script);
      for (const file of files) {
        const text = readFileSync(file, 'utf8');
        const [today, then] = await Promise.all(
          ['esnext', 'node12.20'].map((target) => transform(text, { target, format: 'esm' })),
        );
        assert.equal(then?.code, today?.code, file);
      }
      // It also uses no modules that an old Node does not have.
      for (const file of files) assert.doesNotMatch(readFileSync(file, 'utf8'), /["']node:|getBuiltinModule/);
    });
  }
});
