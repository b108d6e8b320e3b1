import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './repository.ts';

const { name, private: isPrivate } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly name: string;
  readonly private: boolean;
};

/** Files that users and operators read and copy from, or that are run for them. */
const READ = /(?:\.md|\.ya?ml|\.service|Dockerfile|\.html)$|^server\/cli\/help\.ts$|^desktop\/cli\/help\.ts$/;
const INSTALL = /(\bnpx|\bnpm (?:install|i|add|update|exec|view)|\byarn add|\bpnpm add)\b([^\n`;&|)<]*)/g;
/** Options of npm whose value is the next word. */
const WITH_VALUE = new Set(['--prefix', '--cache', '--omit']);

/** The packages of the registry that a text asks its reader to install or run. */
function packagesNamedIn(text: string): string[] {
  return [...text.matchAll(INSTALL)].flatMap(([, command, rest = '']) => {
    const words = (rest.split(/\s#|["']/, 1)[0] ?? '').split(/\s+/).filter(Boolean);
    const named = words.filter(
      (word, index) =>
        !word.startsWith('-') && !/^[./]|\.tgz$/.test(word) && !WITH_VALUE.has(words[index - 1] ?? ''),
    );
    // The rest are arguments of that program.
    return command === 'npx' ? named.slice(0, 1).filter((word) => !isInstalled(word)) : named;
  });
}

/** Whether npx finds the program among the project's dependencies. */
function isInstalled(program: string): boolean {
  return existsSync(join(ROOT, 'node_modules/.bin', program));
}

describe('the package', () => {
  it('has a scope, and is private until a person publishes it', () => {
    assert.match(name, /^@[\w-]+\/culvert$/);
    assert.equal(isPrivate, true);
  });

  it('is the only package of the registry that the documents ask to install', () => {
    const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
    for (const file of files.filter((path) => READ.test(path))) {
      const named = packagesNamedIn(readFileSync(join(ROOT, file), 'utf8'));
      const foreign = named.filter((word) => word !== name && !word.startsWith(`${name}@`));
      assert.deepEqual(foreign, [], file);
    }
  });

  it('would be noticed under another name', () => {
    assert.deepEqual(packagesNamedIn('run `npm install -g culvert` or\nnpx culvert@latest http 3000'), [
      'culvert',
      'culvert@latest',
    ]);
    assert.deepEqual(packagesNamedIn('npm install && npm install -g --prefix /usr ./x.tgz # culvert'), []);
  });
});
