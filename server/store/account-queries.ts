/** Queries on accounts and keys, in SQL that every supported database understands. */
import type { Kysely, Selectable } from 'kysely';
import type { AccountRecord, KeyRecord } from '../accounts/account.ts';
import type { AccountsTable, Database } from './schema.ts';
import { ConflictError, type KeyOwner } from './store.ts';

export const ACCOUNT_COLUMNS = [
  'accounts.id as account_id',
  'accounts.name as account_name',
  'accounts.plan',
  'accounts.subdomain',
  'accounts.created_at as account_created_at',
] as const;

interface JoinedAccount {
  account_id: string;
  account_name: string;
  plan: AccountsTable['plan'];
  subdomain: string | null;
  account_created_at: number;
}

/** Reads the {@link ACCOUNT_COLUMNS} of a joined row. */
export function accountOfJoin(row: JoinedAccount): AccountRecord {
  return {
    id: row.account_id,
    name: row.account_name,
    plan: row.plan,
    subdomain: row.subdomain,
    createdAt: row.account_created_at,
  };
}

/** See {@link Store.insertAccount}. */
export async function insertAccount(db: Kysely<Database>, account: AccountRecord): Promise<void> {
  const { id, name, plan, subdomain, createdAt } = account;
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('accounts')
    .values({ id, name, plan, subdomain, created_at: createdAt })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 0n) return;
  throw new ConflictError((await findAccount(db, name)) === undefined ? 'subdomain' : 'name');
}

export async function findAccount(db: Kysely<Database>, name: string): Promise<AccountRecord | undefined> {
  const row = await db.selectFrom('accounts').selectAll().where('name', '=', name).executeTakeFirst();
  return row === undefined ? undefined : accountOf(row);
}

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

export async function findKeyOwner(db: Kysely<Database>, hash: string): Promise<KeyOwner | undefined> {
  const row = await db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(['api_keys.hash', ...ACCOUNT_COLUMNS])
    .where('api_keys.hash', '=', hash)
    .executeTakeFirst();
  return row === undefined ? undefined : { hash: row.hash, account: accountOfJoin(row) };
}

export async function hasKeys(db: Kysely<Database>): Promise<boolean> {
  return (await db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()) !== undefined;
}

function accountOf(row: Selectable<AccountsTable>): AccountRecord {
  const { id, name, plan, subdomain, created_at: createdAt } = row;
  return { id, name, plan, subdomain, createdAt };
}
