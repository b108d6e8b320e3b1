/** The name that `culvert run` asks for: from the package and the branch, so that each worktree has an address of its own. */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { NAME_MAX_LENGTH } from '../../shared/constraints.ts';
import { NAME_RULE } from '../../shared/value-rules.ts';
import { PACKAGE_FILE_MAX_BYTES } from './limits.ts';

/** Branches that are left out of the name. */
const MAIN_BRANCHES = new Set(['main', 'master']);

/**
 * @param folder the working directory
 * @returns a valid name; `undefined` without a package that has a name
 */
export function projectName(folder: string): string | undefined {
  const { name } = findPackage(folder) ?? {};
  if (typeof name !== 'string') return undefined;
  const branch = currentBranch(folder);
  const project = asLabel(name.replace(/^@[^/]*\//, ''));
  if (project === '') return undefined;
  const suffix = branch === undefined || MAIN_BRANCHES.has(branch) ? '' : `-${asLabel(branch)}`;
  const label = `${project}${suffix}`.slice(0, NAME_MAX_LENGTH).replace(/-$/, '');
  return NAME_RULE.accepts(label) ? label : undefined;
}

function asLabel(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** The parts of a `package.json` that are used here; any of them may be anything. */
export interface PackageFile {
  readonly name?: unknown;
  readonly scripts?: unknown;
}

/** @returns the nearest `package.json` in the folder or above it; `undefined` if none can be read */
export function findPackage(folder: string): PackageFile | undefined {
  const text = findAbove(folder, 'package.json');
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The branch that is checked out; `undefined` outside of a repository, and for a commit without a branch. */
function currentBranch(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const head = readSmall(join(at, '.git', 'HEAD')) ?? worktreeHead(at);
    if (head !== undefined) return /^ref: refs\/heads\/(.+)$/m.exec(head)?.[1]?.trim();
    if (dirname(at) === at) return undefined;
  }
}

/** In a worktree, `.git` is a file that names the folder of its `HEAD` (gitrepository-layout(5)). */
function worktreeHead(folder: string): string | undefined {
  const [, path] = /^gitdir: (.+)$/m.exec(readSmall(join(folder, '.git')) ?? '') ?? [];
  return path === undefined ? undefined : readSmall(join(resolve(folder, path.trim()), 'HEAD'));
}

function findAbove(folder: string, name: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const text = readSmall(join(at, name));
    if (text !== undefined) return text;
    if (dirname(at) === at) return undefined;
  }
}

/** @returns `undefined` for anything but a readable file of a usual size */
function readSmall(path: string): string | undefined {
  try {
    const file = openSync(path, 'r');
    try {
      const { size } = fstatSync(file);
      return size > PACKAGE_FILE_MAX_BYTES ? undefined : readFileSync(file, 'utf8');
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
