/** Queries on signed links, in SQL that every supported database understands. */
import type { LinkRecord, RevokedLink } from '../records.ts';
import { FullError } from '../store-errors.ts';
import { change, type Db, read } from './operation.ts';

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
export const insertLink = change(
  async (db, link: LinkRecord, { maxLinks, maxRevoked }: LinkRules): Promise<boolean> => {
    const { tunnelId, createdAt } = link;
    const revoked = await lockRevoked(db, tunnelId, createdAt);
    if (revoked === undefined) return false;
    await db
      .deleteFrom('tunnel_links')
      .where('tunnelId', '=', tunnelId)
      .where('expiresAt', '<=', createdAt)
      .execute();
    const links = await db
      .selectFrom('tunnel_links')
      .select('expiresAt')
      .where('tunnelId', '=', tunnelId)
      .execute();
    if (links.length >= maxLinks || revoked.length >= maxRevoked)
      throw new FullError(
        Math.min(...links.map(({ expiresAt }) => expiresAt), ...revoked.map(([, end]) => end)),
      );
    await db.insertInto('tunnel_links').values(link).execute();
    return true;
  },
);

/**
 * Lists the links of a tunnel that are neither expired nor revoked, newest first.
 *
 * @param now wall time in ms
 */
export const linksOf = read((db, tunnelId: string, now: number): Promise<LinkRecord[]> =>
  db
    .selectFrom('tunnel_links')
    .selectAll()
    .where('tunnelId', '=', tunnelId)
    .where('expiresAt', '>', now)
    .orderBy('createdAt', 'desc')
    .orderBy('id')
    .execute(),
);

/**
 * Notes the first browser that opens a link.
 *
 * @param browser a digest that identifies it
 * @param now wall time in ms
 * @returns that of the first one; `undefined` if the link has been revoked
 */
export const takeLink = change(
  async (
    db,
    { tunnelId, id }: Pick<LinkRecord, 'tunnelId' | 'id'>,
    browser: string,
    now: number,
  ): Promise<string | undefined> => {
    await db
      .updateTable('tunnel_links')
      .set({ usedAt: now, usedBy: browser })
      .where('tunnelId', '=', tunnelId)
      .where('id', '=', id)
      .where('usedBy', 'is', null)
      .execute();
    const link = await db
      .selectFrom('tunnel_links')
      .select('usedBy')
      .where('tunnelId', '=', tunnelId)
      .where('id', '=', id)
      .executeTakeFirst();
    return link?.usedBy ?? undefined;
  },
);

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
export const revokeLink = change(
  async (db, tunnelId: string, id: string, now: number): Promise<Revocation | undefined> => {
    const before = await lockRevoked(db, tunnelId, now);
    if (before === undefined) return undefined;
    const link = await db
      .deleteFrom('tunnel_links')
      .where('tunnelId', '=', tunnelId)
      .where('id', '=', id)
      .where('expiresAt', '>', now)
      .returning('expiresAt')
      .executeTakeFirst();
    if (link === undefined) return { isFirst: false, revoked: before };
    const revoked: RevokedLink[] = [...before, [id, link.expiresAt]];
    await db.updateTable('tunnels').set({ revokedLinks: revoked }).where('id', '=', tunnelId).execute();
    return { isFirst: true, revoked };
  },
);

/**
 * Keeps others from changing the links of a tunnel until the transaction ends.
 *
 * @returns its links that were revoked before their end; `undefined` if there is no such tunnel
 */
async function lockRevoked(
  db: Db,
  tunnelId: string,
  now: number,
): Promise<readonly RevokedLink[] | undefined> {
  const tunnel = await db
    .selectFrom('tunnels')
    .select('revokedLinks')
    .where('id', '=', tunnelId)
    .forUpdate()
    .executeTakeFirst();
  return tunnel?.revokedLinks.filter(([, end]) => end > now);
}
