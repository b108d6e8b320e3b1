/** Queries on API keys and on invitations, which give one, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import type { KeyEnd } from '../../../shared/control.ts';
import type {
  AccountRecord,
  AuditRecord,
  InvitationRecord,
  KeyListing,
  KeyOwner,
  KeyRecord,
  KeyScope,
  OpenInvitation,
} from '../records.ts';
import { type Database, reader, rowOf } from '../schema.ts';
import { ConflictError } from '../store-errors.ts';
import { ACCOUNT_COLUMNS, accountOfJoin, findAccount, raiseAccessRevision } from './account-queries.ts';
import { keepActs } from './audit-queries.ts';
import { mustBeFreeForAccount } from './namespace.ts';
import { actAlways, inTransaction, read, write, actEnding } from './operation.ts';

const LISTED = [
  'api_keys.id',
  'api_keys.hint',
  'api_keys.created_at',
  'api_keys.label',
  'api_keys.expires_at',
  'api_keys.last_used_at',
  'api_keys.scope',
  'accounts.name as account',
] as const;

/** @throws ConflictError `key`, also for a key that was revoked or removed with its account */
export const insertKey = actAlways(async (db, key: KeyRecord): Promise<void> => {
  // A key of a removed account is gone for good, as a revoked one is.
  const ended = await db.selectFrom('endings').select('id').where('id', '=', key.hash).executeTakeFirst();
  if (ended !== undefined) throw new ConflictError('key');
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('api_keys')
    .values({ ...rowOf(key), scope: writtenScope(key.scope) })
    .onConflict((conflict) => conflict.column('hash').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) throw new ConflictError('key');
});

/** @returns `undefined` for an unknown or revoked key; an expired one is found */
export const findKeyOwner = read(async (db, hash: string): Promise<KeyOwner | undefined> => {
  const row = await db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select([
      'api_keys.id as key_id',
      'api_keys.hash',
      'api_keys.expires_at as key_expires_at',
      'api_keys.scope',
      'api_keys.label',
      ...ACCOUNT_COLUMNS,
    ])
    .where('api_keys.hash', '=', hash)
    .where('api_keys.revoked_at', 'is', null)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { key_id: keyId, hash: found, key_expires_at: expiresAt, scope, label } = row;
  return { keyId, hash: found, expiresAt, scope: readScope(scope), label, account: accountOfJoin(row) };
});

/** Whether there is or was a key, including revoked ones. */
export const hasKeys = read(async (db): Promise<boolean> => {
  return (await db.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()) !== undefined;
});

/**
 * Lists valid keys, oldest first; only those of one account if a name is given.
 *
 * @param now wall time in ms
 */
export const listKeys = read(async (db, now: number, account?: string): Promise<KeyListing[]> => {
  const all = validKeys(db, now);
  const rows = await (account === undefined ? all : all.where('accounts.name', '=', account)).execute();
  return rows.map(listingOf);
});

/** A key that is no longer valid. */
interface EndedKey {
  readonly id: string;
  readonly end: KeyEnd;
}

/**
 * Finds those of the keys that are no longer valid, and why.
 *
 * @param now wall time in ms
 */
export const findEndedKeys = read(async (db, ids: readonly string[], now: number): Promise<EndedKey[]> => {
  const rows = await db
    .selectFrom('api_keys')
    .select(['id', 'revoked_at', 'expires_at'])
    .where('id', 'in', ids)
    .execute();
  const known = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const end = endOf(known.get(id), now);
    return end === undefined ? [] : [{ id, end }];
  });
});

/** A missing key has been removed with its account. */
function endOf(
  key: { readonly revoked_at: number | null; readonly expires_at: number | null } | undefined,
  now: number,
): KeyEnd | undefined {
  if (key === undefined) return 'removed';
  if (key.revoked_at !== null) return 'revoked';
  return key.expires_at !== null && key.expires_at <= now ? 'expired' : undefined;
}

