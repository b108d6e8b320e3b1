/** Queries on domains, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import type { DomainOwner, DomainRecord } from '../records.ts';
import { type Database, reader, rowOf } from '../schema.ts';
import { ConflictError, FullError } from '../store-errors.ts';
import { raiseAccessRevision } from './account-queries.ts';
import { forgetCertificates } from './certificate-queries.ts';
import { endDomain } from './ending-queries.ts';
import { type DomainRelease, releaseTunnelsOf } from './tunnel-queries.ts';
import { read, write } from './operation.ts';

const domainOf = reader<DomainRecord>({ without: ['check_at'] });
const ownerOf = reader<DomainOwner>();

/**
 * Stores a new claim of an account.
 *
 * @param maxDomains limit of the account, including this claim; `null`: unlimited
 * @returns the claim that the account now has: this one, or an earlier one for the same domain
 * @throws FullError
 */
export const insertDomain = write(
  (db, claim: DomainRecord, maxDomains: number | null): Promise<DomainRecord> => {
    const { accountId, domain } = claim;
    return db.transaction().execute(async (transaction) => {
      // Relays take turns with an account.
      await transaction.selectFrom('accounts').select('id').where('id', '=', accountId).forUpdate().execute();
      const claims = await domainsOf(transaction, accountId);
      const earlier = claims.find((other) => other.domain === domain);
      if (earlier !== undefined) return earlier;
      if (maxDomains !== null && claims.length >= maxDomains) throw new FullError(0);
      await transaction
        .insertInto('domains')
        .values({ ...rowOf(claim), verified_at: null, failing_since: null, check_at: null })
        .execute();
      return claim;
    });
  },
);

/** Lists the domains of an account, oldest first. */
export const domainsOf = read(async (db, accountId: string): Promise<DomainRecord[]> => {
  const rows = await db
    .selectFrom('domains')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('domain')
    .execute();
  return rows.map(domainOf);
});

/** Finds the claim of the account that has verified the domain. */
export const verifiedClaim = read(async (db, domain: string): Promise<DomainRecord | undefined> => {
  const row = await verified(db).selectAll().where('domain', '=', domain).executeTakeFirst();
  return row && domainOf(row);
});

/** Finds those of the domains that are verified, in any order. */
export const findVerifiedDomains = read(async (db, domains: readonly string[]): Promise<DomainOwner[]> => {
  if (domains.length === 0) return [];
  const rows = await verified(db).select(['domain', 'account_id']).where('domain', 'in', domains).execute();
  return rows.map(ownerOf);
});

/**
 * Reads all verified domains in batches, ordered by domain.
 *
 * @param after the last domain of the previous batch; `''` for the first batch
 */
export const verifiedDomains = read(async (db, after: string, limit: number): Promise<DomainOwner[]> => {
  const rows = await verified(db)
    .select(['domain', 'account_id'])
    .where('domain', '>', after)
    .orderBy('domain')
    .limit(limit)
    .execute();
  return rows.map(ownerOf);
});

function verified(db: Kysely<Database>) {
  return db.selectFrom('domains').where('verified_at', 'is not', null);
}

/** A domain that is verified. */
interface Verification extends DomainRelease {
  readonly id: string;
  /** id of the claim that was verified until now; `null` for none */
  readonly instead: string | null;
  /** when it is looked at again, wall time in ms */
  readonly checkAt: number;
}

/**
 * Makes a domain an account's own. The previous owner loses it, and their tunnels with this domain end.
 *
 * @returns the ids of the ended tunnels; `undefined` if the claim no longer exists
 * @throws ConflictError `domain` if another account has verified it in the meantime
 */
export const verifyDomain = write(
  (db, { id, instead, checkAt, ...release }: Verification): Promise<readonly string[] | undefined> =>
    db.transaction().execute(async (transaction) => {
      const claim = await transaction
        .selectFrom('domains')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirst();
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
    }),
);

/** Which domain is to go. */
interface DomainToRemove {
  readonly id: string;
  readonly accountId: string;
  /** only if it has been failing since then, wall time in ms */
  readonly failingSince?: number;
}

/**
 * Removes a domain with its tunnels, and with its certificate unless another account has verified the domain.
 *
 * @returns the ids of the tunnels; `undefined` if there is no such domain
 */
export const removeDomain = write(
  (
    db,
    { id, accountId, failingSince }: DomainToRemove,
    release: DomainRelease,
  ): Promise<readonly string[] | undefined> =>
    db.transaction().execute(async (transaction) => {
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
    }),
);

/** Removes claims that were created until this wall time in ms and never verified. */
export const forgetClaims = write(async (db, until: number): Promise<void> => {
  await db.deleteFrom('domains').where('verified_at', 'is', null).where('created_at', '<=', until).execute();
});

/**
 * Claims verified domains that are due for a check. No other relay gets them before `again`.
 *
 * @param now wall time in ms
 * @param again wall time in ms
 */
export const takeDueDomains = write(
  async (db, now: number, again: number, limit: number): Promise<DomainRecord[]> => {
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
      return rows.map(domainOf);
    });
  },
);

/**
 * Stores the result of checking a verified domain.
 *
 * @param failingSince see {@link DomainRecord}
 * @param checkAt wall time in ms of the next check; `null` leaves it unchanged
 */
export const noteDomain = write(
  async (db, id: string, failingSince: number | null, checkAt: number | null): Promise<void> => {
    await db
      .updateTable('domains')
      .set({ failing_since: failingSince, ...(checkAt !== null && { check_at: checkAt }) })
      .where('id', '=', id)
      .where('verified_at', 'is not', null)
      .execute();
  },
);
