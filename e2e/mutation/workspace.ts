import { execFile } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryDirectory } from '../support/programs.ts';
import type { Scope } from '../support/scope.ts';
import type { Mutation } from './mutation.ts';

const run = promisify(execFile);
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BUILD_TIMEOUT_MS = 300_000;
const LIST_MAX_BYTES = 4 * 1024 * 1024;

/** A copy of the working tree that may be broken; the packages are those of the tree. */
export class Workspace {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Copies all that is or could be committed, and builds it. Removed with the scope. */
  static async create(scope: Scope): Promise<Workspace> {
    const workspace = new Workspace(temporaryDirectory(scope));
    const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const { stdout } = await run('git', args, { cwd: ROOT, maxBuffer: LIST_MAX_BYTES });
    for (const file of stdout.split('\0')) {
      const from = join(ROOT, file);
      // The last is empty; one that was removed is still listed.
      if (file === '' || !existsSync(from)) continue;
      const to = join(workspace.folder, file);
      mkdirSync(dirname(to), { recursive: true });
      copyFileSync(from, to);
    }
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(workspace.folder, 'node_modules'));
    await workspace.build();
    return workspace;
  }

  /** Compiles the programs, as `npm run build` does. */
  async build(): Promise<void> {
    await run('npm', ['run', '--silent', 'build'], { cwd: this.folder, timeout: BUILD_TIMEOUT_MS });
  }

  /** Breaks a file. @returns what puts it back */
  apply({ file, find, replace }: Mutation): () => void {
    const path = join(this.folder, file);
    const text = readFileSync(path, 'utf8');
    const broken = replaceOnce(text, find, replace);
    if (broken === undefined) throw new Error(`${file} does not have this text exactly once: ${find}`);
    writeFileSync(path, broken);
    return () => writeFileSync(path, text);
  }
}

/** @returns `undefined` where the text to replace is not there exactly once, or nothing would change */
export function replaceOnce(text: string, find: string, replace: string): string | undefined {
  const at = text.indexOf(find);
  if (at === -1 || text.includes(find, at + 1) || find === replace) return undefined;
  return text.slice(0, at) + replace + text.slice(at + find.length);
}
