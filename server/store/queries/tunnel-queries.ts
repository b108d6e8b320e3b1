/** Queries on tunnels, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import {
  type DomainOwner,
  EXPIRED_GRACE_MS,
  type OwnedTunnel,
  type RevokedLink,
  type StoredAccess,
  type StoredKnocks,
  type TokenUse,
  type TunnelRecord,
} from '../records.ts';
import { type Database, reader, rowOf, type TunnelsTable } from '../schema.ts';
import { ConflictError, FullError } from '../store-errors.ts';
import { ACCOUNT_COLUMNS, accountOfJoin } from './account-queries.ts';
import { ENDED_COLUMNS, endTunnels, mustNotBeSuspended } from './ending-queries.ts';
import { mustBeFreeForTunnel } from './namespace.ts';
import { inTransaction, read, write, actEnding } from './operation.ts';

/** The rules that are checked at the moment a tunnel is stored. */
interface InsertRules {
  /** live tunnels of its account, this one included; `null`: unlimited */
  readonly maxTunnels: number | null;
  /** ms during which the slug of an ended tunnel stays reserved for its account */
  readonly nameHold: number;
}

const UNLIMITED: InsertRules = { maxTunnels: null, nameHold: 0 };

/**
 * Stores a new tunnel. If several relays do this concurrently, only one tunnel gets a slug, and no account exceeds its
 * limit.
 *
 * @param rules nothing is limited without them
 * @throws ConflictError `slug`, which may be an account's subdomain or a host of another account's wildcard tunnel, or
 *   `domain`, if another tunnel has it or a suspended one had it; `claim`, if the domain is not verified for the account; FullError
 */
export const insertTunnel = write(
  (db, tunnel: TunnelRecord, { maxTunnels, nameHold }: InsertRules = UNLIMITED): Promise<void> =>
    db.transaction().execute(async (transaction) => {
      if (maxTunnels !== null) await assertCapacity(transaction, tunnel, maxTunnels);
      if (tunnel.domain !== null) await mustBeVerified(transaction, tunnel.accountId, tunnel.domain);
      if (!(await tryInsert(transaction, tunnel))) {
        await removeStale(transaction, tunnel, nameHold);
        if (!(await tryInsert(transaction, tunnel)))
          throw new ConflictError(await conflictOf(transaction, tunnel));
      }
      await mustNotBeSuspended(transaction, tunnel);
      await mustBeFreeForTunnel(transaction, tunnel, tunnel.createdAt, nameHold);
    }),
);

async function tryInsert(db: Kysely<Database>, tunnel: TunnelRecord): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tunnels')
    .values(toRow(tunnel))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows !== 0n;
}

/** What another tunnel has that a new one wants. */
async function conflictOf(db: Kysely<Database>, { slug }: TunnelRecord): Promise<'slug' | 'domain'> {
  const [other] = await findTunnelsBySlug(db, [slug]);
  return other === undefined ? 'domain' : 'slug';
}

/** Keeps the domain with the account until the transaction ends. */
async function mustBeVerified(db: Kysely<Database>, accountId: string, domain: string): Promise<void> {
  const claim = await db
    .selectFrom('domains')
    .select('id')
    .where('account_id', '=', accountId)
    .where('domain', '=', domain)
    .where('verified_at', 'is not', null)
    .forShare()
    .executeTakeFirst();
  if (claim === undefined) throw new ConflictError('claim');
}

/** Relays take turns with an account that has a limit. */
async function assertCapacity(
  db: Kysely<Database>,
  { accountId, createdAt }: TunnelRecord,
  maxTunnels: number,
): Promise<void> {
  await db.selectFrom('accounts').select('id').where('id', '=', accountId).forUpdate().execute();
  const { count, next } = await db
    .selectFrom('tunnels')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min<number | null>('expires_at').as('next')])
    .where('account_id', '=', accountId)
    .where('expires_at', '>', createdAt)
    .executeTakeFirstOrThrow();
  if (count >= maxTunnels) throw new FullError(next ?? createdAt);
}

