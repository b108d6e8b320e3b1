/** Queries on API keys and on invitations, which give one, in SQL that every supported database understands. */
import type { KeyEnd } from '../../../shared/control.ts';
import type {
  AccountRecord,
  AuditRecord,
  InvitationRecord,
  KeyListing,
  KeyOwner,
  KeyRecord,
  OpenInvitation,
} from '../records.ts';
import { ConflictError } from '../store-errors.ts';
import { recordIn } from '../schema.ts';
import { findAccount, raiseAccessRevision } from './account-queries.ts';
import { keepActs } from './audit-queries.ts';
import { mustBeFreeForAccount } from './namespace.ts';
import { actAlways, actEnding, change, type Db, read } from './operation.ts';

const LISTED = [
  'api_keys.id',
  'api_keys.hint',
  'api_keys.createdAt',
  'api_keys.label',
  'api_keys.expiresAt',
  'api_keys.lastUsedAt',
  'api_keys.scope',
  'accounts.name as account',
] as const;

/** @throws ConflictError `key`, also for a key that was revoked or removed with its account */
export const insertKey = actAlways(async (db, key: KeyRecord): Promise<void> => {
  // A key of a removed account is gone for good, as a revoked one is.
  const ended = await db.selectFrom('endings').select('id').where('id', '=', key.hash).executeTakeFirst();
  if (ended !== undefined) throw new ConflictError('key');
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('api_keys')
    .values(key)
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) throw new ConflictError('key');
});

/** @returns `undefined` for an unknown or revoked key; an expired one is found */
export const findKeyOwner = read((db, hash: string): Promise<KeyOwner | undefined> =>
  db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.accountId')
    .select([
      'api_keys.id as keyId',
      'api_keys.hash',
      'api_keys.expiresAt',
      'api_keys.scope',
      'api_keys.label',
      ...recordIn('accounts', 'account'),
    ])
    .where('api_keys.hash', '=', hash)
    .where('api_keys.revokedAt', 'is', null)
    .executeTakeFirst(),
);

/** Whether there is or was a key, including revoked ones. */
export const hasKeys = read(async (db): Promise<boolean> => {
  return (await db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()) !== undefined;
});

/**
 * Lists valid keys, oldest first; only those of one account if a name is given.
 *
 * @param now wall time in ms
 */
export const listKeys = read((db, now: number, account?: string): Promise<KeyListing[]> => {
  const all = validKeys(db, now);
  return (account === undefined ? all : all.where('accounts.name', '=', account)).execute();
});

/** A key that is no longer valid. */
interface EndedKey {
  readonly id: string;
  readonly end: KeyEnd;
}

/**
 * Finds those of the keys that are no longer valid, and why.
 *
 * @param now wall time in ms
 */
export const findEndedKeys = read(async (db, ids: readonly string[], now: number): Promise<EndedKey[]> => {
  const rows = await db
    .selectFrom('api_keys')
    .select(['id', 'revokedAt', 'expiresAt'])
    .where('id', 'in', ids)
    .execute();
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const end = endOf(known.get(id), now);
    return end === undefined ? [] : [{ id, end }];
  });
});

/** A missing key has been removed with its account. */
function endOf(
  key: { readonly revokedAt: number | null; readonly expiresAt: number | null } | undefined,
  now: number,
): KeyEnd | undefined {
  if (key === undefined) return 'removed';
  if (key.revokedAt !== null) return 'revoked';
  return key.expiresAt !== null && key.expiresAt <= now ? 'expired' : undefined;
}

/**
 * Records that keys are in use. Unknown ids are ignored.
 *
 * @param at wall time in ms
 */
export const markKeysUsed = change(async (db, ids: readonly string[], at: number): Promise<void> => {
  if (ids.length === 0) return;
  // In this order, as every relay does it, so that no two wait for each other.
  const keys = db.selectFrom('api_keys').select('id').where('id', 'in', ids);
  await keys.orderBy('id').forUpdate().execute();
  await db.updateTable('api_keys').set({ lastUsedAt: at }).where('id', 'in', ids).execute();
});

/**
 * @param at wall time in ms
 * @returns the key; `undefined` if it is unknown or revoked
 */
export const revokeKey = actEnding(async (db, id: string, at: number): Promise<KeyListing | undefined> => {
  const key = await validKeys(db, at).where('api_keys.id', '=', id).executeTakeFirst();
  if (key === undefined) return undefined;
  await db.updateTable('api_keys').set({ revokedAt: at }).where('id', '=', id).execute();
  await raiseAccessRevision(db);
  return key;
});

