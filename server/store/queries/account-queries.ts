/** Queries on accounts, in SQL that every supported database understands. */
import type { Kysely, Selectable } from 'kysely';
import type { Plan } from '../../../shared/tunnel.ts';
import type { AccountRecord } from '../records.ts';
import type { AccountsTable, Database } from '../schema.ts';
import { forgetCertificates } from './certificate-queries.ts';
import { mustBeFreeForAccount } from './namespace.ts';
import { ConflictError } from '../store-errors.ts';

export const ACCOUNT_COLUMNS = [
  'accounts.id as account_id',
  'accounts.name as account_name',
  'accounts.plan',
  'accounts.subdomain',
  'accounts.created_at as account_created_at',
  'accounts.suspended as account_suspended',
] as const;

interface JoinedAccount {
  account_id: string;
  account_name: string;
  plan: AccountsTable['plan'];
  subdomain: string | null;
  account_created_at: number;
  account_suspended: string | null;
}

/** Reads the {@link ACCOUNT_COLUMNS} of a joined row. */
export function accountOfJoin(row: JoinedAccount): AccountRecord {
  return {
    id: row.account_id,
    name: row.account_name,
    plan: row.plan,
    subdomain: row.subdomain,
    createdAt: row.account_created_at,
    suspended: row.account_suspended,
  };
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
  return change(db, name, { plan });
}

/** See {@link Store.setSuspension}. */
export function setSuspension(
  db: Kysely<Database>,
  name: string,
  suspended: string | null,
): Promise<AccountRecord | undefined> {
  return change(db, name, { suspended });
}

/** See {@link Store.setSubdomain}. */
export function setSubdomain(
  db: Kysely<Database>,
  name: string,
  subdomain: string | null,
  now: number,
): Promise<AccountRecord | undefined> {
  return db.transaction().execute(async (transaction) => {
    const account = await lockAccount(transaction, name);
    if (account === undefined || account.subdomain === subdomain) return account;
    if (subdomain !== null) {
      const other = transaction.selectFrom('accounts').select('id').where('subdomain', '=', subdomain);
      if ((await other.executeTakeFirst()) !== undefined) throw new ConflictError('subdomain');
    }
    await transaction.updateTable('accounts').set({ subdomain }).where('id', '=', account.id).execute();
    if (subdomain !== null) await mustBeFreeForAccount(transaction, subdomain, now);
    await raiseAccessRevision(transaction);
    return { ...account, subdomain };
  });
}

/** Changes what relays that serve have to follow. */
function change(
  db: Kysely<Database>,
  name: string,
  fields: Partial<Pick<AccountRecord, 'plan' | 'suspended'>>,
): Promise<AccountRecord | undefined> {
  return db.transaction().execute(async (transaction) => {
    const account = await findAccount(transaction, name);
    if (account === undefined) return undefined;
    await transaction.updateTable('accounts').set(fields).where('id', '=', account.id).execute();
    await raiseAccessRevision(transaction);
    return { ...account, ...fields };
  });
}

/** See {@link Store.removeAccount}. */
export function removeAccount(db: Kysely<Database>, name: string): Promise<AccountRecord | undefined> {
  return db.transaction().execute(async (transaction) => {
    const account = await lockAccount(transaction, name);
    if (account === undefined) return undefined;
    const domains = await transaction
      .deleteFrom('domains')
      .where('account_id', '=', account.id)
      .returning('domain')
      .execute();
    await forgetCertificates(
      transaction,
      domains.map(({ domain }) => domain),
    );
    for (const table of ['released_names', 'tunnels', 'invitations', 'api_keys'] as const) {
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
export async function accessRevision(db: Kysely<Database>, now: number): Promise<string> {
  const lastEnd = db
    .selectFrom('api_keys')
    .select(({ fn }) => fn.max('expires_at').as('end'))
    .where('expires_at', '<=', now);
  const { revision, end } = await db
    .selectFrom('access_revision')
    .select(['revision', lastEnd.as('end')])
    .executeTakeFirstOrThrow();
  return `${revision}/${end ?? 0}`;
}

function accountOf(row: Selectable<AccountsTable>): AccountRecord {
  const { id, name, plan, subdomain, created_at: createdAt, suspended } = row;
  return { id, name, plan, subdomain, createdAt, suspended };
}
