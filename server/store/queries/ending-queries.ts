/**
 * What has ended and must stay so, in SQL that every supported database understands: the addresses of tunnels that
 * ended while they were suspended, and things without a row of their own that a restored backup would bring back.
 */
import { batches, type Database, type SuspendedName, type TunnelRecord } from '../records.ts';
import { ConflictError } from '../store-errors.ts';
import { removeLinksOf } from './link-queries.ts';
import { act, type Db, read, TRANSFER_BATCH } from './operation.ts';

/** How long the relay remembers that a verified domain was removed, in case an older backup is restored. */
export const ENDED_DOMAIN_KEPT_MS = 400 * 24 * 3_600_000;
/** Maximum number of removed verified domains that the relay remembers per account. */
export const ENDED_DOMAINS_MAX = 1000;
/**
 * Minimum time that the relay remembers the end of a tunnel that another client took over: it may have had a
 * longer life before.
 */
export const ENDED_TAKEN_OVER_KEPT_MS = 30 * 24 * 3_600_000;

/** Wall time in ms of what has no end: the last moment of the year 9999. */
export const FOREVER = 253_402_300_799_999;

/** Columns of a removed tunnel that {@link endTunnels} needs. */
export const ENDED_COLUMNS = [
  'id',
  'slug',
  'domain',
  'accountId',
  'expiresAt',
  'termsRevision',
  'suspended',
  'linkScope',
] as const;

export type EndedTunnel = Pick<TunnelRecord, (typeof ENDED_COLUMNS)[number]>;

/** The order in which names are stored, so that no two transactions wait for each other. */
export function bySlug(a: { readonly slug: string }, b: { readonly slug: string }): number {
  return a.slug < b.slug ? -1 : 1;
}

/**
 * To be called in the transaction that removes tunnels: keeps the addresses of suspended ones, ends links, and remembers
 * the ends of those whose time is not over.
 *
 * @param now wall time in ms
 */
export async function endTunnels(db: Db, removed: readonly EndedTunnel[], now: number): Promise<void> {
  if (removed.length === 0) return;
  await removeLinksOf(db, removed);
  await holdSuspended(db, removed);
  const endings = removed.map(({ id, accountId, expiresAt, termsRevision }) => {
    const earlier = termsRevision > 0 ? now + ENDED_TAKEN_OVER_KEPT_MS : 0;
    const keptUntil = Math.max(expiresAt, earlier);
    return { id, kind: 'tunnel', accountId, endedAt: now, keptUntil } as const;
  });
  await rememberEndings(
    db,
    endings.filter((ending) => ending.keptUntil > now),
    now,
  );
}

/** Suspended, by itself or with its account. */
async function holdSuspended(db: Db, removed: readonly EndedTunnel[]): Promise<void> {
  const reasons = new Map<string, string | null>();
  for (const ids of batches([...new Set(removed.map(({ accountId }) => accountId))], TRANSFER_BATCH)) {
    const accounts = db.selectFrom('accounts').select(['id', 'suspended']).where('id', 'in', ids);
    for (const { id, suspended } of await accounts.execute()) reasons.set(id, suspended);
  }
  for (const tunnel of removed.toSorted(bySlug)) {
    const reason = tunnel.suspended ?? reasons.get(tunnel.accountId) ?? null;
    const suspendedWith = tunnel.suspended === null ? 'account' : 'tunnel';
    if (reason !== null) await holdSuspendedName(db, tunnel, reason, suspendedWith);
  }
}

/** Keeps the address of a tunnel from everybody until it is resumed. */
export async function holdSuspendedName(
  db: Db,
  { id, slug, domain, accountId }: Pick<EndedTunnel, 'id' | 'slug' | 'domain' | 'accountId'>,
  suspended: string,
  suspendedWith: 'tunnel' | 'account',
): Promise<void> {
  const held = {
    accountId,
    heldUntil: FOREVER,
    chosen: false,
    tunnelId: id,
    domain,
    suspended,
    suspendedWith,
  };
  await db
    .insertInto('released_names')
    .values({ slug, ...held })
    .onConflict((conflict) => conflict.column('slug').doUpdateSet(held))
    .execute();
}

