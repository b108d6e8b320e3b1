/** The folder a database file is kept in. */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and those above it, if missing, for the relay's own user only. Node's own recursive `mkdir` never returns
 * if a file system refuses with ENOENT, as /proc does.
 *
 * @throws the system's error
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}
