/** Finds and reads `culvert.yml`, the tunnels of a project. */
import { readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { CONFIG_FILE_MAX_BYTES } from './limits.ts';
import { parseProject, type Project } from './project.ts';
import { ProjectFileError } from './project-report.ts';

export const PROJECT_FILE = 'culvert.yml';

/**
 * @param path where it is; without it, the nearest `culvert.yml` of the folder and those above it
 * @param folder the working directory
 * @throws ProjectFileError
 */
export function readProject(path: string | undefined, folder: string): Project {
  const file = path === undefined ? findProjectFile(folder) : resolve(folder, path);
  let text: string;
  try {
    const { size } = statSync(file);
    if (size > CONFIG_FILE_MAX_BYTES) throw new Error(`it is larger than ${CONFIG_FILE_MAX_BYTES} bytes`);
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ProjectFileError(`${file} cannot be read: ${why}.`);
  }
  return parseProject(text, file);
}

function findProjectFile(start: string): string {
  for (let folder = resolve(start); ; folder = dirname(folder)) {
    const file = join(folder, PROJECT_FILE);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return file;
    if (dirname(folder) === folder) break;
  }
  throw new ProjectFileError(
    `There is no ${PROJECT_FILE} in ${resolve(start)} or above it: write one, or give --config FILE.`,
  );
}
