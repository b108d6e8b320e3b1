/** Queries on tunnels, in SQL that every supported database understands. */
import { type DomainOwner, EXPIRED_GRACE_MS, type OwnedTunnel, type TunnelRecord } from '../records.ts';
import { ConflictError, FullError } from '../store-errors.ts';
import { recordIn } from '../schema.ts';
import { lockAccount } from './account-queries.ts';
import { isKept, isResting, removeAgentsAt } from './agent-queries.ts';
import { bySlug, ENDED_COLUMNS, endTunnels, mustNotBeSuspended } from './ending-queries.ts';
import { revokedLinksOf } from './link-queries.ts';
import { mustBeFreeForTunnel } from './namespace.ts';
import { actEnding, change, type Db, read } from './operation.ts';
import { givePort, type PortRules } from './port-queries.ts';

/** The rules that are checked at the moment a tunnel is stored. */
interface InsertRules {
  /** live tunnels of its account, this one included; `null`: unlimited */
  readonly maxTunnels: number | null;
  /** ms during which the slug of an ended tunnel stays reserved for its account */
  readonly nameHold: number;
  /** for a TCP tunnel */
  readonly tcp?: PortRules | undefined;
}

const UNLIMITED: InsertRules = { maxTunnels: null, nameHold: 0 };

/**
 * Stores a new tunnel. If several requests or relays do this concurrently, only one tunnel gets a slug, and no account
 * exceeds its limit.
 *
 * @param rules nothing is limited without them
 * @returns the tunnel, with the links that earlier tunnels of its name have left if the account keeps that
 * @throws FullError; ConflictError `port`, if there is none to have; `claim`, if the account has not claimed the domain, or `verification`, if it has not
 *   verified it; `domain`, if another tunnel has it or a suspended one had it; `slug`, also if it is held for another account, an account's subdomain or a host of
 *   another account's wildcard tunnel
 */
export const insertTunnel = change(
  async (
    db,
    tunnel: TunnelRecord,
    { maxTunnels, nameHold, tcp }: InsertRules = UNLIMITED,
  ): Promise<Pick<OwnedTunnel, 'tunnel' | 'kept'>> => {
    if (tcp !== undefined) await lockAccount(db, 'id', tunnel.accountId);
    if (maxTunnels !== null) await mustHaveRoom(db, tunnel, maxTunnels);
    if (tunnel.domain !== null) await mustBeVerified(db, tunnel.accountId, tunnel.domain);
    if (!(await tryInsert(db, tunnel))) {
      await removeStale(db, tunnel, nameHold);
      if (!(await tryInsert(db, tunnel))) {
        const [other] = await findTunnels(db, 'slug', [tunnel.slug]);
        throw new ConflictError(other === undefined ? 'domain' : 'slug');
      }
    }
    await mustNotBeSuspended(db, tunnel);
    await keepAgents(db, tunnel);
    await mustBeFreeForTunnel(db, tunnel, tunnel.createdAt, nameHold);
    const remotePort = tcp === undefined ? null : await givePort(db, tunnel, tcp);
    return await withLinks(db, { ...tunnel, remotePort });
  },
);

/** The tunnel takes over what links of its kept name are signed for, and which of them were revoked. */
async function withLinks(db: Db, tunnel: TunnelRecord): Promise<Pick<OwnedTunnel, 'tunnel' | 'kept'>> {
  // Of the same account, or it would not be free. Locked, because letting it go ends the links.
  const kept = await db
    .selectFrom('kept_names')
    .selectAll()
    .where('name', '=', tunnel.slug)
    .forShare()
    .executeTakeFirst();
  if (kept === undefined) return { tunnel };
  const { linkScope, linksSince } = kept;
  const revokedLinks = await revokedLinksOf(db, linkScope, tunnel.createdAt);
  const links = { linkScope, linksSince, revokedLinks };
  await db.updateTable('tunnels').set(links).where('id', '=', tunnel.id).execute();
  return { tunnel: { ...tunnel, ...links }, kept };
}

