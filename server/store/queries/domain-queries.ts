/** Queries on domains, in SQL that every supported database understands. */
import type { DomainOwner, DomainRecord } from '../records.ts';
import { ConflictError, FullError } from '../store-errors.ts';
import { lockAccount, raiseAccessRevision } from './account-queries.ts';
import { forgetCertificates } from './certificate-queries.ts';
import { endDomain } from './ending-queries.ts';
import { type DomainRelease, releaseTunnelsOf } from './tunnel-queries.ts';
import { change, type Db, read, write } from './operation.ts';

/**
 * Stores a new claim of an account.
 *
 * @param maxDomains limit of the account, including this claim; `null`: unlimited
 * @returns the claim that the account now has: this one, or an earlier one for the same domain
 * @throws FullError
 */
export const insertDomain = change(
  async (db, claim: DomainRecord, maxDomains: number | null): Promise<DomainRecord> => {
    const { accountId, domain } = claim;
    await lockAccount(db, 'id', accountId);
    const claims = await domainsOf(db, accountId);
    const earlier = claims.find((other) => other.domain === domain);
    if (earlier !== undefined) return earlier;
    if (maxDomains !== null && claims.length >= maxDomains) throw new FullError(0);
    await db.insertInto('domains').values(claim).execute();
    return claim;
  },
);

/** Lists the domains of an account, oldest first. */
export const domainsOf = read((db, accountId: string): Promise<DomainRecord[]> =>
  db
    .selectFrom('domains')
    .selectAll()
    .where('accountId', '=', accountId)
    .orderBy('createdAt')
    .orderBy('domain')
    .execute(),
);

/** Finds the claim of the account that has verified the domain. */
export const verifiedClaim = read((db, domain: string): Promise<DomainRecord | undefined> =>
  verified(db).selectAll().where('domain', '=', domain).executeTakeFirst(),
);

/** Finds those of the domains that are verified, in any order. */
export const findVerifiedDomains = read(async (db, domains: readonly string[]): Promise<DomainOwner[]> =>
  domains.length === 0
    ? []
    : await verified(db).select(['domain', 'accountId']).where('domain', 'in', domains).execute(),
);

/**
 * Reads all verified domains in batches, ordered by domain.
 *
 * @param after the last domain of the previous batch; `''` for the first batch
 */
export const verifiedDomains = read((db, after: string, limit: number): Promise<DomainOwner[]> =>
  verified(db)
    .select(['domain', 'accountId'])
    .where('domain', '>', after)
    .orderBy('domain')
    .limit(limit)
    .execute(),
);

function verified(db: Db) {
  return db.selectFrom('domains').where('verifiedAt', 'is not', null);
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
export const verifyDomain = change(
  async (db, { id, instead, checkAt, ...release }: Verification): Promise<readonly string[] | undefined> => {
    const claim = await db.selectFrom('domains').selectAll().where('id', '=', id).executeTakeFirst();
    if (claim === undefined) return undefined;
    const before = await db
      .deleteFrom('domains')
      .where('domain', '=', claim.domain)
      .where('verifiedAt', 'is not', null)
      .where('id', '=', instead)
      .returningAll()
      .executeTakeFirst();
    const ended = before === undefined ? [] : await endClaim(db, before, release);
    const holder = await verifiedClaim(db, claim.domain);
    if (holder !== undefined && holder.id !== id) throw new ConflictError('domain');
    const { numUpdatedRows } = await db
      .updateTable('domains')
      .set({ verifiedAt: claim.verifiedAt ?? release.now, failingSince: null, checkAt })
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 0n ? undefined : ended;
  },
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
export const removeDomain = change(
  async (
    db,
    { id, accountId, failingSince }: DomainToRemove,
    release: DomainRelease,
  ): Promise<readonly string[] | undefined> => {
    const removal = db.deleteFrom('domains').where('id', '=', id).where('accountId', '=', accountId);
    const claim = await (
      failingSince === undefined ? removal : removal.where('failingSince', '=', failingSince)
    )
      .returningAll()
      .executeTakeFirst();
    if (claim === undefined) return undefined;
    await forgetCertificates(db, [claim.domain]);
    return await endClaim(db, claim, release);
  },
);

/**
 * To be called when the claim is removed.
 *
 * @returns the ids of its tunnels, which have ended
 */
async function endClaim(db: Db, claim: DomainRecord, release: DomainRelease): Promise<string[]> {
  if (claim.verifiedAt !== null) await endDomain(db, claim, release.now);
  const ended = await releaseTunnelsOf(db, claim, release);
  if (claim.verifiedAt !== null) await raiseAccessRevision(db);
  return ended;
}

/** Removes claims that were created until this wall time in ms and never verified. */
export const forgetClaims = write(async (db, until: number): Promise<void> => {
  await db.deleteFrom('domains').where('verifiedAt', 'is', null).where('createdAt', '<=', until).execute();
});

/**
 * Claims verified domains that are due for a check. No other relay gets them before `again`.
 *
 * @param now wall time in ms
 * @param again wall time in ms
 */
export const takeDueDomains = change(
  async (db, now: number, again: number, limit: number): Promise<DomainRecord[]> => {
    const due = await db
      .selectFrom('domains')
      .selectAll()
      .where('checkAt', '<=', now)
      .orderBy('checkAt')
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .execute();
    const ids = due.map(({ id }) => id);
    if (ids.length > 0)
      await db.updateTable('domains').set({ checkAt: again }).where('id', 'in', ids).execute();
    return due;
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
      .set({ failingSince, ...(checkAt !== null && { checkAt }) })
      .where('id', '=', id)
      .where('verifiedAt', 'is not', null)
      .execute();
  },
);