/**
 * A relay that died has left it, or nobody was told that it was created. Its own account gets the name back at its end,
 * as the API says; others get it once neither clocks nor traffic that is not stored yet can make it live.
 */
async function removeStale(
  db: Kysely<Database>,
  { slug, domain, accountId, createdAt }: TunnelRecord,
  nameHold: number,
): Promise<void> {
  const removed = await db
    .deleteFrom('tunnels')
    .where((row) => row.or([row('slug', '=', slug), row('domain', '=', domain)]))
    .where((row) =>
      row.or([
        row('expires_at', '<=', createdAt - Math.max(EXPIRED_GRACE_MS, nameHold)),
        row.and([
          row('account_id', '=', accountId),
          row.or([
            row.and([row('idle', '=', 0), row('expires_at', '<=', createdAt)]),
            row('expires_at', '<=', createdAt - EXPIRED_GRACE_MS),
          ]),
        ]),
      ]),
    )
    .returning(ENDED_COLUMNS)
    .execute();
  await endTunnels(db, removed, createdAt);
}

/** Lists the ids of all tunnels, oldest first. */
export const tunnelIds = read(async (db): Promise<string[]> => {
  const rows = await db.selectFrom('tunnels').select('id').orderBy('created_at').execute();
  return rows.map(({ id }) => id);
});

/** Finds those of the tunnels that exist, in any order. */
export const findTunnels = read(async (db, ids: readonly string[]): Promise<OwnedTunnel[]> => {
  if (ids.length === 0) return [];
  const rows = await ownedTunnels(db).where('tunnels.id', 'in', ids).execute();
  return rows.map(toOwned);
});

export const findTunnel = read(async (db, id: string): Promise<OwnedTunnel | undefined> => {
  return (await findTunnels(db, [id]))[0];
});

/** Finds the tunnels that have one of the slugs, in any order. */
export const findTunnelsBySlug = read(async (db, slugs: readonly string[]): Promise<OwnedTunnel[]> => {
  const rows = await ownedTunnels(db).where('tunnels.slug', 'in', slugs).execute();
  return rows.map(toOwned);
});

/** Finds the tunnels that have one of the domains, in any order. */
export const findTunnelsByDomain = read(async (db, domains: readonly string[]): Promise<OwnedTunnel[]> => {
  const rows = await ownedTunnels(db).where('tunnels.domain', 'in', domains).execute();
  return rows.map(toOwned);
});

/** Lists the tunnels of an account, oldest first. */
export const tunnelsOf = read(async (db, accountId: string): Promise<OwnedTunnel[]> => {
  const rows = await ownedTunnels(db)
    .where('tunnels.account_id', '=', accountId)
    .orderBy('tunnels.created_at')
    .execute();
  return rows.map(toOwned);
});

function ownedTunnels(db: Kysely<Database>) {
  return db
    .selectFrom('tunnels')
    .innerJoin('accounts', 'accounts.id', 'tunnels.account_id')
    .selectAll('tunnels')
    .select(ACCOUNT_COLUMNS);
}

function toOwned(row: TunnelsTable & Parameters<typeof accountOfJoin>[0]): OwnedTunnel {
  return { tunnel: toRecord(row), account: accountOfJoin(row) };
}

/** A tunnel that has ended. */
export interface ReleasedTunnel {
  readonly id: string;
  readonly slug: string;
  readonly accountId: string;
  /** wall time in ms until which no other account gets the slug */
  readonly heldUntil: number;
  /** wall time in ms at which it has expired for its relay; if another relay has extended it beyond that, it stays */
  readonly expiredAt?: number;
}

/**
 * Removes tunnels and reserves those of their slugs that are to be held beyond `now`. Unknown ids are ignored.
 *
 * @param now wall time in ms
 * @returns the ids of those that existed
 */
export const releaseTunnels = write(
  async (db, released: readonly ReleasedTunnel[], now: number): Promise<ReadonlySet<string>> => {
    if (released.length === 0) return new Set();
    return await db.transaction().execute((transaction) => releaseIn(transaction, released, now));
  },
);

