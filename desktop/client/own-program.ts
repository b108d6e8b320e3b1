/** The files of the program `culvert`: beside it, or in it where it is a single file (release/programs.ts). */
import { readFileSync } from 'node:fs';
import { getAsset, isSea } from 'node:sea';

/** @returns the absolute path of Node, unless it is in the program */
export function ownRuntime(): readonly string[] {
  return isSea() ? [] : [process.execPath];
}

/** @returns the program's file, as it was called */
export function ownFile(): string {
  return isSea() ? process.execPath : (process.argv[1] ?? '');
}

/**
 * Reads a file that the build puts beside the program.
 *
 * @param path absolute; in a single-file program, whose folder is `''`, the name of the file in it
 * @throws the error of the system
 */
export function readBuilt(path: string): Buffer {
  return isSea() ? Buffer.from(getAsset(path.replaceAll('\\', '/'))) : readFileSync(path);
}