/** Agents of the name stay if it was held or kept for its account, and the tunnel takes agents as the previous one did. */
async function keepAgents(db: Db, tunnel: TunnelRecord): Promise<void> {
  const { slug, accountId, access, createdAt } = tunnel;
  const stays = access?.oauth === true && (await isResting(db, tunnel, createdAt));
  await removeAgentsAt(db, [slug], stays ? accountId : undefined);
}

async function tryInsert(db: Db, tunnel: TunnelRecord): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tunnels')
    .values(tunnel)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows !== 0n;
}

/** Keeps the domain with the account until the transaction ends. */
async function mustBeVerified(db: Db, accountId: string, domain: string): Promise<void> {
  const claim = await db
    .selectFrom('domains')
    .select('verifiedAt')
    .where('accountId', '=', accountId)
    .where('domain', '=', domain)
    .forShare()
    .executeTakeFirst();
  if (claim === undefined) throw new ConflictError('claim');
  if (claim.verifiedAt === null) throw new ConflictError('verification');
}

/** Those who create tunnels take turns with an account that has a limit. */
async function mustHaveRoom(
  db: Db,
  { accountId, createdAt }: TunnelRecord,
  maxTunnels: number,
): Promise<void> {
  await lockAccount(db, 'id', accountId);
  const { count, next } = await db
    .selectFrom('tunnels')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min<number | null>('expiresAt').as('next')])
    .where('accountId', '=', accountId)
    .where('expiresAt', '>', createdAt)
    .executeTakeFirstOrThrow();
  if (count >= maxTunnels) throw new FullError(next ?? createdAt);
}

/**
 * A relay that died has left it, or nobody was told that it was created. Its own account gets the name back at its end,
 * as the API says; others get it once neither clocks nor traffic that is not stored yet can make it live.
 */
