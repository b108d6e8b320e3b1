/** Queries on invitations, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import type { AccountRecord, AuditRecord, InvitationRecord, KeyRecord, OpenInvitation } from '../records.ts';
import type { Database } from '../schema.ts';
import { ACCOUNT_COLUMNS, accountOfJoin } from './account-queries.ts';
import { inTransaction, keepActs } from './audit-queries.ts';
import { insertAccount, insertKey } from './key-queries.ts';

/** See {@link Store.insertInvitations}. */
export function insertInvitations(
  db: Kysely<Database>,
  invitations: readonly InvitationRecord[],
  now: number,
  account?: AccountRecord,
): Promise<void> {
  return inTransaction(db, async (transaction) => {
    if (account !== undefined) await insertAccount(transaction, account);
    await transaction.deleteFrom('invitations').where('expires_at', '<=', now).execute();
    for (const { id, accountId, hash, createdAt, expiresAt } of invitations)
      await transaction
        .insertInto('invitations')
        .values({ id, account_id: accountId, hash, created_at: createdAt, expires_at: expiresAt })
        .execute();
  });
}

/** See {@link Store.findInvitation}. */
export async function findInvitation(
  db: Kysely<Database>,
  hash: string,
  now: number,
): Promise<OpenInvitation | undefined> {
  const row = await openInvitations(db, now).where('invitations.hash', '=', hash).executeTakeFirst();
  return row === undefined ? undefined : toOpen(row);
}

/** See {@link Store.listInvitations}. */
export async function listInvitations(db: Kysely<Database>, now: number): Promise<OpenInvitation[]> {
  const rows = await openInvitations(db, now)
    .orderBy('invitations.created_at')
    .orderBy('invitations.id')
    .execute();
  return rows.map(toOpen);
}

/** See {@link Store.revokeInvitation}. */
export async function revokeInvitation(db: Kysely<Database>, id: string, now: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('invitations')
    .set({ taken_at: now })
    .where('id', '=', id)
    .where('taken_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** See {@link Store.takeInvitation}. */
export function takeInvitation(
  db: Kysely<Database>,
  id: string,
  { key, act }: { readonly key: KeyRecord; readonly act: AuditRecord },
  now: number,
): Promise<boolean> {
  return inTransaction(db, async (transaction) => {
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
    await keepActs(transaction, [act]);
    return true;
  });
}

function openInvitations(db: Kysely<Database>, now: number) {
  return db
    .selectFrom('invitations')
    .innerJoin('accounts', 'accounts.id', 'invitations.account_id')
    .select(['invitations.id', 'invitations.expires_at', ...ACCOUNT_COLUMNS])
    .where('invitations.taken_at', 'is', null)
    .where('invitations.expires_at', '>', now)
    .where('accounts.suspended', 'is', null);
}

function toOpen(
  row: { id: string; expires_at: number } & Parameters<typeof accountOfJoin>[0],
): OpenInvitation {
  return { id: row.id, expiresAt: row.expires_at, account: accountOfJoin(row) };
}
