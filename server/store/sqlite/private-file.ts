/** Database files that only the relay's own user may read: they have hashes of keys, and whoever may read may lock. */
import { chmodSync, closeSync, openSync } from 'node:fs';

const OWNER_ONLY = 0o600;

/**
 * Makes a file, empty, for its owner only, before SQLite would make it for everybody; one that is there becomes so, with
 * the log and the index that SQLite keeps beside it. Files of another user, whom this one may not speak for, are left as
 * they are. A folder that refuses is SQLite's to complain of.
 *
 * @param path of a database
 */
export function makePrivate(path: string): void {
  try {
    // Opened only where it is new: closing a file that is in use would end the locks this process has on it.
    closeSync(openSync(path, 'ax', OWNER_ONLY));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') return;
  }
  for (const suffix of ['', '-wal', '-shm']) restrict(path + suffix);
}

function restrict(file: string): void {
  try {
    chmodSync(file, OWNER_ONLY);
  } catch (error) {
    if (!['ENOENT', 'EPERM', 'EROFS'].includes(codeOf(error))) throw error;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
