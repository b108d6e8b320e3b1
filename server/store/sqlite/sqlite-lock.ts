/** Keeps two relays from serving on one SQLite file: each would route to tunnels the other has closed. */
import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { SQLITE_BUSY_MS } from '../../limits.ts';
import { isBusy } from './dialect.ts';
import { loadSqlite, makeFolder, makePrivate } from './sqlite-files.ts';

export interface RelayLock {
  /** Lets the next relay in. */
  release(): void;
}

/**
 * Locks the database for one relay, until released or until the process ends, however it ends. Commands that administer
 * accounts and keys need no lock, so they work while the relay runs. The lock is SQLite's own on an empty file beside the
 * database: the system drops it with its process, on every system Node runs on.
 *
 * @param path of the database, or `:memory:`, which cannot be shared
 * @param waitMs how long to wait for a relay that is just ending
 * @throws Error with a text for the operator when another relay has it
 */
export function lockDatabase(path: string, waitMs = SQLITE_BUSY_MS): RelayLock {
  if (path === ':memory:') return { release() {} };
  const file = openLock(path, waitMs);
  if (isTaken(file)) {
    file.close();
    throw new Error(
      `another relay is using the database ${path}; stop that relay first, or use a different database with --data-dir`,
    );
  }
  return { release: () => file.close() };
}

function openLock(path: string, waitMs: number): DatabaseSync {
  try {
    makeFolder(dirname(path));
    const lock = `${realPath(path)}.lock`;
    makePrivate(lock);
    const file = new (loadSqlite().DatabaseSync)(lock);
    // Nothing is served yet, so SQLite may wait itself.
    file.exec(`pragma busy_timeout = ${waitMs}`);
    return file;
  } catch (error) {
    throw new Error(`cannot lock the database ${path}`, { cause: error });
  }
}

function isTaken(file: DatabaseSync): boolean {
  try {
    file.exec('begin exclusive');
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  }
}

/** The one name of a database that may have several. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : join(realpathSync(dirname(path)), basename(path));
}
