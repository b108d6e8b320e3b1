/** Queries on API keys, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import { ACCOUNT_COLUMNS, accountOfJoin, raiseAccessRevision } from './account-queries.ts';
import type { Database } from './schema.ts';
import type { KeyListing, KeyOwner, KeyRecord } from './records.ts';
import { ConflictError } from './store.ts';

/** See {@link Store.insertKey}. */
export async function insertKey(db: Kysely<Database>, key: KeyRecord): Promise<void> {
  const { id, accountId, hash, hint, createdAt } = key;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('api_keys')
    .values({ id, account_id: accountId, hash, hint, created_at: createdAt })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) throw new ConflictError('key');
}

/** See {@link Store.findKeyOwner}. */
export async function findKeyOwner(db: Kysely<Database>, hash: string): Promise<KeyOwner | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(['api_keys.id as key_id', 'api_keys.hash', ...ACCOUNT_COLUMNS])
    .where('api_keys.hash', '=', hash)
    .where('api_keys.revoked_at', 'is', null)
    .executeTakeFirst();
  return row === undefined ? undefined : { keyId: row.key_id, hash: row.hash, account: accountOfJoin(row) };
}

/** See {@link Store.hasKeys}. */
export async function hasKeys(db: Kysely<Database>): Promise<boolean> {
  return (await db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()) !== undefined;
}

/** See {@link Store.listKeys}. */
export async function listKeys(db: Kysely<Database>, account?: string): Promise<KeyListing[]> {
  const all = validKeys(db);
  const rows = await (account === undefined ? all : all.where('accounts.name', '=', account)).execute();
  return rows.map(listingOf);
}

/** See {@link Store.findValidKeys}. */
export async function findValidKeys(db: Kysely<Database>, ids: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('api_keys')
    .select('id')
    .where('id', 'in', ids)
    .where('revoked_at', 'is', null)
    .execute();
  return rows.map(({ id }) => id);
}

/** See {@link Store.revokeKey}. */
export function revokeKey(db: Kysely<Database>, id: string, at: number): Promise<KeyListing | undefined> {
  return db.transaction().execute(async (transaction) => {
    const row = await validKeys(transaction).where('api_keys.id', '=', id).executeTakeFirst();
    if (row === undefined) return undefined;
    await transaction.updateTable('api_keys').set({ revoked_at: at }).where('id', '=', id).execute();
    await raiseAccessRevision(transaction);
    return listingOf(row);
  });
}

function validKeys(db: Kysely<Database>) {
  return db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(['api_keys.id', 'api_keys.hint', 'api_keys.created_at', 'accounts.name'])
    .where('api_keys.revoked_at', 'is', null)
    .orderBy('api_keys.created_at')
    .orderBy('api_keys.id');
}

function listingOf(row: { id: string; hint: string; created_at: number; name: string }): KeyListing {
  return { id: row.id, account: row.name, hint: row.hint, createdAt: row.created_at };
}
