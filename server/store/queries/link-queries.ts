/** Queries on signed links, in SQL that every supported database understands. */
import { batches, type LinkRecord, type RevokedLink, type TunnelRecord } from '../records.ts';
import { FullError } from '../store-errors.ts';
import { change, type Db, read, TRANSFER_BATCH } from './operation.ts';

/** How many links a tunnel may have. */
interface LinkRules {
  readonly maxLinks: number;
  /** those that were revoked, and whose time is not over */
  readonly maxRevoked: number;
}

/**
 * Stores a new link of a live tunnel and removes expired ones.
 *
 * @returns false if there is no tunnel of this scope
 * @throws FullError
 */
export const insertLink = change(
  async (db, link: LinkRecord, { maxLinks, maxRevoked }: LinkRules): Promise<boolean> => {
    const { linkScope: scope, createdAt } = link;
    const revoked = await lockRevoked(db, scope, createdAt);
    if (revoked === undefined) return false;
    await db
      .deleteFrom('tunnel_links')
      .where('linkScope', '=', scope)
      .where('expiresAt', '<=', createdAt)
      .execute();
    const links = await db
      .selectFrom('tunnel_links')
      .select('expiresAt')
      .where('linkScope', '=', scope)
      .where('revokedAt', 'is', null)
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
 * Lists the links of a scope that are neither expired nor revoked, newest first.
 *
 * @param now wall time in ms
 */
export const linksOf = read((db, scope: string, now: number): Promise<LinkRecord[]> =>
  db
    .selectFrom('tunnel_links')
    .selectAll()
    .where('linkScope', '=', scope)
    .where('expiresAt', '>', now)
    .where('revokedAt', 'is', null)
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
    { linkScope, id }: Pick<LinkRecord, 'linkScope' | 'id'>,
    browser: string,
    now: number,
  ): Promise<string | undefined> => {
    await db
      .updateTable('tunnel_links')
      .set({ usedAt: now, usedBy: browser })
      .where('linkScope', '=', linkScope)
      .where('id', '=', id)
      .where('revokedAt', 'is', null)
      .where('usedBy', 'is', null)
      .execute();
    const link = await db
      .selectFrom('tunnel_links')
      .select('usedBy')
      .where('linkScope', '=', linkScope)
      .where('id', '=', id)
      .where('revokedAt', 'is', null)
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
 * Revokes a link of a live tunnel.
 *
 * @param now wall time in ms
 * @returns `undefined` if there is no tunnel of this scope
 */
export const revokeLink = change(
  async (db, scope: string, id: string, now: number): Promise<Revocation | undefined> => {
    const before = await lockRevoked(db, scope, now);
    if (before === undefined) return undefined;
    const link = await db
      .updateTable('tunnel_links')
      .set({ revokedAt: now })
      .where('linkScope', '=', scope)
      .where('id', '=', id)
      .where('expiresAt', '>', now)
      .where('revokedAt', 'is', null)
      .returning('expiresAt')
      .executeTakeFirst();
    if (link === undefined) return { isFirst: false, revoked: before };
    const revoked: RevokedLink[] = [...before, [id, link.expiresAt]];
    await db.updateTable('tunnels').set({ revokedLinks: revoked }).where('linkScope', '=', scope).execute();
    return { isFirst: true, revoked };
  },
);

/**
 * Keeps others from changing the links of a tunnel until the transaction ends.
 *
 * @returns its links that were revoked before their end; `undefined` if there is no such tunnel
 */
async function lockRevoked(db: Db, scope: string, now: number): Promise<readonly RevokedLink[] | undefined> {
  const tunnel = await db
    .selectFrom('tunnels')
    .select('revokedLinks')
    .where('linkScope', '=', scope)
    .forUpdate()
    .executeTakeFirst();
  return tunnel?.revokedLinks.filter(([, end]) => end > now);
}

/**
 * Which links of a scope were revoked before their end.
 *
 * @param now wall time in ms
 */
export async function revokedLinksOf(db: Db, scope: string, now: number): Promise<RevokedLink[]> {
  const revoked = await db
    .selectFrom('tunnel_links')
    .select(['id', 'expiresAt'])
    .where('linkScope', '=', scope)
    .where('revokedAt', 'is not', null)
    .where('expiresAt', '>', now)
    .execute();
  return revoked.map(({ id, expiresAt }) => [id, expiresAt] as const);
}

/** To be called in the transaction that removes tunnels: their links end, except those of names that are kept. */
export async function removeLinksOf(
  db: Db,
  removed: readonly Pick<TunnelRecord, 'slug' | 'linkScope'>[],
): Promise<void> {
  for (const batch of batches(removed, TRANSFER_BATCH)) {
    const scopes = batch.map(({ linkScope }) => linkScope);
    const slugs = batch.map(({ slug }) => slug);
    const kept = db.selectFrom('kept_names').select('linkScope').where('name', 'in', slugs);
    await db
      .deleteFrom('tunnel_links')
      .where('linkScope', 'in', scopes)
      .where('linkScope', 'not in', kept)
      .execute();
  }
}

/** Ends the links of a scope, or of all scopes, that neither a tunnel nor a kept name has. */
export async function removeLinksOver(db: Db, scope?: string): Promise<void> {
  const over = db
    .deleteFrom('tunnel_links')
    .where('linkScope', 'not in', db.selectFrom('tunnels').select('linkScope'))
    .where('linkScope', 'not in', db.selectFrom('kept_names').select('linkScope'));
  await (scope === undefined ? over : over.where('linkScope', '=', scope)).execute();
}
