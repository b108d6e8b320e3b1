/** Queries on invitations, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import type { AccountRecord, AuditRecord, InvitationRecord, KeyRecord, OpenInvitation } from '../records.ts';
import { type Database, rowOf } from '../schema.ts';
import { ACCOUNT_COLUMNS, accountOfJoin } from './account-queries.ts';
import { keepActs } from './audit-queries.ts';
import { insertAccounts, insertKey } from './key-queries.ts';
import { act, actAlways, inTransaction, read, write } from './operation.ts';

/**
 * Stores invitations and removes expired ones.
 *
 * @param now wall time in ms
 * @param accounts the new ones among those they are for
 * @throws ConflictError `name` or `subdomain`
 */
export const insertInvitations = actAlways(
  (
    db,
    invitations: readonly InvitationRecord[],
    now: number,
    accounts: readonly AccountRecord[] = [],
  ): Promise<void> =>
    inTransaction(db, async (transaction) => {
      await insertAccounts(transaction, accounts, []);
      await transaction.deleteFrom('invitations').where('expires_at', '<=', now).execute();
      for (const invitation of invitations)
        await transaction.insertInto('invitations').values(rowOf(invitation)).execute();
    }),
);

/**
 * @param now wall time in ms
 * @returns `undefined` if it is unknown, used, revoked or expired, or its account is suspended
 */
export const findInvitation = read(
  async (db, hash: string, now: number): Promise<OpenInvitation | undefined> => {
    const row = await openInvitations(db, now).where('invitations.hash', '=', hash).executeTakeFirst();
    return row && toOpen(row);
  },
);

/** Lists the open invitations, oldest first; only those to one account if its id is given. */
export const listInvitations = read(
  async (db, now: number, accountId?: string): Promise<OpenInvitation[]> => {
    const all = openInvitations(db, now);
    const rows = await (accountId === undefined ? all : all.where('accounts.id', '=', accountId))
      .orderBy('invitations.created_at')
      .orderBy('invitations.id')
      .execute();
    return rows.map(toOpen);
  },
);

/**
 * @param accountId of the only account whose invitation it may be
 * @returns false if it is unknown, used, revoked or expired
 */
export const revokeInvitation = act(
  async (db, id: string, now: number, accountId?: string): Promise<boolean> => {
    const open = db
      .updateTable('invitations')
      .set({ taken_at: now })
      .where('id', '=', id)
      .where('taken_at', 'is', null)
      .where('expires_at', '>', now);
    const { numUpdatedRows } = await (
      accountId === undefined ? open : open.where('account_id', '=', accountId)
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
export const takeInvitation = write(
  (
    db,
    id: string,
    { key, act: entry }: { readonly key: KeyRecord; readonly act: AuditRecord },
    now: number,
  ): Promise<boolean> =>
    inTransaction(db, async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('invitations')
        .set({ taken_at: now })
        .where('id', '=', id)
        .where('account_id', '=', key.accountId)
        .where('taken_at', 'is', null)
        .where('expires_at', '>', now)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      await insertKey(transaction, key);
      await keepActs(transaction, [entry]);
      return true;
    }),
);

function openInvitations(db: Kysely<Database>, now: number) {
  return db
    .selectFrom('invitations')
    .innerJoin('accounts', 'accounts.id', 'invitations.account_id')
    .select(['invitations.id', 'invitations.label', 'invitations.expires_at', ...ACCOUNT_COLUMNS])
    .where('invitations.taken_at', 'is', null)
    .where('invitations.expires_at', '>', now)
    .where('accounts.suspended', 'is', null);
}

function toOpen(
  row: { id: string; label: string; expires_at: number } & Parameters<typeof accountOfJoin>[0],
): OpenInvitation {
  return { id: row.id, label: row.label, expiresAt: row.expires_at, account: accountOfJoin(row) };
}
