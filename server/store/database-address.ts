import type { Kysely } from 'kysely';
import type { Database } from './records.ts';

/** Where a database is, as in `CULVERT_DATABASE_URL`. */

export type DatabaseAddress =
  | { readonly kind: 'sqlite'; /** of the file, or `:memory:` */ readonly path: string }
  | {
      readonly kind: 'postgres';
      /** with whatever password is in it, so not for people */ readonly url: string;
    };

/**
 * Reads `sqlite:<path>` or `postgres://…`.
 *
 * @returns `undefined` for a text that is neither
 */
export function readDatabaseAddress(text: string): DatabaseAddress | undefined {
  const path = /^sqlite:(.+)$/s.exec(text)?.[1];
  if (path !== undefined) return { kind: 'sqlite', path };
  const url = /^postgres(?:ql)?:\/\//.test(text) && URL.canParse(text) ? new URL(text) : undefined;
  // Without a name, a client would guess one: that of the user.
  return url !== undefined && /^\/[^/]+$/.test(url.pathname) ? { kind: 'postgres', url: text } : undefined;
}

/** @returns how people know the database: its path, or its address without password and parameters */
export function nameOfDatabase(address: DatabaseAddress): string {
  if (address.kind === 'sqlite') return address.path;
  const { username, host, pathname } = new URL(address.url);
  return `postgres://${username === '' ? '' : `${username}@`}${host}${pathname}`;
}

/* Whether everything that a SQLite file has was moved to another database, and where to. */

/** The database was moved and this is the old one, where keys revoked since then are still valid. */
export class MovedDatabaseError extends Error {
  constructor(path: string, { target, movedAt }: { readonly target: string; readonly movedAt: number }) {
    super(
      `the database ${path} was moved to ${target} on ${new Date(movedAt).toISOString()}; set CULVERT_DATABASE_URL to ` +
        `that database. To undo the move: culvert-relay migrate --undo sqlite:${path}`,
    );
    this.name = 'MovedDatabaseError';
  }
}

/** @throws MovedDatabaseError */
export async function refuseMoved(db: Kysely<Database>, path: string): Promise<void> {
  const move = await db.selectFrom('relocation').select(['target', 'movedAt']).executeTakeFirst();
  if (move !== undefined) throw new MovedDatabaseError(path, move);
}

/**
 * Says where everything is from now on; to be called in the transaction that has read it.
 *
 * @param target the other database, as people know it
 * @param now wall time in ms
 */
export async function markMoved(db: Kysely<Database>, target: string, now: number): Promise<void> {
  await unmarkMoved(db);
  await db.insertInto('relocation').values({ id: 1, target, movedAt: now }).execute();
}

/** @returns whether it was marked */
export async function unmarkMoved(db: Kysely<Database>): Promise<boolean> {
  const { numDeletedRows } = await db.deleteFrom('relocation').executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}
