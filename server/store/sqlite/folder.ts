/** The folder a database file is kept in. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, where missing, for the relay's own user only. Node's own recursive `mkdir` never
 * returns where a file system refuses with ENOENT, as /proc does.
 *
 * @throws the system's error
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}
