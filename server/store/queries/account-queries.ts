/** Queries on accounts, in SQL that every supported database understands. */
import type { Kysely, Selectable } from 'kysely';
import type { Plan } from '../../../shared/tunnel.ts';
import type { AccountRecord } from '../records.ts';
import type { AccountsTable, Database, EndingsTable } from '../schema.ts';
import { inTransaction } from './audit-queries.ts';
import { forgetCertificates } from './certificate-queries.ts';
import { ENDED_COLUMNS, FOREVER, heldNormally, holdName, rememberEndings } from './ending-queries.ts';
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
  heldUntil = 0,
): Promise<AccountRecord | undefined> {
  return inTransaction(db, async (transaction) => {
    const account = await findAccount(transaction, name);
    if (account !== undefined && suspended === null)
      await transaction
        .updateTable('released_names')
        .set(heldNormally(heldUntil))
        .where('account_id', '=', account.id)
        .where('suspended_with', '=', 'account')
        .execute();
    return await change(transaction, name, { suspended });
  });
}

/** See {@link Store.setSubdomain}. */
export function setSubdomain(
  db: Kysely<Database>,
  name: string,
  subdomain: string | null,
  now: number,
): Promise<AccountRecord | undefined> {
  return inTransaction(db, async (transaction) => {
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
  return inTransaction(db, async (transaction) => {
    const account = await findAccount(transaction, name);
    if (account === undefined) return undefined;
    await transaction.updateTable('accounts').set(fields).where('id', '=', account.id).execute();
    await raiseAccessRevision(transaction);
    return { ...account, ...fields };
  });
}

/** See {@link Store.removeAccount}. */
export function removeAccount(
  db: Kysely<Database>,
  name: string,
  now: number,
): Promise<AccountRecord | undefined> {
  return inTransaction(db, async (transaction) => {
    const account = await lockAccount(transaction, name);
    if (account === undefined) return undefined;
    const hashes = await removeWithAll(transaction, account);
    const ending = { account_id: account.id, ended_at: now, kept_until: FOREVER };
    const endings: EndingsTable[] = [
      { id: account.id, kind: 'account', ...ending },
      ...hashes.map((id) => ({ id, kind: 'key', ...ending }) as const),
    ];
    await rememberEndings(transaction, endings, now);
    await raiseAccessRevision(transaction);
    return account;
  });
}

/**
 * Removes an account with all that belongs to it. The addresses of tunnels that are suspended with it or by themselves stay
 * suspended: its owner may have another account.
 *
 * @returns the hashes of its keys
 */
export async function removeWithAll(
  transaction: Kysely<Database>,
  { id, suspended }: Pick<AccountRecord, 'id' | 'suspended'>,
): Promise<string[]> {
  const tunnels = await transaction
    .deleteFrom('tunnels')
    .where('account_id', '=', id)
    .returning(ENDED_COLUMNS)
    .execute();
  await transaction
    .deleteFrom('released_names')
    .where('account_id', '=', id)
    .where('suspended', 'is', null)
    .execute();
  await transaction
    .updateTable('released_names')
    .set({ suspended_with: 'tunnel' })
    .where('account_id', '=', id)
    .execute();
  for (const tunnel of tunnels.toSorted((a, b) => (a.slug < b.slug ? -1 : 1))) {
    const reason = tunnel.suspended ?? suspended;
    if (reason !== null) await holdName(transaction, tunnel, reason, 'tunnel');
  }
  const domains = await transaction
    .deleteFrom('domains')
    .where('account_id', '=', id)
    .returning('domain')
    .execute();
  await forgetCertificates(
    transaction,
    domains.map(({ domain }) => domain),
  );
  await transaction.deleteFrom('invitations').where('account_id', '=', id).execute();
  const keys = await transaction
    .deleteFrom('api_keys')
    .where('account_id', '=', id)
    .returning('hash')
    .execute();
  await transaction.deleteFrom('accounts').where('id', '=', id).execute();
  return keys.map(({ hash }) => hash);
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
