/** Node's own SQLite, and the files of a database: for their owner only, and locked by the one relay that serves on them. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fchownSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type * as sqlite from 'node:sqlite';
import type { DatabaseSync } from 'node:sqlite';
import { DatabaseInUseError } from '../store-errors.ts';

/** How long a statement waits for another process that is writing to the same SQLite file before failing. */
export const SQLITE_BUSY_MS = 2000;

/**
 * Loads `node:sqlite` without the notice that some Node versions print about it: it is meant for developers, and those
 * who run a relay can do nothing about it. Other warnings pass.
 *
 * @throws Error if this Node has none
 */
export function loadSqlite(): typeof sqlite {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (...args: unknown[]) => {
    if (!String(args[0]).startsWith('SQLite is an experimental feature')) {
      Reflect.apply(emitWarning, process, args);
    }
  };
  try {
    const module: typeof sqlite | undefined = process.getBuiltinModule('node:sqlite');
    if (module === undefined)
      throw new Error(`Node ${process.versions.node} has no SQLite; use Node 22.13 or newer`);
    return module;
  } finally {
    process.emitWarning = emitWarning;
  }
}

/* Notices when the files of an open database are moved or replaced. */

/**
 * A database that is deleted or replaced while open continues as a file without a name, and everything written to it is
 * lost when the process ends. Acknowledged writes must not be lost like that.
 */
export class FileGuard {
  readonly #files: readonly { readonly path: string; readonly identity: string | undefined }[];

  /** @param path of a database that is open in WAL mode */
  constructor(path: string) {
    this.#files = [path, `${path}-wal`].map((file) => ({ path: file, identity: identityOf(file) }));
  }

  /** @throws Error with a text for the operator unless every file is the one it was */
  check(): void {
    for (const { path, identity } of this.#files) {
      const now = identityOf(path);
      if (now === identity) continue;
      const what = now === undefined ? 'is missing' : 'was replaced';
      throw new Error(
        `${path} ${what}; put the original file back, or restart the relay to use the current file`,
      );
    }
  }
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}

/* The folder of a database file. */

/**
 * Creates a folder and those above it, if missing, for the relay's own user only. Node's own recursive `mkdir` never
 * returns if a file system refuses with ENOENT, as /proc does.
 *
 * @throws the system's error
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

/*
 * Restricts database files to the relay's own user: they contain hashes of keys, and anyone who can read them can also
 * lock them.
 */

const OWNER_ONLY = 0o600;

/**
 * Creates an empty file for its owner only, before SQLite would create it for everybody; an existing file is restricted
 * likewise, with the log and the index that SQLite keeps beside it. Files of another user, whose permissions this one
 * may not change, are left as they are. If the folder refuses, SQLite reports that.
 *
 * @param path of a database
 */
export function makePrivate(path: string): void {
  try {
    // Opened only if it is new: closing a file that is in use would end the locks this process has on it.
    createFile(path, 'ax');
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') return;
  }
  for (const suffix of ['', '-wal', '-shm']) restrict(path + suffix);
}

/**
 * Creates an empty file for its owner only under a name that nobody can guess, so that no file or link that somebody
 * else has put there is filled or followed.
 *
 * @param path how the name begins
 * @returns its name
 * @throws Error when the folder refuses
 */
export function createPart(path: string): string {
  const part = `${path}.${randomBytes(12).toString('hex')}.part`;
  createFile(part, 'wx');
  return part;
}

/** A file that root creates in the folder of another user, such as that of the service, is for that user. */
function createFile(path: string, flags: 'ax' | 'wx'): void {
  const file = openSync(path, flags, OWNER_ONLY);
  try {
    if (process.getuid?.() !== 0) return;
    const { uid, gid } = statSync(dirname(path));
    fchownSync(file, uid, gid);
  } finally {
    closeSync(file);
  }
}

/**
 * Gives a file a second name, unless that is taken or the file system has no links.
 *
 * @returns whether it has the name
 */
export function link(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch {
    return false;
  }
}

/** Renames a file once its contents are on the disk, then syncs the directory entry. */
export function publish(part: string, file: string): void {
  sync(part);
  renameSync(part, file);
  syncFolderOf(file);
}

/** Without it, a file may have lost its name after a power failure. Windows offers nothing like it. */
export function syncFolderOf(file: string): void {
  if (process.platform !== 'win32') sync(dirname(resolve(file)));
}

function sync(path: string): void {
  // Windows syncs only what may be written.
  const descriptor = openSync(path, process.platform === 'win32' ? 'r+' : 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
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

/** https://www.sqlite.org/rescode.html#busy; the low byte, the others tell the kind */
const SQLITE_BUSY = 5;

/** Whether a statement failed because another program has locked the file. */
export function isBusy(error: unknown): boolean {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  return (code & 0xff) === SQLITE_BUSY;
}

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
    throw new DatabaseInUseError(path, '--data-dir');
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
