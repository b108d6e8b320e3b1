/** Queries on certificates and their orders, in SQL that every supported database understands. */
import { sql } from 'kysely';
import {
  type AcmeAccountRecord,
  type CertificateRecord,
  type CertificateSummary,
  type ChallengeRecord,
  type ChallengeType,
  ORDER_RETRY_MAX_MS,
} from '../records.ts';
import { change, type Db, read, write } from './operation.ts';

const HOUR_MS = 3_600_000;

/**
 * Returns the account at a certificate authority.
 *
 * @param fresh stored if the account does not exist yet
 * @param now wall time in ms
 */
export const acmeAccount = write(
  async (db, fresh: AcmeAccountRecord, now: number): Promise<AcmeAccountRecord> => {
    await db
      .insertInto('acme_accounts')
      .values({ ...fresh, createdAt: now })
      .onConflict((conflict) => conflict.column('directory').doNothing())
      .execute();
    return await db
      .selectFrom('acme_accounts')
      .select(['directory', 'key', 'url'])
      .where('directory', '=', fresh.directory)
      .executeTakeFirstOrThrow();
  },
);

export const setAcmeAccount = write(async (db, { directory, key, url }: AcmeAccountRecord): Promise<void> => {
  await db.updateTable('acme_accounts').set({ key, url }).where('directory', '=', directory).execute();
});

/** Lists the certificates stored at this wall time in ms or later, by name. */
export const certificateSummaries = read((db, since: number): Promise<CertificateSummary[]> =>
  db
    .selectFrom('certificates')
    .select(['name', 'renewAt', 'notAfter', 'storedAt'])
    .where('storedAt', '>=', since)
    .orderBy('name')
    .execute(),
);

export const findCertificate = read((db, name: string): Promise<CertificateRecord | undefined> =>
  db.selectFrom('certificates').selectAll().where('name', '=', name).executeTakeFirst(),
);

/**
 * Removes certificates that ended before this wall time in ms, and the state of orders from before it.
 *
 * @returns the names of the certificates
 */
export const removeCertificates = write(async (db, endedBefore: number): Promise<string[]> => {
  const rows = await db
    .deleteFrom('certificates')
    .where('notAfter', '<', endedBefore)
    .returning('name')
    .execute();
  await db
    .deleteFrom('acme_orders')
    .where('retryAt', '<', endedBefore)
    .where('heldUntil', '<', endedBefore)
    .execute();
  return rows.map(({ name }) => name);
});

/**
 * Removes the certificates and keys of domains, except those that an account has verified. A transaction that removes a
 * domain calls this, so that the key goes with it.
 */
export const forgetCertificates = write(async (db, domains: readonly string[]): Promise<void> => {
  if (domains.length === 0) return;
  const verified = db
    .selectFrom('domains')
    .select('domain')
    .where('domain', 'in', domains)
    .where('verifiedAt', 'is not', null);
  await db
    .deleteFrom('certificates')
    .where('name', 'in', domains)
    .where('name', 'not in', verified)
    .execute();
});

/** An order of a certificate that is about to begin. */
export interface OrderBegin {
  readonly name: string;
  /** id of this attempt */
  readonly attempt: string;
  /** wall time in ms */
  readonly now: number;
  /** until when no other relay orders for the name, wall time in ms */
  readonly heldUntil: number;
  /** orders in an hour, of all names and relays */
  readonly perHour: number;
  /** owning account; `null` if none */
  readonly account: string | null;
  /** orders of all accounts in an hour; beyond it only an account's first order starts */
  readonly beyondFirst: number;
  /** whether it begins though earlier ones have failed */
  readonly ignoreWait: boolean;
}

/** Whether an order may begin. */
export type OrderTurn =
  /** after that many failures in a row */
  | { readonly kind: 'begun'; readonly failures: number }
  /** there is a certificate that need not be renewed */
  | { readonly kind: 'stored' }
  /** another relay orders, until this wall time in ms at the latest */
  | { readonly kind: 'held'; readonly until: number }
  /** not before this wall time in ms: because earlier ones have `failed`, or there were as many as there may be */
  | { readonly kind: 'wait'; readonly until: number; readonly cause: 'failed' | 'limit' };

