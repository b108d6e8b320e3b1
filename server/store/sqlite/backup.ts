/** Copies of a SQLite database: made while a relay uses it, and put back while none does. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Kysely } from 'kysely';
import { SQLITE_BUSY_MS } from '../../limits.ts';
import type { Database } from '../schema.ts';
import { raiseAccessRevision } from '../queries/account-queries.ts';
import { removeLinks, removeSecrets, SIGNING_SECRETS } from '../queries/secret-queries.ts';
import { loadSqlite } from './load-sqlite.ts';
import { openSqliteDatabase } from './open-sqlite.ts';
import { makePrivate } from './private-file.ts';

/**
 * Copies a database as it is at one moment, for its owner only, without the secrets with which cookies and links are made. The
 * copy is whole and on the disk when it has its name.
 *
 * @param file must not exist
 * @returns its bytes
 * @throws Error with a text for the operator
 */
export function backUp(path: string, file: string): number {
  const part = beside(file);
  try {
    // Before SQLite would make it for everybody; it fills an empty file.
    makePrivate(part);
    const source = new (loadSqlite().DatabaseSync)(path, { readOnly: true });
    try {
      source.exec(`pragma busy_timeout = ${SQLITE_BUSY_MS}`);
      source.prepare('vacuum into ?').run(part);
    } finally {
      source.close();
    }
    forgetSecrets(part);
    publish(part, file);
    note(path, file);
    return statSync(file).size;
  } finally {
    for (const suffix of ['', '-journal']) rmSync(part + suffix, { force: true });
  }
}

/** A lost copy must not be enough to forge cookies and links. */
function forgetSecrets(file: string): void {
  const database = new (loadSqlite().DatabaseSync)(file);
  try {
    const table = database.prepare("select 1 from sqlite_master where name = 'relay_secrets'").get();
    if (table === undefined) return;
    // Otherwise deleted rows would still be in the file.
    database.exec('pragma secure_delete = on');
    const forget = database.prepare("delete from relay_secrets where name like ? || '%'");
    for (const prefix of SIGNING_SECRETS) forget.run(prefix);
  } finally {
    database.close();
  }
}

/** @returns when {@link backUp} has copied a database last, in ms of wall time; `undefined` if that is not known */
export function lastBackup(path: string): number | undefined {
  return statSync(noteOf(path), { throwIfNoEntry: false })?.mtimeMs;
}

/** Beside the database, not in it: to write there, a program of a newer version would bring it up to date first. */
function note(path: string, file: string): void {
  try {
    writeFileSync(noteOf(path), `${resolve(file)}\n`, { mode: 0o600 });
  } catch {
    // The copy is there all the same; that it is not known when it was made, the doctor says.
  }
}

function noteOf(path: string): string {
  return `${path}.last-backup`;
}

/** What became of a database that was put back. */
export interface Restored {
  /** where the one of before is now; `undefined` if there was none */
  readonly kept: string | undefined;
  /** keys that were revoked since the copy was made, and stay so */
  readonly revoked: number;
  /** signed links whose keys are neither in the copy nor in the previous database */
  readonly endedLinks: number;
}

/**
 * Puts a copy in the place of a database that nobody uses. Keys that were revoked in that one stay revoked, and cookies and links
 * that its secrets signed stay valid.
 *
 * @param name what the database of before is called from now on
 * @throws Error with a text for the operator, and nothing changed
 */
export async function restore(path: string, file: string, name: string): Promise<Restored> {
  const part = beside(path);
  try {
    makePrivate(part);
    copyFileSync(file, part);
    mustBeWhole(part);
    const copy = await openSqliteDatabase(part, 'must-exist');
    let revoked = 0;
    let endedLinks = 0;
    try {
      if (existsSync(path)) {
        revoked = await keepRevoked(path, copy);
        await keepSecrets(path, copy);
      }
      if (!(await hasLinkKeys(copy))) endedLinks = await removeLinks(copy);
    } finally {
      await copy.destroy();
    }
    const kept = existsSync(path) ? name : undefined;
    if (kept !== undefined) {
      settle(path);
      renameSync(path, kept);
    }
    publish(part, path);
    return { kept, revoked, endedLinks };
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(part + suffix, { force: true });
  }
}

/** @throws Error for a file that is no database, or one that was damaged */
function mustBeWhole(file: string): void {
  const database = new (loadSqlite().DatabaseSync)(file);
  try {
    const answer = database.prepare('pragma integrity_check').get();
    if (answer?.['integrity_check'] !== 'ok') throw new Error('the copy is damaged');
  } finally {
    database.close();
  }
}

/** A key that was revoked since the copy was made would be valid again. */
async function keepRevoked(path: string, copy: Kysely<Database>): Promise<number> {
  const now = await openSqliteDatabase(path, 'must-exist');
  try {
    const gone = await now
      .selectFrom('api_keys')
      .select(['id', 'revoked_at'])
      .where('revoked_at', 'is not', null)
      .execute();
    let count = 0;
    for (const { id, revoked_at } of gone) {
      const { numUpdatedRows } = await copy
        .updateTable('api_keys')
        .set({ revoked_at })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .executeTakeFirstOrThrow();
      count += Number(numUpdatedRows);
    }
    if (count > 0) await raiseAccessRevision(copy);
    return count;
  } finally {
    await now.destroy();
  }
}

/** Takes the secrets of cookies and links from the previous database. */
async function keepSecrets(path: string, copy: Kysely<Database>): Promise<void> {
  const now = await openSqliteDatabase(path, 'must-exist');
  try {
    for (const prefix of SIGNING_SECRETS) {
      const secrets = await now
        .selectFrom('relay_secrets')
        .selectAll()
        .where('name', 'like', `${prefix}%`)
        .execute();
      await removeSecrets(copy, prefix, Infinity);
      if (secrets.length > 0) await copy.insertInto('relay_secrets').values(secrets).execute();
    }
  } finally {
    await now.destroy();
  }
}

async function hasLinkKeys(copy: Kysely<Database>): Promise<boolean> {
  const found = await copy
    .selectFrom('relay_secrets')
    .select('name')
    .where('name', 'like', 'links %')
    .executeTakeFirst();
  return found !== undefined;
}

/** Brings what is in the log of a database into its file: the log would not go along. */
function settle(path: string): void {
  const database = new (loadSqlite().DatabaseSync)(path);
  try {
    database.exec('pragma wal_checkpoint(truncate)');
  } finally {
    database.close();
  }
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
}

/** Gives a file its name once it is on the disk, and the name, too. */
function publish(part: string, file: string): void {
  sync(part);
  renameSync(part, file);
  sync(dirname(resolve(file)));
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function beside(file: string): string {
  return `${file}.${process.pid}.part`;
}
