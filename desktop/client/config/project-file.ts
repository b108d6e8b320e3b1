/** Finds and reads `culvert.yml`, the tunnels of a project. */
import { closeSync, fstatSync, lstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CONFIG_FILE_MAX_BYTES } from '../limits.ts';
import { MessageError, messageOf, toMessage } from '../messages.ts';
import { checkOwners, ProjectFileError, trustedOwners } from './project-trust.ts';
import { parseProject, type Project, type ReadOptions } from './project.ts';

export const PROJECT_FILE = 'culvert.yml';

/**
 * @param path the file to read; without it, the nearest `culvert.yml` in the folder or above it
 * @param folder the working directory
 * @param owners users whose file is accepted if no path is given; `undefined` accepts any
 * @throws ProjectFileError
 */
export function readProject(
  path: string | undefined,
  folder: string,
  options: ReadOptions = {},
  owners = trustedOwners(process.env, process.geteuid?.()),
): Project {
  return path === undefined
    ? readFile(findProjectFile(folder), owners, options)
    : readFile(resolve(folder, path), undefined, options);
}

/**
 * Reads the `culvert.yml` of exactly this folder.
 *
 * @param owners users whose file is accepted; `undefined` accepts any
 * @throws ProjectFileError
 */
export function readProjectIn(
  folder: string,
  options: ReadOptions,
  owners = trustedOwners(process.env, process.geteuid?.()),
): Project {
  return readFile(join(folder, PROJECT_FILE), owners, options);
}

function readFile(file: string, owners: ReadonlySet<number> | undefined, options?: ReadOptions): Project {
  try {
    return parseProject(readText(file, owners), file, options);
  } catch (error) {
    if (error instanceof ProjectFileError) throw error;
    throw new ProjectFileError(toMessage('project.unreadable', { path: file, why: messageOf(error) }));
  }
}

function readText(path: string, owners: ReadonlySet<number> | undefined): string {
  const link = lstatSync(path);
  const file = openSync(path, 'r');
  try {
    // Checked on the open file, because the path may have been replaced since.
    const { size, uid } = fstatSync(file);
    checkOwners(path, [link.uid, uid], owners);
    if (size > CONFIG_FILE_MAX_BYTES)
      throw new MessageError(toMessage('project.tooLarge', { max: CONFIG_FILE_MAX_BYTES }));
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function findProjectFile(start: string): string {
  for (let folder = resolve(start); ; folder = dirname(folder)) {
    const file = join(folder, PROJECT_FILE);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
    if (dirname(folder) === folder) break;
  }
  throw new ProjectFileError(
    `There is no ${PROJECT_FILE} in ${resolve(start)} or in any folder above it. Create one, or use --config FILE.`,
  );
}

/* Which `culvert.yml` is used. Another user's file must be named, as with repositories in git (safe.directory). */