/**
 * Call it in the transaction that stores a tunnel, after storing it: a transaction that removes a suspended tunnel with
 * the same address has committed by then.
 *
 * @throws ConflictError `slug` or `domain` if the address is that of a suspended tunnel that has ended
 */
export async function mustNotBeSuspended(
  db: Db,
  { slug, domain }: Pick<TunnelRecord, 'slug' | 'domain'>,
): Promise<void> {
  const row = await db
    .selectFrom('released_names')
    .select('slug')
    .where('suspended', 'is not', null)
    .where((held) => held.or([held('slug', '=', slug), held('domain', '=', domain)]))
    .executeTakeFirst();
  if (row !== undefined) throw new ConflictError(row.slug === slug ? 'slug' : 'domain');
}

/** Lists the addresses of tunnels that ended while they were suspended, ordered by slug. */
export const suspendedNames = read(async (db): Promise<SuspendedName[]> => {
  const rows = await db
    .selectFrom('released_names')
    .leftJoin('accounts', 'accounts.id', 'released_names.accountId')
    .select([
      'released_names.slug',
      'released_names.tunnelId',
      'released_names.domain',
      'released_names.suspended as reason',
      'accounts.name as account',
    ])
    .where('released_names.suspended', 'is not', null)
    .orderBy('released_names.slug')
    .execute();
  return rows as SuspendedName[];
});

/**
 * Releases the address of a tunnel that ended while it was suspended.
 *
 * @param heldUntil wall time in ms until which the slug stays reserved for its account
 * @returns false if there is no such slug
 */
export const resumeName = act(async (db, slug: string, heldUntil: number): Promise<boolean> => {
  const { numUpdatedRows } = await db
    .updateTable('released_names')
    .set(heldNormally(heldUntil))
    .where('slug', '=', slug)
    .where('suspended', 'is not', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
});

/** The columns of a name that its account may have again. */
export function heldNormally(heldUntil: number) {
  return { heldUntil, tunnelId: null, domain: null, suspended: null, suspendedWith: null };
}

/** Remembers ends, and forgets those that a restore can no longer undo. */
export async function rememberEndings(
  db: Db,
  endings: readonly Database['endings'][],
  now: number,
): Promise<void> {
  if (endings.length === 0) return;
  const over = db.selectFrom('endings').select('id').where('keptUntil', '<=', now).limit(TRANSFER_BATCH);
  await forget(db, await over.forUpdate().skipLocked().execute());
  await insertEndings(db, endings);
}

/** Those that are remembered stay as they are. */
export async function insertEndings(db: Db, endings: readonly Database['endings'][]): Promise<void> {
  for (const batch of batches(endings, TRANSFER_BATCH))
    await db
      .insertInto('endings')
      .values(batch)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}

/** Remembers that an account has a verified domain no longer. */
export async function endDomain(
  db: Db,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  now: number,
): Promise<void> {
  const keptUntil = now + ENDED_DOMAIN_KEPT_MS;
  await rememberEndings(db, [{ id, kind: 'domain', accountId, endedAt: now, keptUntil }], now);
  const beyond = await db
    .selectFrom('endings')
    .select('id')
    .where('accountId', '=', accountId)
    .where('kind', '=', 'domain')
    .orderBy('endedAt', 'desc')
    .orderBy('id')
    .offset(ENDED_DOMAINS_MAX)
    .limit(TRANSFER_BATCH)
    .execute();
  await forget(db, beyond);
}

async function forget(db: Db, endings: readonly { readonly id: string }[]): Promise<void> {
  const ids = endings.map(({ id }) => id);
  if (ids.length > 0) await db.deleteFrom('endings').where('id', 'in', ids).execute();
}