/**
 * Removes a tunnel that its account closes: see {@link releaseTunnels}.
 *
 * @returns whether it existed
 */
export const closeTunnel = actEnding((db, closed: ReleasedTunnel, now: number): Promise<boolean> =>
  inTransaction(db, async (transaction) => (await releaseIn(transaction, [closed], now)).has(closed.id)),
);

/** The same as a part of a transaction. */
export async function releaseIn(
  transaction: Kysely<Database>,
  released: readonly ReleasedTunnel[],
  now: number,
): Promise<ReadonlySet<string>> {
  const ends = await lockTunnels(
    transaction,
    released.map(({ id }) => id),
  );
  const over = released.filter(
    ({ id, expiredAt }) => expiredAt === undefined || (ends.get(id) ?? Infinity) <= expiredAt,
  );
  const removed = over.map(({ id }) => id).filter((id) => ends.has(id));
  await holdNames(transaction, over, now);
  await deleteTunnels(transaction, removed, now);
  return new Set(removed);
}

/** Tunnels whose time is over and that no relay has ended. */
interface Overdue {
  /** those that expired until this wall time in ms */
  readonly until: number;
  /** wall time in ms */
  readonly now: number;
  /** ms during which the slug of an ended tunnel stays reserved for its account */
  readonly nameHold: number;
  /** how many at most */
  readonly limit: number;
}

/**
 * Removes overdue tunnels and holds their slugs as if they had ended in time. Tunnels that other relays are working on
 * are left to them.
 *
 * @returns how many
 */
export const releaseOverdue = write(async (db, { until, now, nameHold, limit }: Overdue): Promise<number> => {
  return await db.transaction().execute(async (transaction) => {
    const rows = await transaction
      .selectFrom('tunnels')
      .select(['id', 'slug', 'account_id', 'expires_at'])
      .where('expires_at', '<=', until)
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .execute();
    const released = rows.map((row) => ({
      id: row.id,
      slug: row.slug,
      accountId: row.account_id,
      heldUntil: row.expires_at + nameHold,
    }));
    await holdNames(transaction, released, now);
    await deleteTunnels(
      transaction,
      released.map(({ id }) => id),
      now,
    );
    return released.length;
  });
});

/** Side effects of the end of a domain's tunnels. */
export interface DomainRelease {
  /** wall time in ms */
  readonly now: number;
  /** ms during which the slug of an ended tunnel stays reserved for its account */
  readonly nameHold: number;
}

/**
 * Removes the tunnels that have a domain of an account, and holds their slugs.
 *
 * @returns their ids
 */
export async function releaseTunnelsOf(
  transaction: Kysely<Database>,
  { domain, accountId }: DomainOwner,
  { now, nameHold }: DomainRelease,
): Promise<string[]> {
  const rows = await transaction
    .deleteFrom('tunnels')
    .where('domain', '=', domain)
    .where('account_id', '=', accountId)
    .returning(ENDED_COLUMNS)
    .execute();
  await holdNames(
    transaction,
    rows.map(({ id, slug }) => ({ id, slug, accountId, heldUntil: now + nameHold })),
    now,
  );
  await endTunnels(transaction, rows, now);
  return rows.map(({ id }) => id);
}

/** To be called after their names are held: one that is suspended has precedence. */
async function deleteTunnels(db: Kysely<Database>, ids: readonly string[], now: number): Promise<void> {
  if (ids.length === 0) return;
  const rows = await db.deleteFrom('tunnels').where('id', 'in', ids).returning(ENDED_COLUMNS).execute();
  await endTunnels(db, rows, now);
}

async function holdNames(
  db: Kysely<Database>,
  released: readonly ReleasedTunnel[],
  now: number,
): Promise<void> {
  const held = released.filter(({ heldUntil }) => heldUntil > now);
  if (held.length === 0) return;
  await db.deleteFrom('released_names').where('held_until', '<=', now).execute();
  for (const name of inOrder(held)) await holdName(db, name);
}