/**
 * Records that keys are in use. Unknown ids are ignored.
 *
 * @param at wall time in ms
 */
export const markKeysUsed = write(async (db, ids: readonly string[], at: number): Promise<void> => {
  if (ids.length === 0) return;
  await db.transaction().execute(async (transaction) => {
    // In this order, as every relay does it, so that no two wait for each other.
    const keys = transaction.selectFrom('api_keys').select('id').where('id', 'in', ids);
    await keys.orderBy('id').forUpdate().execute();
    await transaction.updateTable('api_keys').set({ last_used_at: at }).where('id', 'in', ids).execute();
  });
});

/**
 * @param at wall time in ms
 * @returns the key; `undefined` if it is unknown or revoked
 */
export const revokeKey = actEnding((db, id: string, at: number): Promise<KeyListing | undefined> =>
  inTransaction(db, async (transaction) => {
    const row = await validKeys(transaction, at).where('api_keys.id', '=', id).executeTakeFirst();
    if (row === undefined) return undefined;
    await transaction.updateTable('api_keys').set({ revoked_at: at }).where('id', '=', id).execute();
    await raiseAccessRevision(transaction);
    return listingOf(row);
  }),
);

function validKeys(db: Kysely<Database>, now: number) {
  return db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .select(LISTED)
    .where('api_keys.revoked_at', 'is', null)
    .where((key) => key.or([key('api_keys.expires_at', 'is', null), key('api_keys.expires_at', '>', now)]))
    .orderBy('api_keys.created_at')
    .orderBy('api_keys.id');
}

const unscoped = reader<Omit<KeyListing, 'scope'>>({ without: ['scope'] });

function listingOf(row: Parameters<typeof unscoped>[0] & { scope: string }): KeyListing {
  return { ...unscoped(row), scope: readScope(row.scope) };
}

const OF_TUNNEL = 'tunnel:';
const OF_AGENT = 'agent:';

function writtenScope(scope: KeyScope): string {
  if (scope.kind === 'agent') return OF_AGENT + scope.prefix;
  return scope.kind === 'tunnel' ? OF_TUNNEL + scope.name : scope.kind;
}

/** @throws Error for a scope that {@link writtenScope} has not written: a key must not become more than it was */
function readScope(written: string): KeyScope {
  if (written.startsWith(OF_AGENT)) return { kind: 'agent', prefix: written.slice(OF_AGENT.length) };
  if (written.startsWith(OF_TUNNEL)) return { kind: 'tunnel', name: written.slice(OF_TUNNEL.length) };
  if (written === 'all' || written === 'owner' || written === 'admin') return { kind: written };
  throw new Error(`a key with the scope ${written}`);
}

/* Queries that store new accounts, in SQL that every supported database understands. */

/** @throws ConflictError `name` or `subdomain`, which may also be the name of a live tunnel or a held name */
export const insertAccount = write((db, account: AccountRecord): Promise<void> =>
  insertAccounts(db, [account], []),
);

/**
 * Stores accounts with their keys, all or none.
 *
 * @throws ConflictError `name`, `subdomain` or `key`, as {@link insertAccount} and {@link insertKey}
 */
export const insertAccounts = actAlways(
  (db, accounts: readonly AccountRecord[], keys: readonly KeyRecord[]): Promise<void> =>
    inTransaction(db, async (transaction) => {
      for (const account of accounts) await insertOne(transaction, account);
      for (const key of keys) await insertKey(transaction, key);
      // The last thing that is locked: see {@link mustBeFreeForAccount}.
      for (const { id, subdomain, createdAt } of accounts)
        if (subdomain !== null) await mustBeFreeForAccount(transaction, { id, subdomain }, createdAt);
    }),
);

async function insertOne(db: Kysely<Database>, account: AccountRecord): Promise<void> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('accounts')
    .values(rowOf(account))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n)
    throw new ConflictError((await findAccount(db, account.name)) === undefined ? 'subdomain' : 'name');
}

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
export const revokeInvitation = actEnding(
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
