/** Queries on the names that accounts keep, in SQL that every supported database understands. */
import { LINK_MAX_TTL_SECONDS } from '../../../shared/links.ts';
import { type Away, awayOf, type KeptName } from '../records.ts';
import { ConflictError, FullError } from '../store-errors.ts';
import { lockAccount } from './account-queries.ts';
import { removeAgentsOver } from './agent-queries.ts';
import { mustNotBeSuspended, rememberEndings } from './ending-queries.ts';
import { removeLinksOver } from './link-queries.ts';
import { mustBeFreeForName } from './namespace.ts';
import { actEnding, change, read } from './operation.ts';

/** The rules that are checked at the moment a name is stored. */
interface KeepRules {
  /** names of its account, this one included */
  readonly maxNames: number;
  /** ms during which the slug of an ended tunnel stays reserved for its account */
  readonly nameHold: number;
}

/**
 * Keeps a name for an account, with the links of the tunnel that has it.
 *
 * @returns `undefined` if the account keeps it already
 * @throws FullError; ConflictError `slug` if it is another account's in any way
 */
export const keepName = change(
  async (db, kept: KeptName, { maxNames, nameHold }: KeepRules): Promise<KeptName | undefined> => {
    const { name, accountId, createdAt } = kept;
    await lockAccount(db, 'id', accountId);
    const names = await keptNames(db, accountId);
    if (names.some((other) => other.name === name)) return undefined;
    if (names.length >= maxNames) throw new FullError(0);
    await removeAgentsOver(db, { slug: name, accountId }, createdAt);
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('kept_names')
      .values(kept)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n) throw new ConflictError('slug');
    await mustNotBeSuspended(db, { slug: name, domain: null });
    await mustBeFreeForName(db, kept, createdAt, nameHold);
    // A tunnel that existed above is locked since then, so its links exist. One that is ending now is left out.
    const scope = await db
      .selectFrom('tunnels')
      .select(['linkScope', 'linksSince'])
      .where('slug', '=', name)
      .where('accountId', '=', accountId)
      .forUpdate()
      .skipLocked()
      .executeTakeFirst();
    if (scope === undefined) return kept;
    await db.updateTable('kept_names').set(scope).where('name', '=', name).execute();
    return { ...kept, ...scope };
  },
);

/** Lists the names that an account keeps, oldest first. */
export const keptNames = read((db, accountId: string): Promise<KeptName[]> =>
  db
    .selectFrom('kept_names')
    .selectAll()
    .where('accountId', '=', accountId)
    .orderBy('createdAt')
    .orderBy('name')
    .execute(),
);

/**
 * Changes what visitors read while no client serves a name.
 *
 * @param changes what is left out stays
 * @returns `undefined` if the account does not keep the name
 */
export const changeName = change(
  async (
    db,
    { name, accountId }: Pick<KeptName, 'name' | 'accountId'>,
    changes: Partial<Pick<KeptName, 'away' | 'until'>>,
  ): Promise<KeptName | undefined> => {
    const found = db
      .selectFrom('kept_names')
      .selectAll()
      .where('name', '=', name)
      .where('accountId', '=', accountId);
    if (Object.keys(changes).length > 0)
      await db
        .updateTable('kept_names')
        .set(changes)
        .where('name', '=', name)
        .where('accountId', '=', accountId)
        .execute();
    return await found.executeTakeFirst();
  },
);

/**
 * Releases a name, and ends the links of its earlier tunnels. It stays held if its last tunnel ended within the time for
 * that.
 *
 * @param now wall time in ms
 * @returns whether the account kept it
 */
export const releaseName = actEnding(
  async (db, { name, accountId }: Pick<KeptName, 'name' | 'accountId'>, now: number): Promise<boolean> => {
    const released = await db
      .deleteFrom('kept_names')
      .where('name', '=', name)
      .where('accountId', '=', accountId)
      .returning('linkScope')
      .executeTakeFirst();
    if (released === undefined) return false;
    // Locks the name's tunnel, which may be ending.
    await removeAgentsOver(db, { slug: name, accountId }, now);
    await removeLinksOver(db, released.linkScope);
    const keptUntil = now + LINK_MAX_TTL_SECONDS * 1000;
    const ending = { id: released.linkScope, kind: 'name', accountId, endedAt: now, keptUntil } as const;
    await rememberEndings(db, [ending], now);
    return true;
  },
);

/** A name without a tunnel that is somebody's. */
export interface RestingName {
  readonly name: string;
  /** of its account, if that has one */
  readonly subdomain: string | null;
  /** `undefined`: its owner has left no text */
  readonly away: Away | undefined;
}

/**
 * Finds those of the names that are kept, or held after their tunnels have ended, in any order, except for suspended
 * ones. Texts of suspended accounts are not shown to anybody.
 *
 * @param now wall time in ms
 */
export const restingNames = read(
  async (db, names: readonly string[], now: number): Promise<RestingName[]> => {
    if (names.length === 0) return [];
    const ended = db
      .selectFrom('released_names')
      .select('slug')
      .where('slug', 'in', names)
      .where('suspended', 'is not', null);
    const kept = await db
      .selectFrom('kept_names')
      .innerJoin('accounts', 'accounts.id', 'kept_names.accountId')
      .select([
        'kept_names.name',
        'kept_names.away',
        'kept_names.until',
        'accounts.subdomain',
        'accounts.suspended',
      ])
      .where('kept_names.name', 'in', names)
      .where('kept_names.name', 'not in', ended)
      .execute();
    const held = await db
      .selectFrom('released_names')
      .innerJoin('accounts', 'accounts.id', 'released_names.accountId')
      .select(['released_names.slug as name', 'accounts.subdomain'])
      .where('released_names.slug', 'in', names)
      .where('released_names.heldUntil', '>', now)
      .where('released_names.chosen', '=', true)
      .where('released_names.suspended', 'is', null)
      .execute();
    return [
      ...held.map((row) => ({ ...row, away: undefined })),
      // After the held ones: a name may be both, and its text counts.
      ...kept.map(({ name, subdomain, suspended, ...row }) => ({
        name,
        subdomain,
        away: suspended === null ? awayOf(row) : undefined,
      })),
    ];
  },
);
