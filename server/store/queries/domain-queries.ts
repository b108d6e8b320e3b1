/** Queries on domains, in SQL that every supported database understands. */
import type { Kysely, Selectable } from 'kysely';
import type { DomainOwner, DomainRecord } from '../records.ts';
import type { Database, DomainsTable } from '../schema.ts';
import type { DomainRelease, DomainToRemove, Verification } from '../parameters.ts';
import { ConflictError, FullError } from '../store-errors.ts';
import { raiseAccessRevision } from './account-queries.ts';
import { forgetCertificates } from './certificate-queries.ts';
import { endDomain } from './ending-queries.ts';
import { releaseTunnelsOf } from './tunnel-queries.ts';

/** See {@link Store.insertDomain}. */
export function insertDomain(
  db: Kysely<Database>,
  claim: DomainRecord,
  maxDomains: number | null,
): Promise<DomainRecord> {
  const { id, accountId, domain, proof, createdAt } = claim;
  return db.transaction().execute(async (transaction) => {
    // Relays take turns with an account.
    await transaction.selectFrom('accounts').select('id').where('id', '=', accountId).forUpdate().execute();
    const claims = await domainsOf(transaction, accountId);
    const earlier = claims.find((other) => other.domain === domain);
    if (earlier !== undefined) return earlier;
    if (maxDomains !== null && claims.length >= maxDomains) throw new FullError(0);
    await transaction
      .insertInto('domains')
      .values({
        id,
        account_id: accountId,
        domain,
        proof,
        created_at: createdAt,
        verified_at: null,
        failing_since: null,
        check_at: null,
      })
      .execute();
    return claim;
  });
}

/** See {@link Store.domainsOf}. */
export async function domainsOf(db: Kysely<Database>, accountId: string): Promise<DomainRecord[]> {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('domain')
    .execute();
  return rows.map(toRecord);
}

/** See {@link Store.verifiedClaim}. */
export async function verifiedClaim(db: Kysely<Database>, domain: string): Promise<DomainRecord | undefined> {
  const row = await verified(db).selectAll().where('domain', '=', domain).executeTakeFirst();
  return row && toRecord(row);
}

/** See {@link Store.findVerifiedDomains}. */
export async function findVerifiedDomains(
  db: Kysely<Database>,
  domains: readonly string[],
): Promise<DomainOwner[]> {
  if (domains.length === 0) return [];
  const rows = await verified(db).select(['domain', 'account_id']).where('domain', 'in', domains).execute();
  return rows.map(toOwner);
}

/** See {@link Store.verifiedDomains}. */
export async function verifiedDomains(
  db: Kysely<Database>,
  after: string,
  limit: number,
): Promise<DomainOwner[]> {
  const rows = await verified(db)
    .select(['domain', 'account_id'])
    .where('domain', '>', after)
    .orderBy('domain')
    .limit(limit)
    .execute();
  return rows.map(toOwner);
}

function verified(db: Kysely<Database>) {
  return db.selectFrom('domains').where('verified_at', 'is not', null);
}

/** See {@link Store.verifyDomain}. */
export function verifyDomain(
  db: Kysely<Database>,
  { id, instead, checkAt, ...release }: Verification,
): Promise<readonly string[] | undefined> {
  return db.transaction().execute(async (transaction) => {
    const claim = await transaction.selectFrom('domains').selectAll().where('id', '=', id).executeTakeFirst();
    if (claim === undefined) return undefined;
    const before = await transaction
      .deleteFrom('domains')
      .where('domain', '=', claim.domain)
      .where('verified_at', 'is not', null)
      .where('id', '=', instead)
      .returning(['id', 'account_id'])
      .executeTakeFirst();
    if (before !== undefined) await endDomain(transaction, before, release.now);
    const ended =
      before === undefined
        ? []
        : await releaseTunnelsOf(
            transaction,
            { domain: claim.domain, accountId: before.account_id },
            release,
          );
    if (before !== undefined) await raiseAccessRevision(transaction);
    const holder = await verifiedClaim(transaction, claim.domain);
    if (holder !== undefined && holder.id !== id) throw new ConflictError('domain');
    const { numUpdatedRows } = await transaction
      .updateTable('domains')
      .set({ verified_at: claim.verified_at ?? release.now, failing_since: null, check_at: checkAt })
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 0n ? undefined : ended;
  });
}

/** See {@link Store.removeDomain}. */
export function removeDomain(
  db: Kysely<Database>,
  { id, accountId, failingSince }: DomainToRemove,
  release: DomainRelease,
): Promise<readonly string[] | undefined> {
  return db.transaction().execute(async (transaction) => {
    const removal = transaction
      .deleteFrom('domains')
      .where('id', '=', id)
      .where('account_id', '=', accountId);
    const row = await (
      failingSince === undefined ? removal : removal.where('failing_since', '=', failingSince)
    )
      .returning(['id', 'account_id', 'domain', 'verified_at'])
      .executeTakeFirst();
    if (row === undefined) return undefined;
    if (row.verified_at !== null) {
      await endDomain(transaction, row, release.now);
      await raiseAccessRevision(transaction);
    }
    await forgetCertificates(transaction, [row.domain]);
    return await releaseTunnelsOf(transaction, { domain: row.domain, accountId }, release);
  });
}

/** See {@link Store.forgetClaims}. */
export async function forgetClaims(db: Kysely<Database>, until: number): Promise<void> {
  await db.deleteFrom('domains').where('verified_at', 'is', null).where('created_at', '<=', until).execute();
}

/** See {@link Store.takeDueDomains}. */
export async function takeDueDomains(
  db: Kysely<Database>,
  now: number,
  again: number,
  limit: number,
): Promise<DomainRecord[]> {
  return await db.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('domains')
      .selectAll()
      .where('check_at', '<=', now)
      .orderBy('check_at')
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .execute();
    const ids = rows.map(({ id }) => id);
    if (ids.length > 0)
      await transaction.updateTable('domains').set({ check_at: again }).where('id', 'in', ids).execute();
    return rows.map(toRecord);
  });
}

/** See {@link Store.noteDomain}. */
export async function noteDomain(
  db: Kysely<Database>,
  id: string,
  failingSince: number | null,
  checkAt: number | null,
): Promise<void> {
  await db
    .updateTable('domains')
    .set({ failing_since: failingSince, ...(checkAt !== null && { check_at: checkAt }) })
    .where('id', '=', id)
    .where('verified_at', 'is not', null)
    .execute();
}

function toRecord(row: Selectable<DomainsTable>): DomainRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    domain: row.domain,
    proof: row.proof,
    createdAt: row.created_at,
    verifiedAt: row.verified_at,
    failingSince: row.failing_since,
  };
}

function toOwner({ domain, account_id }: { domain: string; account_id: string }): DomainOwner {
  return { domain, accountId: account_id };
}