async function removeStale(
  db: Db,
  { slug, domain, accountId, createdAt }: TunnelRecord,
  nameHold: number,
): Promise<void> {
  const removed = await db
    .deleteFrom('tunnels')
    .where((row) => row.or([row('slug', '=', slug), row('domain', '=', domain)]))
    .where((row) =>
      row.or([
        row('expiresAt', '<=', createdAt - Math.max(EXPIRED_GRACE_MS, nameHold)),
        row.and([
          row('accountId', '=', accountId),
          row.or([
            row.and([row('idle', '=', false), row('expiresAt', '<=', createdAt)]),
            row('expiresAt', '<=', createdAt - EXPIRED_GRACE_MS),
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
  const rows = await db.selectFrom('tunnels').select('id').orderBy('createdAt').execute();
  return rows.map(({ id }) => id);
});

/** Finds the tunnels that have one of these values, oldest first. */
export const findTunnels = read(
  async (
    db,
    by: 'id' | 'slug' | 'domain' | 'accountId' | 'protocol',
    values: readonly string[],
  ): Promise<OwnedTunnel[]> => {
    if (values.length === 0) return [];
    const rows = await db
      .selectFrom('tunnels')
      .innerJoin('accounts', 'accounts.id', 'tunnels.accountId')
      .leftJoin('kept_names', (join) =>
        join
          .onRef('kept_names.name', '=', 'tunnels.slug')
          .onRef('kept_names.accountId', '=', 'tunnels.accountId'),
      )
      .select([
        ...recordIn('tunnels', 'tunnel'),
        ...recordIn('accounts', 'account'),
        ...recordIn('kept_names', 'kept'),
      ])
      .where(`tunnels.${by}`, 'in', values)
      .orderBy('tunnels.createdAt')
      .execute();
    return rows.map(({ tunnel, account, kept }) =>
      kept.name === null ? { tunnel, account } : { tunnel, account, kept },
    );
  },
);

export const findTunnel = read(
  async (db, id: string): Promise<OwnedTunnel | undefined> => (await findTunnels(db, 'id', [id]))[0],
);

/** A tunnel that has ended. */
export interface ReleasedTunnel extends Pick<TunnelRecord, 'id' | 'slug' | 'accountId'> {
  /** the requested name; `''` or missing for a slug that nobody has chosen */
  readonly name?: string;
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
export const releaseTunnels = change(
  async (db, released: readonly ReleasedTunnel[], now: number): Promise<ReadonlySet<string>> => {
    if (released.length === 0) return new Set();
    const ends = await lockTunnels(db, released);
    const over = released.filter(
      ({ id, expiredAt }) => expiredAt === undefined || (ends.get(id) ?? Infinity) <= expiredAt,
    );
    const ids = over.map(({ id }) => id).filter((id) => ends.has(id));
    // First: a name that is suspended has precedence.
    await holdNames(db, over, now);
    if (ids.length > 0) {
      const removed = db.deleteFrom('tunnels').where('id', 'in', ids).returning(ENDED_COLUMNS);
      await endTunnels(db, await removed.execute(), now);
    }
    return new Set(ids);
  },
);

/**
 * Removes a tunnel that its account closes: see {@link releaseTunnels}.
 *
 * @returns whether it existed
 */
export const closeTunnel = actEnding(
  async (db, closed: ReleasedTunnel, now: number): Promise<boolean> =>
    (await releaseTunnels(db, [closed], now)).size > 0,
);

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
export const releaseOverdue = change(
  async (db, { until, now, nameHold, limit }: Overdue): Promise<number> => {
    const rows = await db
      .selectFrom('tunnels')
      .select(['id', 'slug', 'name', 'accountId', 'expiresAt'])
      .where('expiresAt', '<=', until)
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .execute();
    const released = rows.map((row) => ({ ...row, heldUntil: row.expiresAt + nameHold }));
    return (await releaseTunnels(db, released, now)).size;
  },
);

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
  db: Db,
  { domain, accountId }: DomainOwner,
  { now, nameHold }: DomainRelease,
): Promise<string[]> {
  const removed = await db
    .deleteFrom('tunnels')
    .where('domain', '=', domain)
    .where('accountId', '=', accountId)
    .returning([...ENDED_COLUMNS, 'name'])
    .execute();
  await holdNames(
    db,
    removed.map((tunnel) => ({ ...tunnel, heldUntil: now + nameHold })),
    now,
  );
  await endTunnels(db, removed, now);
  return removed.map(({ id }) => id);
}

/** Reserves those of the slugs that are to be held; agents stay with these and with kept names. */
async function holdNames(db: Db, released: readonly ReleasedTunnel[], now: number): Promise<void> {
  for (const tunnel of released)
    if (tunnel.heldUntil <= now && !(await isKept(db, tunnel))) await removeAgentsAt(db, [tunnel.slug]);
  const names = released.filter(({ heldUntil }) => heldUntil > now).toSorted(bySlug);
  if (names.length === 0) return;
  await db.deleteFrom('released_names').where('heldUntil', '<=', now).execute();
  for (const { slug, name = '', accountId, heldUntil } of names) {
    const held = { accountId, heldUntil, chosen: name !== '' };
    await db
      .insertInto('released_names')
      .values({ slug, ...held })
      .onConflict((conflict) =>
        conflict.column('slug').doUpdateSet(held).where('released_names.suspended', 'is', null),
      )
      .execute();
  }
}

/**
 * Several relays write to the same rows: always in this order, so that no two wait for each other.
 *
 * @returns the expiry of those that exist, by id
 */
export async function lockTunnels(
  db: Db,
  tunnels: readonly Pick<TunnelRecord, 'id'>[],
): Promise<Map<string, number>> {
  const ids = tunnels.map(({ id }) => id);
  const rows = await db
    .selectFrom('tunnels')
    .select(['id', 'expiresAt'])
    .where('id', 'in', ids)
    .orderBy('id')
    .forUpdate()
    .execute();
  return new Map(rows.map(({ id, expiresAt }) => [id, expiresAt]));
}
