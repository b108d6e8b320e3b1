/**
 * Queries that change a tunnel while it lives, in SQL that every supported database understands. Running relays apply
 * the operator's actions, because each raises the revision that they watch.
 */
import { type Expression, sql } from 'kysely';
import {
  latestUses,
  type OwnedTunnel,
  type StoredAccess,
  type StoredKnocks,
  type TokenUse,
  type TunnelOrders,
  type TunnelRecord,
} from '../records.ts';
import { raiseAccessRevision } from './account-queries.ts';
import { removeAgentsAt } from './agent-queries.ts';
import { mustBeFreeForTunnel } from './namespace.ts';
import { act, actEnding, change, type Db, read, write } from './operation.ts';
import { findTunnel, lockTunnels, type ReleasedTunnel, releaseTunnels } from './tunnel-queries.ts';

/** How long the relay remembers that an operator closed a tunnel: a relay learns of it within a second. */
export const CLOSED_TUNNELS_KEPT_MS = 3_600_000;

/** How an expiry is moved, in wall time in ms. */
export interface Extension {
  readonly by: number;
  /** what this relay knows it to be now, stored or not */
  readonly from: number;
  readonly latest: number;
  /** see {@link Reach} */
  readonly reach: Reach;
}

/**
 * Which tunnels a key can change. Checked in the transaction of the change: another relay may have given an agent's tunnel
 * to another key of the account in the meantime.
 */
export type Reach = 'any' | 'by-agent';

/** The change of a tunnel, if it is within reach. */
function updateWithin(db: Db, reach: Reach, id: string) {
  const update = db.updateTable('tunnels').where('id', '=', id);
  return reach === 'any' ? update : update.where('byAgent', '=', true);
}

/**
 * Moves an expiry later by `extension.by`, counted from the latest expiry that any relay has stored.
 *
 * @returns the new expiry; `undefined` if it would be beyond the latest allowed, or there is no such tunnel within reach
 */
export const extendExpiry = act(
  async (db, id: string, { by, from, latest, reach }: Extension): Promise<number | undefined> => {
    const row = await updateWithin(db, reach, id)
      .set({ expiresAt: sql`${later(from)} + ${bigint(by)}` })
      .where(later(from), '<=', latest - by)
      .returning('expiresAt')
      .executeTakeFirst();
    return row?.expiresAt;
  },
);

/** An access policy to store. */
export interface NewAccess {
  /** `null`: none */
  readonly access: StoredAccess | null;
  /** names of tokens: if the tunnel already has one of that name, it keeps that one */
  readonly kept: readonly string[];
}

/** An access policy as it was stored. */
type AccessChange = Pick<TunnelRecord, 'access' | 'accessRevision'>;

/**
 * Changes the access policy of a tunnel.
 *
 * @returns `undefined` if there is no such tunnel within reach
 */
export const setAccess = actEnding(
  async (
    db,
    id: string,
    wanted: NewAccess,
    reach: Reach,
  ): Promise<(AccessChange & { readonly takesAway: boolean }) | undefined> => {
    const before = await lockAccess(db, id);
    const access = withKeptTokens(before, wanted);
    const row = await updateWithin(db, reach, id)
      .set(({ eb }) => ({ access, accessRevision: eb('accessRevision', '+', 1) }))
      .returning(['slug', 'accessRevision'])
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { slug, accessRevision } = row;
    if (access?.oauth !== true) await removeAgentsAt(db, [slug]);
    return { access, accessRevision, takesAway: takesAway(before, access) };
  },
  (_args, changed) => changed?.takesAway === true,
);

/** Keeps others from changing the access policy until the transaction ends: a revoked token must not come back. */
async function lockAccess(db: Db, id: string): Promise<StoredAccess | null> {
  const row = await db
    .selectFrom('tunnels')
    .select('access')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row?.access ?? null;
}

function withKeptTokens(before: StoredAccess | null, { access, kept }: NewAccess): StoredAccess | null {
  if (access === null || kept.length === 0) return access;
  const known = before?.tokens.filter(({ name }) => kept.includes(name)) ?? [];
  const tokens = access.tokens.map((token) => known.find(({ name }) => name === token.name) ?? token);
  return { ...access, tokens };
}

/** Whether a policy gives access in fewer ways, or from fewer addresses, than the previous one, and in no others. */
function takesAway(before: StoredAccess | null, after: StoredAccess | null): boolean {
  const changes = [
    [before?.allow ?? [], after?.allow ?? []],
    [waysOf(before), waysOf(after)],
  ] as const;
  return (
    changes.every(([from, to]) => isWithin(to, from)) && changes.some(([from, to]) => !isWithin(from, to))
  );
}

