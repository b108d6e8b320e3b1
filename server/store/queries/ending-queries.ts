/**
 * What has ended and must stay so, in SQL that every supported database understands: the addresses of tunnels that
 * ended while they were suspended, and things without a row of their own that a restored backup would bring back.
 */
import type { Kysely } from 'kysely';
import { batches, type SuspendedName, type TunnelRecord } from '../records.ts';
import type { Database, EndingsTable, TunnelsTable } from '../schema.ts';
import { ConflictError } from '../store-errors.ts';
import { act, read, TRANSFER_BATCH } from './operation.ts';

/** @limit How long the relay remembers that a verified domain was removed, in case an older backup is restored. */
export const ENDED_DOMAIN_KEPT_MS = 400 * 24 * 3_600_000;
/** @limit Maximum number of removed verified domains that the relay remembers per account. */
export const ENDED_DOMAINS_MAX = 1000;
/**
 * @limit Minimum time that the relay remembers the end of a tunnel that another client took over: it may have had a
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
  'account_id',
  'expires_at',
  'terms_revision',
  'suspended',
] as const;

export type EndedRow = Pick<TunnelsTable, (typeof ENDED_COLUMNS)[number]>;

/**
 * To be called in the transaction that removes tunnels: keeps the addresses of suspended ones, and remembers the ends
 * of those whose time is not over.
 *
 * @param now wall time in ms
 */
export async function endTunnels(
  transaction: Kysely<Database>,
  rows: readonly EndedRow[],
  now: number,
): Promise<void> {
  if (rows.length === 0) return;
  await holdSuspended(transaction, rows);
  const endings = rows.map((row): EndingsTable => {
    const earlier = row.terms_revision > 0 ? now + ENDED_TAKEN_OVER_KEPT_MS : 0;
    const keptUntil = Math.max(row.expires_at, earlier);
    return { id: row.id, kind: 'tunnel', account_id: row.account_id, ended_at: now, kept_until: keptUntil };
  });
  await rememberEndings(
    transaction,
    endings.filter((ending) => ending.kept_until > now),
    now,
  );
}

/** Suspended, by itself or with its account. */
async function holdSuspended(transaction: Kysely<Database>, rows: readonly EndedRow[]): Promise<void> {
  const reasons = await suspensionsOf(transaction, [...new Set(rows.map((row) => row.account_id))]);
  for (const row of rows.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))) {
    const reason = row.suspended ?? reasons.get(row.account_id);
    if (reason !== undefined)
      await holdName(transaction, row, reason, row.suspended === null ? 'account' : 'tunnel');
  }
}

async function suspensionsOf(db: Kysely<Database>, ids: readonly string[]): Promise<Map<string, string>> {
  const reasons = new Map<string, string>();
  for (const batch of batches(ids, TRANSFER_BATCH)) {
    const rows = await db
      .selectFrom('accounts')
      .select(['id', 'suspended'])
      .where('id', 'in', batch)
      .where('suspended', 'is not', null)
      .execute();
    for (const { id, suspended } of rows) if (suspended !== null) reasons.set(id, suspended);
  }
  return reasons;
}

/** Keeps the address of a tunnel from everybody until it is resumed. */
export async function holdName(
  db: Kysely<Database>,
  { id, slug, domain, account_id }: Pick<EndedRow, 'id' | 'slug' | 'domain' | 'account_id'>,
  suspended: string,
  suspendedWith: 'tunnel' | 'account',
): Promise<void> {
  const held = {
    account_id,
    held_until: FOREVER,
    tunnel_id: id,
    domain,
    suspended,
    suspended_with: suspendedWith,
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
  transaction: Kysely<Database>,
  { slug, domain }: Pick<TunnelRecord, 'slug' | 'domain'>,
): Promise<void> {
  const row = await transaction
    .selectFrom('released_names')
    .select('slug')
    .where('suspended', 'is not', null)
    .where((held) =>
      held.or([held('slug', '=', slug), ...(domain === null ? [] : [held('domain', '=', domain)])]),
    )
    .executeTakeFirst();
  if (row !== undefined) throw new ConflictError(row.slug === slug ? 'slug' : 'domain');
}

/** Lists the addresses of tunnels that ended while they were suspended, ordered by slug. */
export const suspendedNames = read(async (db): Promise<SuspendedName[]> => {
  const rows = await db
    .selectFrom('released_names')
    .leftJoin('accounts', 'accounts.id', 'released_names.account_id')
    .select([
      'released_names.slug',
      'released_names.tunnel_id',
      'released_names.domain',
      'released_names.suspended',
      'accounts.name',
    ])
    .where('released_names.suspended', 'is not', null)
    .orderBy('released_names.slug')
    .execute();
  return rows.map(({ slug, tunnel_id, domain, suspended, name }) => ({
    tunnelId: tunnel_id ?? '',
    slug,
    domain,
    account: name,
    reason: suspended ?? '',
  }));
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
  return { held_until: heldUntil, tunnel_id: null, domain: null, suspended: null, suspended_with: null };
}

/** Remembers ends, and forgets those that a restore can no longer undo. */
export async function rememberEndings(
  transaction: Kysely<Database>,
  endings: readonly EndingsTable[],
  now: number,
): Promise<void> {
  if (endings.length === 0) return;
  const over = await transaction
    .selectFrom('endings')
    .select('id')
    .where('kept_until', '<=', now)
    .limit(TRANSFER_BATCH)
    .forUpdate()
    .skipLocked()
    .execute();
  await forget(
    transaction,
    over.map(({ id }) => id),
  );
  for (const batch of batches(endings, TRANSFER_BATCH))
    await transaction
      .insertInto('endings')
      .values(batch)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}

/** Remembers that an account has a verified domain no longer. */
export async function endDomain(
  transaction: Kysely<Database>,
  { id, account_id }: { readonly id: string; readonly account_id: string },
  now: number,
): Promise<void> {
  const keptUntil = now + ENDED_DOMAIN_KEPT_MS;
  const ending = { id, kind: 'domain', account_id, ended_at: now, kept_until: keptUntil } as const;
  await rememberEndings(transaction, [ending], now);
  const beyond = await transaction
    .selectFrom('endings')
    .select('id')
    .where('account_id', '=', account_id)
    .where('kind', '=', 'domain')
    .orderBy('ended_at', 'desc')
    .orderBy('id')
    .offset(ENDED_DOMAINS_MAX)
    .limit(TRANSFER_BATCH)
    .execute();
  await forget(
    transaction,
    beyond.map(({ id: old }) => old),
  );
}

async function forget(transaction: Kysely<Database>, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await transaction.deleteFrom('endings').where('id', 'in', ids).execute();
}