/** Begins to order a certificate, unless there is a reason not to. Relays take turns. */
export const beginOrder = change(async (db, begin: OrderBegin): Promise<OrderTurn> => {
  const { name, now, heldUntil, ignoreWait } = begin;
  await takeTurns(db);
  // In this order: a certificate that is stored in between belongs to an order that is still held here.
  const order = await db.selectFrom('acme_orders').selectAll().where('name', '=', name).executeTakeFirst();
  const stored = await findCertificate(db, name);
  if (stored !== undefined && stored.renewAt > now) return { kind: 'stored' };
  if (order !== undefined && order.heldUntil > now) return { kind: 'held', until: order.heldUntil };
  // A time further away than anybody waits is from before the clock was set back.
  const wait = (order?.retryAt ?? 0) - now;
  if (order !== undefined && wait > 0 && wait <= ORDER_RETRY_MAX_MS && !ignoreWait)
    return { kind: 'wait', until: order.retryAt, cause: 'failed' };
  const room = await takeRoom(db, begin);
  if (room.kind === 'wait') return room;
  await db
    .insertInto('acme_orders')
    .values({ name, failures: 0, retryAt: 0, heldUntil })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ heldUntil }))
    .execute();
  return { kind: 'begun', failures: order?.failures ?? 0 };
});

/** Counts another order for a name whose order has begun. */
export const beginFurtherOrder = change(async (db, begin: OrderBegin): Promise<OrderTurn> => {
  await takeTurns(db);
  return await takeRoom(db, begin);
});

/** Counts an order among those of this hour, if there is room for it. */
async function takeRoom(
  db: Db,
  { attempt, now, perHour, account, beyondFirst }: OrderBegin,
): Promise<Extract<OrderTurn, { kind: 'begun' | 'wait' }>> {
  await db
    .deleteFrom('acme_attempts')
    .where('startedAt', '<=', now - HOUR_MS)
    .execute();
  const all = await db.selectFrom('acme_attempts').select(['startedAt', 'accountId']).execute();
  const ofAccounts = all.filter(({ accountId }) => accountId !== null);
  const isFirst = account === null || all.every(({ accountId }) => accountId !== account);
  for (const [attempts, most] of [
    [all, perHour],
    [ofAccounts, isFirst ? perHour : beyondFirst],
  ] as const) {
    // A clock that was set back leaves times in the future, which end no later than an hour from now.
    const oldest = Math.min(now, ...attempts.map(({ startedAt }) => startedAt));
    if (attempts.length >= most) return { kind: 'wait', until: oldest + HOUR_MS, cause: 'limit' };
  }
  await db.insertInto('acme_attempts').values({ id: attempt, startedAt: now, accountId: account }).execute();
  return { kind: 'begun', failures: 0 };
}

/**
 * Ends an order that gave no certificate.
 *
 * @param failures consecutive failures of the name
 * @param retryAt wall time in ms before which no order begins
 */
export const failOrder = write(async (db, name: string, failures: number, retryAt: number): Promise<void> => {
  await db
    .updateTable('acme_orders')
    .set({ failures, retryAt: retryAt, heldUntil: 0 })
    .where('name', '=', name)
    .execute();
});

/**
 * Ends an order and replaces the previous certificate.
 *
 * @param retryAt wall time in ms before which no other order begins
 */
export const storeCertificate = change(
  async (db, certificate: CertificateRecord, retryAt: number): Promise<void> => {
    await db
      .insertInto('certificates')
      .values(certificate)
      .onConflict((conflict) => conflict.column('name').doUpdateSet(certificate))
      .execute();
    await failOrder(db, certificate.name, 0, retryAt);
  },
);

/** Releases all orders and removes all challenges. Only for a relay that has the database to itself. */
export const releaseOrders = write(async (db): Promise<void> => {
  await db.updateTable('acme_orders').set({ heldUntil: 0 }).execute();
  await db.deleteFrom('acme_challenges').execute();
});

/** @param now wall time in ms */
export const putChallenge = change(async (db, challenge: ChallengeRecord, now: number): Promise<void> => {
  await db.deleteFrom('acme_challenges').where('expiresAt', '<=', now).execute();
  await db
    .insertInto('acme_challenges')
    .values(challenge)
    .onConflict((conflict) => conflict.column('token').doUpdateSet(challenge))
    .execute();
});

export const removeChallenge = write(async (db, token: string): Promise<void> => {
  await db.deleteFrom('acme_challenges').where('token', '=', token).execute();
});

/**
 * @param now wall time in ms
 * @param host of them; all hosts without it
 */
export const findChallenges = read(
  (db, type: ChallengeType, now: number, host?: string): Promise<ChallengeRecord[]> => {
    const all = db.selectFrom('acme_challenges').selectAll();
    return (host === undefined ? all : all.where('host', '=', host))
      .where('type', '=', type)
      .where('expiresAt', '>', now)
      .orderBy('token')
      .execute();
  },
);

/** Serializes relays that begin orders at the same time. */
async function takeTurns(db: Db): Promise<void> {
  await db
    .selectFrom('acme_accounts')
    .select(sql<number>`1`.as('one'))
    .forUpdate()
    .execute();
}
