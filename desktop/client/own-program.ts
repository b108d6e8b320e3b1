/** The files of the program `culvert`: beside it, or in it where it is a single file (release/programs.ts). */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

/** Whether the program is a single file with Node in it. */
export const isSingleFile = isSea();

/** @returns the absolute path of Node, unless it is in the program */
export function ownRuntime(): readonly string[] {
  return isSingleFile ? [] : [process.execPath];
}

/** @returns the program's file, as it was called */
export function ownFile(): string {
  return isSingleFile ? process.execPath : (process.argv[1] ?? '');
}

/**
 * Reads a file that the build puts beside the program.
 *
 * @param path absolute; in a single-file program, whose folder is `''`, the name of the file in it
 * @throws the error of the system
 */
export function readBuilt(path: string): Buffer {
  return isSingleFile ? Buffer.from(getAsset(path.replaceAll('\\', '/'))) : readFileSync(path);
}