function waysOf(access: StoredAccess | null): readonly string[] {
  if (access === null) return [];
  const { basic, password, links, knock, tokens, sign_in, oauth } = access;
  return [
    ...basic.map(({ user }) => `basic ${user}`),
    ...tokens.map(({ hash }) => `token ${hash}`),
    ...(password === null ? [] : ['password']),
    ...(links ? ['links'] : []),
    ...(knock ? ['knock'] : []),
    ...sign_in.map((rule) => `sign_in ${rule}`),
    ...(oauth ? ['oauth'] : []),
  ];
}

/** Whether a list, of which an empty one means everything, has nothing that another one has not. */
function isWithin(list: readonly string[], other: readonly string[]): boolean {
  return other.length === 0 || (list.length > 0 && list.every((each) => other.includes(each)));
}

/** The terms that a client requests for a tunnel when it takes it over. */
export type TunnelTerms = Pick<
  TunnelRecord,
  'localPort' | 'ttl' | 'idle' | 'expiresAt' | 'wildcard' | 'createdKey' | 'createdBy' | 'byAgent'
>;

/** The moment of a takeover. */
interface TakeOver {
  /** wall time in ms */
  readonly now: number;
  /** ms during which the slug of an ended tunnel stays reserved for its account */
  readonly nameHold: number;
}

/**
 * Changes the port, the life, the hosts and the access policy of a tunnel. Its life may end earlier than before.
 *
 * @returns the new revisions; `undefined` if there is no such tunnel within reach of the key
 * @throws ConflictError `slug` if one of its hosts, as a wildcard tunnel, is the name of another account
 */
export const setTerms = act(
  async (
    db,
    id: string,
    terms: TunnelTerms,
    wanted: NewAccess,
    { now, nameHold }: TakeOver,
  ): Promise<(AccessChange & Pick<TunnelRecord, 'termsRevision'>) | undefined> => {
    const access = withKeptTokens(await lockAccess(db, id), wanted);
    const row = await updateWithin(db, terms.byAgent ? 'by-agent' : 'any', id)
      .set(({ eb }) => ({
        ...terms,
        termsRevision: eb('termsRevision', '+', 1),
        access,
        accessRevision: eb('accessRevision', '+', 1),
      }))
      .returning(['slug', 'accountId', 'wildcard', 'termsRevision', 'accessRevision'])
      .executeTakeFirst();
    if (row === undefined) return undefined;
    if (access?.oauth !== true) await removeAgentsAt(db, [row.slug]);
    if (row.wildcard) await mustBeFreeForTunnel(db, row, now, nameHold);
    return { access, accessRevision: row.accessRevision, termsRevision: row.termsRevision };
  },
);

/** The revisions of a tunnel when it was read. */
export type KnockRevisions = Pick<TunnelRecord, 'accessRevision' | 'knocksRevision'>;

/**
 * Stores the approval requests of a tunnel, unless another relay has changed them since they were read.
 *
 * @returns their new revision; `undefined` if the revisions differ from those that were read, or there is no such
 *   tunnel
 */
export const setKnocks = write(
  async (
    db,
    id: string,
    knocks: StoredKnocks,
    { accessRevision, knocksRevision }: KnockRevisions,
  ): Promise<number | undefined> => {
    const row = await db
      .updateTable('tunnels')
      .set(({ eb }) => ({
        knocks,
        knocksRevision: eb('knocksRevision', '+', 1),
      }))
      .where('id', '=', id)
      .where('accessRevision', '=', accessRevision)
      .where('knocksRevision', '=', knocksRevision)
      .returning('knocksRevision')
      .executeTakeFirst();
    return row?.knocksRevision;
  },
);

/** What a tunnel's traffic has added since it was last stored, and its expiry, which traffic may have moved. */
export type TrafficDelta = Pick<
  TunnelRecord,
  'id' | 'bytesIn' | 'bytesOut' | 'requests' | 'expiresAt' | 'termsRevision'
>;

/** Adds traffic in one transaction. Unknown ids are ignored. */
export const addTraffic = change(async (db, deltas: readonly TrafficDelta[]): Promise<void> => {
  if (deltas.length === 0) return;
  await lockTunnels(db, deltas);
  await db
    .updateTable('tunnels')
    .from(sumOf(deltas))
    .set(({ eb }) => ({
      bytesIn: eb('tunnels.bytesIn', '+', eb.ref('delta.bytesIn')),
      bytesOut: eb('tunnels.bytesOut', '+', eb.ref('delta.bytesOut')),
      requests: eb('tunnels.requests', '+', eb.ref('delta.requests')),
      expiresAt: eb
        .case()
        .when('tunnels.termsRevision', '=', eb.ref('delta.termsRevision'))
        .then(later(eb.ref('delta.expiresAt')))
        .else(eb.ref('tunnels.expiresAt'))
        .end(),
    }))
    .whereRef('tunnels.id', '=', 'delta.id')
    .execute();
});

