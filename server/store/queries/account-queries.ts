/** Queries on accounts, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import type { Plan } from '../../../shared/tunnel.ts';
import type { AccountRecord } from '../records.ts';
import { type ColumnsOf, type Database, type EndingsTable, reader } from '../schema.ts';
import { forgetCertificates } from './certificate-queries.ts';
import { ENDED_COLUMNS, FOREVER, heldNormally, holdName, rememberEndings } from './ending-queries.ts';
import { mustBeFreeForAccount } from './namespace.ts';
import { ConflictError } from '../store-errors.ts';
import { act, inTransaction, read, actEnding } from './operation.ts';

type AccountColumn = keyof ColumnsOf<AccountRecord>;

const COLUMNS: Readonly<Record<AccountColumn, true>> = {
  id: true,
  name: true,
  plan: true,
  subdomain: true,
  created_at: true,
  suspended: true,
};

/** Columns of an account in a join, to be read by {@link accountOfJoin}. */
export const ACCOUNT_COLUMNS = Object.keys(COLUMNS).map((name) => `accounts.${name} as account.${name}`) as {
  [Column in AccountColumn]: `accounts.${Column} as account.${Column}`;
}[AccountColumn][];

export const accountOfJoin = reader<AccountRecord, 'account.'>({ prefix: 'account.' });

const accountOf = reader<AccountRecord>();

export const findAccount = read(async (db, name: string): Promise<AccountRecord | undefined> => {
  const row = await db.selectFrom('accounts').selectAll().where('name', '=', name).executeTakeFirst();
  return row && accountOf(row);
});

/** Finds those of the accounts that exist, in any order. */
export const findAccounts = read(async (db, ids: readonly string[]): Promise<AccountRecord[]> => {
  const rows = await db.selectFrom('accounts').selectAll().where('id', 'in', ids).execute();
  return rows.map(accountOf);
});

/** Lists all accounts, oldest first. */
export const listAccounts = read(async (db): Promise<AccountRecord[]> => {
  const rows = await db.selectFrom('accounts').selectAll().orderBy('created_at').orderBy('id').execute();
  return rows.map(accountOf);
});

/**
 * Changes the plan of an account.
 *
 * @returns the account after the change; `undefined` for an unknown name
 */
export const setPlan = act((db, name: string, plan: Plan): Promise<AccountRecord | undefined> =>
  change(db, name, { plan }),
);

/**
 * Suspends an account, or resumes it together with the names that were suspended with it.
 *
 * @param suspended the reason; `null` resumes the account
 * @param heldUntil wall time in ms until which those names stay reserved for the account; without it they are free
 * @returns the account after the change; `undefined` for an unknown name
 */
export const setSuspension = actEnding(
  (db, name: string, suspended: string | null, heldUntil?: number): Promise<AccountRecord | undefined> =>
    inTransaction(db, async (transaction) => {
      const account = await findAccount(transaction, name);
      if (account !== undefined && suspended === null)
        await transaction
          .updateTable('released_names')
          .set(heldNormally(heldUntil ?? 0))
          .where('account_id', '=', account.id)
          .where('suspended_with', '=', 'account')
          .execute();
      return await change(transaction, name, { suspended });
    }),
  ([, suspended]) => suspended !== null,
);

/**
 * Changes or removes the subdomain of an account.
 *
 * @param now wall time in ms
 * @returns the account after the change; `undefined` for an unknown name
 * @throws ConflictError `subdomain`, which may also be the name of a live tunnel or a held name
 */
export const setSubdomain = act(
  (db, name: string, subdomain: string | null, now: number): Promise<AccountRecord | undefined> =>
    inTransaction(db, async (transaction) => {
      const account = await lockAccount(transaction, name);
      if (account === undefined || account.subdomain === subdomain) return account;
      if (subdomain !== null) {
        const other = transaction.selectFrom('accounts').select('id').where('subdomain', '=', subdomain);
        if ((await other.executeTakeFirst()) !== undefined) throw new ConflictError('subdomain');
      }
      await transaction.updateTable('accounts').set({ subdomain }).where('id', '=', account.id).execute();
      if (subdomain !== null) await mustBeFreeForAccount(transaction, { id: account.id, subdomain }, now);
      await raiseAccessRevision(transaction);
      return { ...account, subdomain };
    }),
);

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

/**
 * Removes an account with its keys, tunnels and held names. Suspended addresses stay suspended.
 *
 * @param now wall time in ms
 * @returns the account before its removal; `undefined` for an unknown name
 */
export const removeAccount = actEnding((db, name: string, now: number): Promise<AccountRecord | undefined> =>
  inTransaction(db, async (transaction) => {
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
  }),
);

/**
 * Removes an account with all that belongs to it. The addresses of tunnels that are suspended with it or by themselves
 * stay suspended: its owner may have another account.
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
  return row && accountOf(row);
}

/** Call it in the transaction that revokes or changes rights: see {@link Store.accessRevision}. */
export async function raiseAccessRevision(db: Kysely<Database>): Promise<void> {
  await db
    .updateTable('access_revision')
    .set((column) => ({ revision: column('revision', '+', 1) }))
    .execute();
}

/**
 * Returns a text that changes when a key is revoked or expires, an account is changed or removed, or an operator acts
 * on a tunnel.
 *
 * @param now wall time in ms
 */
export const accessRevision = read(async (db, now: number): Promise<string> => {
  const lastEnd = db
    .selectFrom('api_keys')
    .select(({ fn }) => fn.max('expires_at').as('end'))
    .where('expires_at', '<=', now);
  const { revision, end } = await db
    .selectFrom('access_revision')
    .select(['revision', lastEnd.as('end')])
    .executeTakeFirstOrThrow();
  return `${revision}/${end ?? 0}`;
});
