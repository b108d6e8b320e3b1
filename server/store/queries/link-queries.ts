/** Queries on signed links, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import type { LinkRecord, RevokedLink } from '../records.ts';
import { type Database, reader, rowOf } from '../schema.ts';
import { FullError } from '../store-errors.ts';
import { readRevoked, writtenRevoked } from './tunnel-queries.ts';
import { read, write } from './operation.ts';

const linkOf = reader<LinkRecord>();

/** How many links a tunnel may have. */
interface LinkRules {
  readonly maxLinks: number;
  /** those that were revoked, and whose time is not over */
  readonly maxRevoked: number;
}

/**
 * Stores a new link of a tunnel and removes expired ones.
 *
 * @returns false if there is no such tunnel
 * @throws FullError
 */
export const insertLink = write(
  (db, link: LinkRecord, { maxLinks, maxRevoked }: LinkRules): Promise<boolean> => {
    const { tunnelId, createdAt } = link;
    return db.transaction().execute(async (transaction) => {
      const revoked = await lockRevoked(transaction, tunnelId, createdAt);
      if (revoked === undefined) return false;
      await transaction
        .deleteFrom('tunnel_links')
        .where('tunnel_id', '=', tunnelId)
        .where('expires_at', '<=', createdAt)
        .execute();
      const rows = await transaction
        .selectFrom('tunnel_links')
        .select('expires_at')
        .where('tunnel_id', '=', tunnelId)
        .execute();
      if (rows.length >= maxLinks || revoked.length >= maxRevoked)
        throw new FullError(Math.min(...rows.map((row) => row.expires_at), ...revoked.map(([, end]) => end)));
      await transaction.insertInto('tunnel_links').values(rowOf(link)).execute();
      return true;
    });
  },
);

/**
 * Lists the links of a tunnel that are neither expired nor revoked, newest first.
 *
 * @param now wall time in ms
 */
export const linksOf = read(async (db, tunnelId: string, now: number): Promise<LinkRecord[]> => {
  const rows = await db
    .selectFrom('tunnel_links')
    .selectAll()
    .where('tunnel_id', '=', tunnelId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  return rows.map(linkOf);
});

/** What became of a link. */
interface Revocation {
  /** Whether the tunnel had such a link until now. */
  readonly isFirst: boolean;
  /** all links of the tunnel that were revoked, and whose time is not over */
  readonly revoked: readonly RevokedLink[];
}

/**
 * Revokes a link.
 *
 * @param now wall time in ms
 * @returns `undefined` if there is no such tunnel
 */
export const revokeLink = write(
  (db, tunnelId: string, id: string, now: number): Promise<Revocation | undefined> =>
    db.transaction().execute(async (transaction) => {
      const before = await lockRevoked(transaction, tunnelId, now);
      if (before === undefined) return undefined;
      const row = await transaction
        .deleteFrom('tunnel_links')
        .where('tunnel_id', '=', tunnelId)
        .where('id', '=', id)
        .where('expires_at', '>', now)
        .returning('expires_at')
        .executeTakeFirst();
      if (row === undefined) return { isFirst: false, revoked: before };
      const link: RevokedLink = [id, row.expires_at];
      const revoked = [...before, link];
      await transaction
        .updateTable('tunnels')
        .set({ revoked_links: writtenRevoked(revoked) })
        .where('id', '=', tunnelId)
        .execute();
      return { isFirst: true, revoked };
    }),
);

/**
 * Keeps others from changing the links of a tunnel until the transaction ends.
 *
 * @returns its links that were revoked before their end; `undefined` if there is no such tunnel
 */
async function lockRevoked(
  db: Kysely<Database>,
  tunnelId: string,
  now: number,
): Promise<readonly RevokedLink[] | undefined> {
  const row = await db
    .selectFrom('tunnels')
    .select('revoked_links')
    .where('id', '=', tunnelId)
    .forUpdate()
    .executeTakeFirst();
  return row && readRevoked(row.revoked_links).filter(([, end]) => end > now);
}
