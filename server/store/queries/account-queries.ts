/** Queries on accounts, in SQL that every supported database understands. */
import type { Plan } from '../../../shared/tunnel.ts';
import type { AccountRecord, Database } from '../records.ts';
import { forgetCertificates } from './certificate-queries.ts';
import {
  bySlug,
  ENDED_COLUMNS,
  FOREVER,
  heldNormally,
  holdSuspendedName,
  rememberEndings,
} from './ending-queries.ts';
import { removeLinksOf } from './link-queries.ts';
import { mustBeFreeForAccount } from './namespace.ts';
import { ConflictError } from '../store-errors.ts';
import { act, actEnding, type Db, isTaken, read } from './operation.ts';

export const findAccount = read((db, name: string): Promise<AccountRecord | undefined> =>
  db.selectFrom('accounts').selectAll().where('name', '=', name).executeTakeFirst(),
);

/** Finds those of the accounts that exist, in any order. */
export const findAccounts = read((db, ids: readonly string[]): Promise<AccountRecord[]> =>
  db.selectFrom('accounts').selectAll().where('id', 'in', ids).execute(),
);

/** Lists all accounts, oldest first. */
export const listAccounts = read((db): Promise<AccountRecord[]> =>
  db.selectFrom('accounts').selectAll().orderBy('createdAt').orderBy('id').execute(),
);

/**
 * Changes the plan of an account.
 *
 * @returns the account after the change; `undefined` for an unknown name
 */
export const setPlan = act((db, name: string, plan: Plan) => update(db, name, { plan }));

/**
 * Suspends an account, or resumes it together with the names that were suspended with it.
 *
 * @param suspended the reason; `null` resumes the account
 * @param heldUntil wall time in ms until which those names stay reserved for the account; without it they are free
 * @returns the account after the change; `undefined` for an unknown name
 */
export const setSuspension = actEnding(
  async (
    db,
    name: string,
    suspended: string | null,
    heldUntil?: number,
  ): Promise<AccountRecord | undefined> => {
    const account = await findAccount(db, name);
    if (account !== undefined && suspended === null)
      await db
        .updateTable('released_names')
        .set(heldNormally(heldUntil ?? 0))
        .where('accountId', '=', account.id)
        .where('suspendedWith', '=', 'account')
        .execute();
    return await update(db, name, { suspended });
  },
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
  async (db, name: string, subdomain: string | null, now: number): Promise<AccountRecord | undefined> => {
    const account = await lockAccount(db, 'name', name);
    if (account === undefined || account.subdomain === subdomain) return account;
    const changed = await update(db, name, { subdomain }).catch((error: unknown) => {
      throw isTaken(error) ? new ConflictError('subdomain') : error;
    });
    if (subdomain !== null) await mustBeFreeForAccount(db, { id: account.id, subdomain }, now);
    return changed;
  },
);

/** Changes what relays that serve have to follow. */
async function update(
  db: Db,
  name: string,
  fields: Partial<AccountRecord>,
): Promise<AccountRecord | undefined> {
  const account = await db
    .updateTable('accounts')
    .set(fields)
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirst();
  if (account !== undefined) await raiseAccessRevision(db);
  return account;
}

/**
 * Removes an account with its keys, tunnels and held names. Suspended addresses stay suspended.
 *
 * @param now wall time in ms
 * @returns the account before its removal; `undefined` for an unknown name
 */
export const removeAccount = actEnding(
  async (db, name: string, now: number): Promise<AccountRecord | undefined> => {
    const account = await lockAccount(db, 'name', name);
    if (account === undefined) return undefined;
    const hashes = await removeWithAll(db, account);
    const ending = { accountId: account.id, endedAt: now, keptUntil: FOREVER };
    const endings: Database['endings'][] = [
      { id: account.id, kind: 'account', ...ending },
      ...hashes.map((id) => ({ id, kind: 'key', ...ending }) as const),
    ];
    await rememberEndings(db, endings, now);
    await raiseAccessRevision(db);
    return account;
  },
);

/**
 * Removes an account with all that belongs to it. The addresses of tunnels that are suspended with it or by themselves
 * stay suspended: its owner may have another account.
 *
 * @returns the hashes of its keys
 */
export async function removeWithAll(
  db: Db,
  { id, suspended }: Pick<AccountRecord, 'id' | 'suspended'>,
): Promise<string[]> {
  const tunnels = await db
    .deleteFrom('tunnels')
    .where('accountId', '=', id)
    .returning(ENDED_COLUMNS)
    .execute();
  const names = db
    .deleteFrom('kept_names')
    .where('accountId', '=', id)
    .returning(['name as slug', 'linkScope']);
  await removeLinksOf(db, [...tunnels, ...(await names.execute())]);
  await db.deleteFrom('released_names').where('accountId', '=', id).where('suspended', 'is', null).execute();
  await db
    .updateTable('released_names')
    .set({ suspendedWith: 'tunnel' })
    .where('accountId', '=', id)
    .execute();
  for (const tunnel of tunnels.toSorted(bySlug)) {
    const reason = tunnel.suspended ?? suspended;
    if (reason !== null) await holdSuspendedName(db, tunnel, reason, 'tunnel');
  }
  const domains = await db.deleteFrom('domains').where('accountId', '=', id).returning('domain').execute();
  await forgetCertificates(
    db,
    domains.map(({ domain }) => domain),
  );
  await db.deleteFrom('agents').where('accountId', '=', id).execute();
  await db.deleteFrom('invitations').where('accountId', '=', id).execute();
  const keys = await db.deleteFrom('api_keys').where('accountId', '=', id).returning('hash').execute();
  await db.deleteFrom('accounts').where('id', '=', id).execute();
  return keys.map(({ hash }) => hash);
}

/** Finds an account and keeps others from creating tunnels, domains or keys of it until the transaction ends. */
export function lockAccount(db: Db, by: 'id' | 'name', value: string): Promise<AccountRecord | undefined> {
  return db.selectFrom('accounts').selectAll().where(by, '=', value).forUpdate().executeTakeFirst();
}

/** Call it in the transaction that revokes or changes rights: see {@link Store.accessRevision}. */
export async function raiseAccessRevision(db: Db): Promise<void> {
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
    .select(({ fn }) => fn.max('expiresAt').as('end'))
    .where('expiresAt', '<=', now);
  const { revision, end } = await db
    .selectFrom('access_revision')
    .select(['revision', lastEnd.as('end')])
    .executeTakeFirstOrThrow();
  return `${revision}/${end ?? 0}`;
});
