/**
 * Database files that only the relay's own user may read: they contain hashes of keys, and whoever may read them may lock
 * them.
 */
import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, openSync } from 'node:fs';

const OWNER_ONLY = 0o600;

/**
 * Creates an empty file for its owner only, before SQLite would create it for everybody; an existing file is restricted
 * likewise, with the log and the index that SQLite keeps beside it. Files of another user, whose permissions this one may not
 * change, are left as they are. If the folder refuses, SQLite reports that.
 *
 * @param path of a database
 */
export function makePrivate(path: string): void {
  try {
    // Opened only if it is new: closing a file that is in use would end the locks this process has on it.
    closeSync(openSync(path, 'ax', OWNER_ONLY));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') return;
  }
  for (const suffix of ['', '-wal', '-shm']) restrict(path + suffix);
}

/**
 * Creates an empty file for its owner only under a name that nobody can guess, so that no file or link that somebody else has
 * put there is filled or followed.
 *
 * @param path how the name begins
 * @returns its name
 * @throws Error when the folder refuses
 */
export function createPart(path: string): string {
  const part = `${path}.${randomBytes(12).toString('hex')}.part`;
  closeSync(openSync(part, 'wx', OWNER_ONLY));
  return part;
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