function validKeys(db: Db, now: number) {
  return db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.accountId')
    .select(LISTED)
    .where('api_keys.revokedAt', 'is', null)
    .where((key) => key.or([key('api_keys.expiresAt', 'is', null), key('api_keys.expiresAt', '>', now)]))
    .orderBy('api_keys.createdAt')
    .orderBy('api_keys.id');
}

/* Queries that store new accounts, in SQL that every supported database understands. */

/**
 * Stores accounts with their keys, all or none.
 *
 * @throws ConflictError `name`, or `subdomain`, which may also be the name of a live tunnel or a held name; `key`, as
 *   {@link insertKey}
 */
export const insertAccounts = actAlways(
  async (db, accounts: readonly AccountRecord[], keys: readonly KeyRecord[] = []): Promise<void> => {
    for (const account of accounts) {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('accounts')
        .values(account)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 0n)
        throw new ConflictError((await findAccount(db, account.name)) === undefined ? 'subdomain' : 'name');
    }
    for (const key of keys) await insertKey(db, key);
    // The last thing that is locked: see {@link mustBeFreeForAccount}.
    for (const { id, subdomain, createdAt } of accounts)
      if (subdomain !== null) await mustBeFreeForAccount(db, { id, subdomain }, createdAt);
  },
);

/**
 * Stores invitations and removes expired ones.
 *
 * @param now wall time in ms
 * @param accounts the new ones among those they are for
 * @throws ConflictError `name` or `subdomain`
 */
export const insertInvitations = actAlways(
  async (
    db,
    invitations: readonly InvitationRecord[],
    now: number,
    accounts: readonly AccountRecord[] = [],
  ): Promise<void> => {
    await insertAccounts(db, accounts);
    await db.deleteFrom('invitations').where('expiresAt', '<=', now).execute();
    for (const invitation of invitations) await db.insertInto('invitations').values(invitation).execute();
  },
);

/**
 * @param now wall time in ms
 * @returns `undefined` if it is unknown, used, revoked or expired, or its account is suspended
 */
export const findInvitation = read((db, hash: string, now: number): Promise<OpenInvitation | undefined> =>
  openInvitations(db, now).where('invitations.hash', '=', hash).executeTakeFirst(),
);

/** Lists the open invitations, oldest first; only those to one account if its id is given. */
export const listInvitations = read((db, now: number, accountId?: string): Promise<OpenInvitation[]> => {
  const all = openInvitations(db, now);
  return (accountId === undefined ? all : all.where('accounts.id', '=', accountId))
    .orderBy('invitations.createdAt')
    .orderBy('invitations.id')
    .execute();
});

/**
 * @param accountId of the only account whose invitation it may be
 * @returns false if it is unknown, used, revoked or expired
 */
export const revokeInvitation = actEnding(
  async (db, id: string, now: number, accountId?: string): Promise<boolean> => {
    const open = db
      .updateTable('invitations')
      .set({ takenAt: now })
      .where('id', '=', id)
      .where('takenAt', 'is', null)
      .where('expiresAt', '>', now);
    const { numUpdatedRows } = await (
      accountId === undefined ? open : open.where('accountId', '=', accountId)
    ).executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  },
);

/**
 * Uses an invitation and stores the key it is for. Of several concurrent requests, one succeeds.
 *
 * @param now wall time in ms
 * @returns false if it is unknown, used, revoked or expired; nothing is stored then
 */
export const takeInvitation = change(
  async (
    db,
    id: string,
    { key, act }: { readonly key: KeyRecord; readonly act: AuditRecord },
    now: number,
  ): Promise<boolean> => {
    if (!(await revokeInvitation(db, id, now, key.accountId))) return false;
    await insertKey(db, key);
    await keepActs(db, [act]);
    return true;
  },
);

function openInvitations(db: Db, now: number) {
  return db
    .selectFrom('invitations')
    .innerJoin('accounts', 'accounts.id', 'invitations.accountId')
    .select([
      'invitations.id',
      'invitations.label',
      'invitations.expiresAt',
      ...recordIn('accounts', 'account'),
    ])
    .where('invitations.takenAt', 'is', null)
    .where('invitations.expiresAt', '>', now)
    .where('accounts.suspended', 'is', null);
}