/** When tokens of a tunnel were used. */
export interface TokenUses {
  /** of the tunnel */
  readonly id: string;
  readonly uses: readonly TokenUse[];
}

/** Stores when tokens were used, in one transaction. Unknown ids and revoked tokens are ignored. */
export const markTokensUsed = change(async (db, tunnels: readonly TokenUses[]): Promise<void> => {
  if (tunnels.length === 0) return;
  const known = await lockTunnels(db, tunnels);
  const rows = db.selectFrom('tunnels').select(['id', 'access', 'tokenUses']);
  for (const { id, access, tokenUses } of await rows.where('id', 'in', [...known.keys()]).execute()) {
    const news = tunnels.filter((tunnel) => tunnel.id === id).flatMap(({ uses }) => uses);
    const uses = [...latestUses([...tokenUses, ...news])].filter(([hash]) =>
      access?.tokens.some((one) => one.hash === hash),
    );
    await db.updateTable('tunnels').set({ tokenUses: uses }).where('id', '=', id).execute();
  }
});

/** The deltas as a table, one row for each tunnel, so that any number of them takes one statement. */
function sumOf(deltas: readonly TrafficDelta[]) {
  const rows = deltas.map(
    ({ id, bytesIn, bytesOut, requests, expiresAt, termsRevision }) =>
      sql`(${id}, ${bigint(bytesIn)}, ${bigint(bytesOut)}, ${bigint(requests)}, ${bigint(expiresAt)}, ${bigint(termsRevision)})`,
  );
  // Both databases name the columns of a list of values like this.
  return sql<TrafficDelta>`(
    select column1 as id, sum(column2) as "bytesIn", sum(column3) as "bytesOut", sum(column4) as requests,
      max(column5) as "expiresAt", max(column6) as "termsRevision"
    from (values ${sql.join(rows)}) as given group by column1
  )`.as<'delta'>('delta');
}

function bigint(value: number) {
  return sql`cast(${value} as bigint)`;
}

/** The expiry of a tunnel, or a later one. */
function later(expiresAt: number | Expression<number>) {
  return sql<number>`case when tunnels."expiresAt" < ${expiresAt} then ${expiresAt} else tunnels."expiresAt" end`;
}

/**
 * Removes a tunnel, as {@link releaseTunnels} does, and makes the relays that serve it end it.
 *
 * @param now wall time in ms
 * @returns false if there is no such tunnel
 */
export const orderClose = actEnding(async (db, tunnel: ReleasedTunnel, now: number): Promise<boolean> => {
  const removed = await releaseTunnels(db, [tunnel], now);
  if (removed.size === 0) return false;
  const old = now - CLOSED_TUNNELS_KEPT_MS;
  await db.deleteFrom('closed_tunnels').where('closedAt', '<', old).execute();
  await db.insertInto('closed_tunnels').values({ id: tunnel.id, closedAt: now }).execute();
  await raiseAccessRevision(db);
  return true;
});

/**
 * Suspends or resumes a tunnel. If it ends while it is suspended, nobody gets its slug or its domain: see
 * {@link suspendedNames}.
 *
 * @param reason `null` to resume the tunnel
 * @returns the tunnel after the change; `undefined` for an unknown id
 */
export const suspendTunnel = actEnding(
  async (db, id: string, reason: string | null): Promise<OwnedTunnel | undefined> => {
    await db.updateTable('tunnels').set({ suspended: reason }).where('id', '=', id).execute();
    const owned = await findTunnel(db, id);
    if (owned !== undefined) await raiseAccessRevision(db);
    return owned;
  },
  ([, reason]) => reason !== null,
);

/** Reads what an operator has decided about tunnels; relays that serve must follow it. */
export const tunnelOrders = read(async (db): Promise<TunnelOrders> => {
  const closed = await db.selectFrom('closed_tunnels').select('id').execute();
  const suspended = await db
    .selectFrom('tunnels')
    .select(['id', 'suspended as reason'])
    .where('suspended', 'is not', null)
    .$narrowType<{ reason: string }>()
    .execute();
  return { closed: closed.map(({ id }) => id), suspended };
});
