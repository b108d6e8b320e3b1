/** Queries on certificates and their orders, in SQL that every supported database understands. */
import { type Kysely, sql } from 'kysely';
import {
  type AcmeAccountRecord,
  type CertificateRecord,
  type CertificateSummary,
  type ChallengeRecord,
  type ChallengeType,
  ORDER_RETRY_MAX_MS,
} from '../records.ts';
import { type Database, reader, rowOf } from '../schema.ts';
import { read, write } from './operation.ts';

const HOUR_MS = 3_600_000;

const summaryOf = reader<CertificateSummary>();
const certificateOf = reader<CertificateRecord>();
const challengeOf = reader<ChallengeRecord>();

/**
 * Returns the account at a certificate authority.
 *
 * @param fresh stored if the account does not exist yet
 * @param now wall time in ms
 */
export const acmeAccount = write(
  async (db, { directory, key, url }: AcmeAccountRecord, now: number): Promise<AcmeAccountRecord> => {
    await db
      .insertInto('acme_accounts')
      .values({ directory, key, url, created_at: now })
      .onConflict((conflict) => conflict.column('directory').doNothing())
      .execute();
    const row = await db
      .selectFrom('acme_accounts')
      .select(['key', 'url'])
      .where('directory', '=', directory)
      .executeTakeFirstOrThrow();
    return { directory, key: row.key, url: row.url };
  },
);

export const setAcmeAccount = write(async (db, { directory, key, url }: AcmeAccountRecord): Promise<void> => {
  await db.updateTable('acme_accounts').set({ key, url }).where('directory', '=', directory).execute();
});

/** Lists the certificates stored at this wall time in ms or later, by name. */
export const certificateSummaries = read(async (db, since: number): Promise<CertificateSummary[]> => {
  const rows = await db
    .selectFrom('certificates')
    .select(['name', 'renew_at', 'not_after', 'stored_at'])
    .where('stored_at', '>=', since)
    .orderBy('name')
    .execute();
  return rows.map(summaryOf);
});

export const findCertificate = read(async (db, name: string): Promise<CertificateRecord | undefined> => {
  const row = await db.selectFrom('certificates').selectAll().where('name', '=', name).executeTakeFirst();
  return row && certificateOf(row);
});

/**
 * Removes certificates that ended before this wall time in ms, and the state of orders from before it.
 *
 * @returns the names of the certificates
 */
export const removeCertificates = write(async (db, endedBefore: number): Promise<string[]> => {
  const rows = await db
    .deleteFrom('certificates')
    .where('not_after', '<', endedBefore)
    .returning('name')
    .execute();
  await db
    .deleteFrom('acme_orders')
    .where('retry_at', '<', endedBefore)
    .where('held_until', '<', endedBefore)
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
    .where('verified_at', 'is not', null);
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
export const beginOrder = write((db, begin: OrderBegin): Promise<OrderTurn> => {
  const { name, now, heldUntil, ignoreWait } = begin;
  return db.transaction().execute(async (transaction) => {
    await takeTurns(transaction);
    // In this order: a certificate that is stored in between belongs to an order that is still held here.
    const order = await transaction
      .selectFrom('acme_orders')
      .selectAll()
      .where('name', '=', name)
      .executeTakeFirst();
    const stored = await transaction
      .selectFrom('certificates')
      .select('renew_at')
      .where('name', '=', name)
      .executeTakeFirst();
    if (stored !== undefined && stored.renew_at > now) return { kind: 'stored' };
    if (order !== undefined && order.held_until > now) return { kind: 'held', until: order.held_until };
    // A time further away than anybody waits is from before the clock was set back.
    const wait = (order?.retry_at ?? 0) - now;
    if (order !== undefined && wait > 0 && wait <= ORDER_RETRY_MAX_MS && !ignoreWait)
      return { kind: 'wait', until: order.retry_at, cause: 'failed' };
    const room = await takeRoom(transaction, begin);
    if (room.kind === 'wait') return room;
    await transaction
      .insertInto('acme_orders')
      .values({ name, failures: 0, retry_at: 0, held_until: heldUntil })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ held_until: heldUntil }))
      .execute();
    return { kind: 'begun', failures: order?.failures ?? 0 };
  });
});