function inOrder(released: readonly ReleasedTunnel[]): ReleasedTunnel[] {
  return released.toSorted((a, b) => (a.slug < b.slug ? -1 : 1));
}

async function holdName(db: Kysely<Database>, { slug, accountId, heldUntil }: ReleasedTunnel): Promise<void> {
  const holder = { account_id: accountId, held_until: heldUntil };
  await db
    .insertInto('released_names')
    .values({ slug, ...holder })
    .onConflict((conflict) =>
      conflict.column('slug').doUpdateSet(holder).where('released_names.suspended', 'is', null),
    )
    .execute();
}

/**
 * @param now wall time in ms
 * @returns the id of the account that the slug of an ended tunnel is reserved for
 */
export const nameHolder = read(async (db, slug: string, now: number): Promise<string | undefined> => {
  const row = await db
    .selectFrom('released_names')
    .select('account_id')
    .where('slug', '=', slug)
    .where('held_until', '>', now)
    .executeTakeFirst();
  return row?.account_id;
});

/**
 * Several relays write to the same rows: always in this order, so that no two wait for each other.
 *
 * @returns the expiry of those that exist, by id
 */
export async function lockTunnels(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom('tunnels')
    .select(['id', 'expires_at'])
    .where('id', 'in', ids)
    .orderBy('id')
    .forUpdate()
    .execute();
  return new Map(rows.map(({ id, expires_at }) => [id, expires_at]));
}

/** Fields of a tunnel that their columns hold in another form. */
type EncodedField =
  'ttl' | 'idle' | 'wildcard' | 'byAgent' | 'access' | 'revokedLinks' | 'knocks' | 'tokenUses';

function toRow({
  ttl,
  idle,
  wildcard,
  byAgent,
  access,
  revokedLinks,
  knocks,
  tokenUses,
  ...tunnel
}: TunnelRecord): TunnelsTable {
  return {
    ...rowOf(tunnel),
    ttl_seconds: ttl,
    idle: idle ? 1 : 0,
    wildcard: wildcard ? 1 : 0,
    by_agent: byAgent ? 1 : 0,
    access: writtenAccess(access),
    revoked_links: writtenRevoked(revokedLinks),
    knocks: knocks === null ? null : JSON.stringify(knocks),
    token_uses: writtenTokenUses(tokenUses),
  };
}

const unencoded = reader<Omit<TunnelRecord, EncodedField>>({
  without: ['ttl_seconds', 'idle', 'wildcard', 'by_agent', 'access', 'revoked_links', 'knocks', 'token_uses'],
});

function toRecord(row: TunnelsTable): TunnelRecord {
  return Object.assign(unencoded(row), {
    ttl: row.ttl_seconds,
    idle: row.idle === 1,
    wildcard: row.wildcard === 1,
    byAgent: row.by_agent === 1,
    access: readAccess(row.access),
    revokedLinks: readRevoked(row.revoked_links),
    knocks: row.knocks === null ? null : (JSON.parse(row.knocks) as StoredKnocks),
    tokenUses: readTokenUses(row.token_uses),
  });
}

/** The column of a tunnel's access policy. */
export function writtenAccess(access: StoredAccess | null): string | null {
  return access === null ? null : JSON.stringify(access);
}

export function readAccess(written: string | null): StoredAccess | null {
  return written === null ? null : (JSON.parse(written) as StoredAccess);
}

/** The column of the uses of a tunnel's tokens. */
export function writtenTokenUses(uses: readonly TokenUse[]): string | null {
  return uses.length === 0 ? null : JSON.stringify(uses);
}

export function readTokenUses(written: string | null): readonly TokenUse[] {
  return written === null ? [] : (JSON.parse(written) as TokenUse[]);
}

/** The column of a tunnel's revoked links. */
export function writtenRevoked(links: readonly RevokedLink[]): string | null {
  return links.length === 0 ? null : JSON.stringify(links);
}

export function readRevoked(written: string | null): readonly RevokedLink[] {
  return written === null ? [] : (JSON.parse(written) as RevokedLink[]);
}
