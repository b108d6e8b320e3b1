/** Backups of a SQLite database: made while a relay uses it, and restored while none does. */
import { copyFileSync, existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Kysely } from 'kysely';
import { MovedDatabaseError, refuseMoved } from '../database-address.ts';
import { insertAudit } from '../queries/audit-queries.ts';
import { removeLinks, removeSecrets, SIGNING_SECRETS } from '../queries/relay-queries.ts';
import type { AuditRecord } from '../records.ts';
import type { Database } from '../records.ts';
import { keepEnded, type KeptEndings, NOTHING_KEPT } from './keep-ended.ts';
import { openSqliteDatabase } from './open-sqlite.ts';
import { createPart, link, loadSqlite, publish, SQLITE_BUSY_MS } from './sqlite-files.ts';

/**
 * Copies a database as it is at one moment, for its owner only, without the secrets with which cookies and links are
 * made. The copy is whole and on the disk when it has its name.
 *
 * @param file replaced if it exists
 * @returns its bytes
 * @throws Error with a text for the operator
 */
export function backUp(path: string, file: string): number {
  // Before SQLite would make it for everybody; it fills an empty file.
  const part = createPart(file);
  try {
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

/**
 * Beside the database, not in it: a backup only reads the database. An
 * operator with all rights may work in the folder of a user with fewer, so no link is followed there.
 */
function note(path: string, file: string): void {
  let part: string | undefined;
  try {
    part = createPart(noteOf(path));
    writeFileSync(part, `${resolve(file)}\n`);
    renameSync(part, noteOf(path));
  } catch {
    // The copy exists even so; `doctor` reports that the time of the backup is unknown.
    if (part !== undefined) rmSync(part, { force: true });
  }
}

function noteOf(path: string): string {
  return `${path}.last-backup`;
}

/** What became of a database that was put back. */
export interface Restored {
  /** where the previous database is now; `undefined` if there was none, and so no record of what was ended in it */
  readonly kept: string | undefined;
  /** what has ended since the copy was made, and stays ended */
  readonly ended: KeptEndings;
  /** signed links whose keys are neither in the copy nor in the previous database */
  readonly endedLinks: number;
}

/**
 * Replaces a database that is not in use with a copy. Keys and tunnels that had ended in the previous database stay
 * ended: see {@link keepEnded}. Cookies and links signed with its secrets stay valid.
 *
 * @param name new file name of the previous database
 * @param entry for the audit log, naming the operator
 * @throws Error with a text for the operator; nothing is changed then
 */
export async function restore(
  path: string,
  file: string,
  name: string,
  entry: AuditRecord,
): Promise<Restored> {
  const part = createPart(path);
  try {
    copyFileSync(file, part);
    mustBeWhole(part);
    const isReplaced = existsSync(path);
    const copy = await openSqliteDatabase(part, 'must-exist');
    let ended = NOTHING_KEPT;
    let endedLinks = 0;
    try {
      if (isReplaced) ended = await keepFrom(path, copy, entry.at);
      if (!(await hasLinkKeys(copy))) endedLinks = await removeLinks(copy);
      await insertAudit(copy, entry);
    } finally {
      await copy.destroy();
    }
    // What is in its log would not go along; a log without its database would be taken for that of the copy.
    if (isReplaced) settle(path);
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    // The database always has its name: after a crash, a relay would otherwise create an empty one.
    if (isReplaced && !link(path, name)) renameSync(path, name);
    publish(part, path);
    return { kept: isReplaced ? name : undefined, ended, endedLinks };
  } finally {
    for (const suffix of ['', '-wal', '-shm']) rmSync(part + suffix, { force: true });
  }
}

async function keepFrom(path: string, copy: Kysely<Database>, now: number): Promise<KeptEndings> {
  try {
    const replaced = await openSqliteDatabase(path, 'must-exist');
    try {
      await refuseMoved(replaced, path);
      await keepSecrets(replaced, copy);
      return await keepEnded(replaced, copy, now);
    } finally {
      await replaced.destroy();
    }
  } catch (error) {
    if (error instanceof MovedDatabaseError) throw error;
    throw new Error(
      `the changes made since the backup could not be read from ${path}; to restore without them, move that file away`,
      { cause: error },
    );
  }
}

/** @throws Error for a file that is not a database, or a damaged one */
function mustBeWhole(file: string): void {
  const database = new (loadSqlite().DatabaseSync)(file);
  try {
    const answer = database.prepare('pragma integrity_check').get();
    if (answer?.['integrity_check'] !== 'ok') throw new Error('the copy is damaged');
  } finally {
    database.close();
  }
}

/** Takes the secrets of cookies and links from the previous database. */
async function keepSecrets(replaced: Kysely<Database>, copy: Kysely<Database>): Promise<void> {
  for (const prefix of SIGNING_SECRETS) {
    const secrets = await replaced
      .selectFrom('relay_secrets')
      .selectAll()
      .where('name', 'like', `${prefix}%`)
      .execute();
    await removeSecrets(copy, prefix, Infinity);
    if (secrets.length > 0) await copy.insertInto('relay_secrets').values(secrets).execute();
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

/** Writes the log of a database into its file. */
function settle(path: string): void {
  const database = new (loadSqlite().DatabaseSync)(path);
  try {
    database.exec('pragma wal_checkpoint(truncate)');
  } finally {
    database.close();
  }
}
