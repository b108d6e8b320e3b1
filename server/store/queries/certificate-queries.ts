/** Queries on certificates and their orders, in SQL that every supported database understands. */
import { type Insertable, type Kysely, type Selectable, sql } from 'kysely';
import { ORDER_RETRY_MAX_MS } from '../../limits.ts';
import type {
  AcmeAccountRecord,
  CertificateRecord,
  CertificateSummary,
  ChallengeRecord,
  ChallengeType,
} from '../records.ts';
import type { AcmeChallengesTable, CertificatesTable, Database } from '../schema.ts';
import type { OrderBegin, OrderTurn } from '../parameters.ts';

const HOUR_MS = 3_600_000;

/** See {@link Store.acmeAccount}. */
export async function acmeAccount(
  db: Kysely<Database>,
  { directory, key, url }: AcmeAccountRecord,
  now: number,
): Promise<AcmeAccountRecord> {
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
}

/** See {@link Store.setAcmeAccount}. */
export async function setAcmeAccount(
  db: Kysely<Database>,
  { directory, key, url }: AcmeAccountRecord,
): Promise<void> {
  await db.updateTable('acme_accounts').set({ key, url }).where('directory', '=', directory).execute();
}

/** See {@link Store.certificateSummaries}. */
export async function certificateSummaries(
  db: Kysely<Database>,
  since: number,
): Promise<CertificateSummary[]> {
  const rows = await db
    .selectFrom('certificates')
    .select(['name', 'renew_at', 'not_after', 'stored_at'])
    .where('stored_at', '>=', since)
    .orderBy('name')
    .execute();
  return rows.map(summaryOf);
}

/** See {@link Store.findCertificate}. */
export async function findCertificate(
  db: Kysely<Database>,
  name: string,
): Promise<CertificateRecord | undefined> {
  const row = await db.selectFrom('certificates').selectAll().where('name', '=', name).executeTakeFirst();
  return row && { ...summaryOf(row), chain: row.chain, key: row.key };
}

/** See {@link Store.removeCertificates}. */
export async function removeCertificates(db: Kysely<Database>, endedBefore: number): Promise<string[]> {
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
}

/** See {@link Store.forgetCertificates}. In the transaction that removes domains, a key goes with its domain. */
export async function forgetCertificates(db: Kysely<Database>, domains: readonly string[]): Promise<void> {
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
}

/** See {@link Store.beginOrder}. */
export function beginOrder(db: Kysely<Database>, begin: OrderBegin): Promise<OrderTurn> {
  const { name, now, heldUntil, ignoreWait } = begin;
  return db.transaction().execute(async (transaction) => {
    await takeTurns(transaction);
    const stored = await transaction
      .selectFrom('certificates')
      .select('renew_at')
      .where('name', '=', name)
      .executeTakeFirst();
    if (stored !== undefined && stored.renew_at > now) return { kind: 'stored' };
    const order = await transaction
      .selectFrom('acme_orders')
      .selectAll()
      .where('name', '=', name)
      .executeTakeFirst();
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
}

/** See {@link Store.beginFurtherOrder}. */
export function beginFurtherOrder(db: Kysely<Database>, begin: OrderBegin): Promise<OrderTurn> {
  return db.transaction().execute(async (transaction) => {
    await takeTurns(transaction);
    return await takeRoom(transaction, begin);
  });
}

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

/** See {@link Store.failOrder}. */
export async function failOrder(
  db: Kysely<Database>,
  name: string,
  failures: number,
  retryAt: number,
): Promise<void> {
  await db
    .updateTable('acme_orders')
    .set({ failures, retry_at: retryAt, held_until: 0 })
    .where('name', '=', name)
    .execute();
}

/** See {@link Store.storeCertificate}. */
export function storeCertificate(
  db: Kysely<Database>,
  certificate: CertificateRecord,
  retryAt: number,
): Promise<void> {
  const row = rowOf(certificate);
  return db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('certificates')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
      .execute();
    await failOrder(transaction, certificate.name, 0, retryAt);
  });
}

/** See {@link Store.releaseOrders}. */
export async function releaseOrders(db: Kysely<Database>): Promise<void> {
  await db.updateTable('acme_orders').set({ held_until: 0 }).execute();
  await db.deleteFrom('acme_challenges').execute();
}

/** See {@link Store.putChallenge}. */
export function putChallenge(db: Kysely<Database>, challenge: ChallengeRecord, now: number): Promise<void> {
  const { type, host, token, keyAuthorization, expiresAt } = challenge;
  const row = { type, host, token, key_authorization: keyAuthorization, expires_at: expiresAt };
  return db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('acme_challenges').where('expires_at', '<=', now).execute();
    await transaction
      .insertInto('acme_challenges')
      .values(row)
      .onConflict((conflict) => conflict.column('token').doUpdateSet(row))
      .execute();
  });
}

/** See {@link Store.removeChallenge}. */
export async function removeChallenge(db: Kysely<Database>, token: string): Promise<void> {
  await db.deleteFrom('acme_challenges').where('token', '=', token).execute();
}

/** See {@link Store.findChallenges}. */
export async function findChallenges(
  db: Kysely<Database>,
  type: ChallengeType,
  host: string,
  now: number,
): Promise<ChallengeRecord[]> {
  const rows = await db
    .selectFrom('acme_challenges')
    .selectAll()
    .where('host', '=', host)
    .where('type', '=', type)
    .where('expires_at', '>', now)
    .orderBy('token')
    .execute();
  return rows.map(challengeOf);
}

/** See {@link Store.listChallenges}. */
export async function listChallenges(
  db: Kysely<Database>,
  type: ChallengeType,
  now: number,
): Promise<ChallengeRecord[]> {
  const rows = await db
    .selectFrom('acme_challenges')
    .selectAll()
    .where('type', '=', type)
    .where('expires_at', '>', now)
    .orderBy('token')
    .execute();
  return rows.map(challengeOf);
}

/** Relays that begin orders at the same time do so one after the other. */
async function takeTurns(transaction: Kysely<Database>): Promise<void> {
  await transaction
    .selectFrom('acme_accounts')
    .select(sql<number>`1`.as('one'))
    .forUpdate()
    .execute();
}

function summaryOf(row: Omit<Selectable<CertificatesTable>, 'chain' | 'key'>): CertificateSummary {
  return { name: row.name, renewAt: row.renew_at, notAfter: row.not_after, storedAt: row.stored_at };
}

function rowOf(certificate: CertificateRecord): Insertable<CertificatesTable> {
  const { name, chain, key, renewAt, notAfter, storedAt } = certificate;
  return { name, chain, key, renew_at: renewAt, not_after: notAfter, stored_at: storedAt };
}

function challengeOf(row: Selectable<AcmeChallengesTable>): ChallengeRecord {
  const { type, host, token, key_authorization: keyAuthorization, expires_at: expiresAt } = row;
  return { type, host, token, keyAuthorization, expiresAt };
}
