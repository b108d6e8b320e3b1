/** Queries on accounts, in SQL that every supported database understands. */
import type { Kysely, Selectable } from 'kysely';
import type { Plan } from '../../shared/tunnel.ts';
import type { AccountRecord } from './records.ts';
import type { AccountsTable, Database } from './schema.ts';
import { mustBeFreeForAccount } from './namespace.ts';
import { ConflictError } from './store.ts';

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
export function insertAccount(db: Kysely<Database>, account: AccountRecord): Promise<void> {
  const { id, name, plan, subdomain, createdAt } = account;
  return db.transaction().execute(async (transaction) => {
    const { numInsertedOrUpdatedRows } = await transaction
      .insertInto('accounts')
      .values({ id, name, plan, subdomain, created_at: createdAt })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n)
      throw new ConflictError((await findAccount(transaction, name)) === undefined ? 'subdomain' : 'name');
    if (subdomain !== null) await mustBeFreeForAccount(transaction, subdomain, createdAt);
  });
}

export async function findAccount(db: Kysely<Database>, name: string): Promise<AccountRecord | undefined> {
  const row = await db.selectFrom('accounts').selectAll().where('name', '=', name).executeTakeFirst();
  return row === undefined ? undefined : accountOf(row);
}

/** See {@link Store.findAccounts}. */
export async function findAccounts(db: Kysely<Database>, ids: readonly string[]): Promise<AccountRecord[]> {
  const rows = await db.selectFrom('accounts').selectAll().where('id', 'in', ids).execute();
  return rows.map(accountOf);
}

export async function listAccounts(db: Kysely<Database>): Promise<AccountRecord[]> {
  const rows = await db.selectFrom('accounts').selectAll().orderBy('created_at').orderBy('id').execute();
  return rows.map(accountOf);
}

/** See {@link Store.setPlan}. */
export function setPlan(db: Kysely<Database>, name: string, plan: Plan): Promise<AccountRecord | undefined> {
  return db.transaction().execute(async (transaction) => {
    const account = await findAccount(transaction, name);
    if (account === undefined) return undefined;
    await transaction.updateTable('accounts').set({ plan }).where('id', '=', account.id).execute();
    await raiseAccessRevision(transaction);
    return { ...account, plan };
  });
}

/** See {@link Store.removeAccount}. */
export function removeAccount(db: Kysely<Database>, name: string): Promise<AccountRecord | undefined> {
  return db.transaction().execute(async (transaction) => {
    const account = await lockAccount(transaction, name);
    if (account === undefined) return undefined;
    for (const table of ['released_names', 'tunnels', 'api_keys'] as const) {
      await transaction.deleteFrom(table).where('account_id', '=', account.id).execute();
    }
    await transaction.deleteFrom('accounts').where('id', '=', account.id).execute();
    await raiseAccessRevision(transaction);
    return account;
  });
}

/** Finds an account and keeps others from creating tunnels or keys of it until the transaction ends. */
async function lockAccount(db: Kysely<Database>, name: string): Promise<AccountRecord | undefined> {
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where('name', '=', name)
    .forUpdate()
    .executeTakeFirst();
  return row === undefined ? undefined : accountOf(row);
}

/** To be called in the transaction that takes rights away or changes them: see {@link Store.accessRevision}. */
export async function raiseAccessRevision(db: Kysely<Database>): Promise<void> {
  await db
    .updateTable('access_revision')
    .set((column) => ({ revision: column('revision', '+', 1) }))
    .execute();
}

/** See {@link Store.accessRevision}. */
export async function accessRevision(db: Kysely<Database>): Promise<number> {
  const { revision } = await db.selectFrom('access_revision').select('revision').executeTakeFirstOrThrow();
  return revision;
}

function accountOf(row: Selectable<AccountsTable>): AccountRecord {
  const { id, name, plan, subdomain, created_at: createdAt } = row;
  return { id, name, plan, subdomain, createdAt };
}