/** Counts another order for a name whose order has begun. */
export const beginFurtherOrder = write((db, begin: OrderBegin): Promise<OrderTurn> =>
  db.transaction().execute(async (transaction) => {
    await takeTurns(transaction);
    return await takeRoom(transaction, begin);
  }),
);

/** Counts an order among those of this hour, if there is room for it. */
async function takeRoom(
  transaction: Kysely<Database>,
  { attempt, now, perHour, account, beyondFirst }: OrderBegin,
): Promise<Extract<OrderTurn, { kind: 'begun' | 'wait' }>> {
  await transaction
    .deleteFrom('acme_attempts')
    .where('started_at', '<=', now - HOUR_MS)
    .execute();
  const all = await transaction.selectFrom('acme_attempts').select(['started_at', 'account_id']).execute();
  const ofAccounts = all.filter(({ account_id }) => account_id !== null);
  const isFirst = account === null || all.every(({ account_id }) => account_id !== account);
  for (const [attempts, most] of [
    [all, perHour],
    [ofAccounts, isFirst ? perHour : beyondFirst],
  ] as const) {
    // A clock that was set back leaves times in the future, which end no later than an hour from now.
    const oldest = Math.min(now, ...attempts.map(({ started_at }) => started_at));
    if (attempts.length >= most) return { kind: 'wait', until: oldest + HOUR_MS, cause: 'limit' };
  }
  const values = { id: attempt, started_at: now, account_id: account };
  await transaction.insertInto('acme_attempts').values(values).execute();
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
    .set({ failures, retry_at: retryAt, held_until: 0 })
    .where('name', '=', name)
    .execute();
});

/**
 * Ends an order and replaces the previous certificate.
 *
 * @param retryAt wall time in ms before which no other order begins
 */
export const storeCertificate = write(
  (db, certificate: CertificateRecord, retryAt: number): Promise<void> => {
    const row = rowOf(certificate);
    return db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('certificates')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
        .execute();
      await failOrder(transaction, certificate.name, 0, retryAt);
    });
  },
);

/** Releases all orders and removes all challenges. Only for a relay that has the database to itself. */
export const releaseOrders = write(async (db): Promise<void> => {
  await db.updateTable('acme_orders').set({ held_until: 0 }).execute();
  await db.deleteFrom('acme_challenges').execute();
});

/** @param now wall time in ms */
export const putChallenge = write((db, challenge: ChallengeRecord, now: number): Promise<void> => {
  const row = rowOf(challenge);
  return db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('acme_challenges').where('expires_at', '<=', now).execute();
    await transaction
      .insertInto('acme_challenges')
      .values(row)
      .onConflict((conflict) => conflict.column('token').doUpdateSet(row))
      .execute();
  });
});

export const removeChallenge = write(async (db, token: string): Promise<void> => {
  await db.deleteFrom('acme_challenges').where('token', '=', token).execute();
});

/** @param now wall time in ms */
export const findChallenges = read(
  async (db, type: ChallengeType, host: string, now: number): Promise<ChallengeRecord[]> => {
    const rows = await db
      .selectFrom('acme_challenges')
      .selectAll()
      .where('host', '=', host)
      .where('type', '=', type)
      .where('expires_at', '>', now)
      .orderBy('token')
      .execute();
    return rows.map(challengeOf);
  },
);

/** @param now wall time in ms */
export const listChallenges = read(
  async (db, type: ChallengeType, now: number): Promise<ChallengeRecord[]> => {
    const rows = await db
      .selectFrom('acme_challenges')
      .selectAll()
      .where('type', '=', type)
      .where('expires_at', '>', now)
      .orderBy('token')
      .execute();
    return rows.map(challengeOf);
  },
);

/** Serializes relays that begin orders at the same time. */
async function takeTurns(transaction: Kysely<Database>): Promise<void> {
  await transaction
    .selectFrom('acme_accounts')
    .select(sql<number>`1`.as('one'))
    .forUpdate()
    .execute();
}
