/** Queries that store new accounts, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import { findAccount } from './account-queries.ts';
import { inTransaction } from './audit-queries.ts';
import { insertKey } from './key-queries.ts';
import { mustBeFreeForAccount } from './namespace.ts';
import type { AccountRecord, KeyRecord } from '../records.ts';
import type { Database } from '../schema.ts';
import { ConflictError } from '../store-errors.ts';

/** See {@link Store.insertAccount}. */
export function insertAccount(db: Kysely<Database>, account: AccountRecord): Promise<void> {
  return insertAccounts(db, [account], []);
}

/** See {@link Store.insertAccounts}. */
export function insertAccounts(
  db: Kysely<Database>,
  accounts: readonly AccountRecord[],
  keys: readonly KeyRecord[],
): Promise<void> {
  return inTransaction(db, async (transaction) => {
    for (const account of accounts) await insertOne(transaction, account);
    for (const key of keys) await insertKey(transaction, key);
    // The last thing that is locked: see {@link mustBeFreeForAccount}.
    for (const { subdomain, createdAt } of accounts)
      if (subdomain !== null) await mustBeFreeForAccount(transaction, subdomain, createdAt);
  });
}

async function insertOne(
  db: Kysely<Database>,
  { id, name, plan, subdomain, createdAt, suspended }: AccountRecord,
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('accounts')
    .values({ id, name, plan, subdomain, created_at: createdAt, suspended })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n)
    throw new ConflictError((await findAccount(db, name)) === undefined ? 'subdomain' : 'name');
}
