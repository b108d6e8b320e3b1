/**
 * Queries that change a tunnel while it lives, in SQL that every supported database understands. Running relays apply
 * the operator's actions, because each raises the revision that they watch.
 */
import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import {
  latestUses,
  type OwnedTunnel,
  type StoredAccess,
  type StoredKnocks,
  type TokenUse,
  type TunnelOrders,
  type TunnelRecord,
} from '../records.ts';
import type { Database, TunnelsTable } from '../schema.ts';
import { raiseAccessRevision } from './account-queries.ts';
import { mustBeFreeForTunnel } from './namespace.ts';
import { act, actAlways, actEnding, inTransaction, write, read } from './operation.ts';
import {
  lockTunnels,
  readAccess,
  readTokenUses,
  writtenAccess,
  writtenTokenUses,
  findTunnel,
  type ReleasedTunnel,
  releaseIn,
} from './tunnel-queries.ts';

/** @limit How long the relay remembers that an operator closed a tunnel: a relay learns of it within a second. */
export const CLOSED_TUNNELS_KEPT_MS = 3_600_000;

/** Moves an expiry later, never earlier, so that writes may arrive in any order. */
export const raiseExpiry = actAlways(async (db, id: string, expiresAt: number): Promise<void> => {
  await db
    .updateTable('tunnels')
    .set((column) => ({ expires_at: later(column, expiresAt) }))
    .where('id', '=', id)
    .execute();
});

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

/** True for the tunnels within reach. */
function within(reach: Reach) {
  return reach === 'any' ? sql<boolean>`1 = 1` : sql<boolean>`tunnels.by_agent = 1`;
}

/**
 * Moves an expiry later by `extension.by`, counted from the latest expiry that any relay has stored.
 *
 * @returns the new expiry; `undefined` if it would be beyond the latest allowed, or there is no such tunnel within reach
 */
export const extendExpiry = act(
  async (db, id: string, { by, from, latest, reach }: Extension): Promise<number | undefined> => {
    const row = await db
      .updateTable('tunnels')
      .set((column) => ({ expires_at: sql`${later(column, from)} + ${bigint(by)}` }))
      .where('id', '=', id)
      .where(within(reach))
      .where('expires_at', '<=', latest - by)
      .returning('expires_at')
      .executeTakeFirst();
    return row?.expires_at;
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
  (
    db,
    id: string,
    wanted: NewAccess,
    reach: Reach,
  ): Promise<(AccessChange & { readonly takesAway: boolean }) | undefined> =>
    inTransaction(db, async (transaction) => {
      const before = await lockAccess(transaction, id);
      const access = withKeptTokens(before, wanted);
      const row = await transaction
        .updateTable('tunnels')
        .set(({ eb }) => ({
          access: writtenAccess(access),
          access_revision: eb('access_revision', '+', 1),
        }))
        .where('id', '=', id)
        .where(within(reach))
        .returning('access_revision')
        .executeTakeFirst();
      return row && { access, accessRevision: row.access_revision, takesAway: takesAway(before, access) };
    }),
  (_args, change) => change?.takesAway === true,
);

/** Keeps others from changing the access policy until the transaction ends: a revoked token must not come back. */
async function lockAccess(transaction: Kysely<Database>, id: string): Promise<StoredAccess | null> {
  const row = await transaction
    .selectFrom('tunnels')
    .select('access')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return readAccess(row?.access ?? null);
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
  const { basic, password, links, knock, tokens } = access;
  return [
    ...basic.map(({ user }) => `basic ${user}`),
    ...tokens.map(({ hash }) => `token ${hash}`),
    ...(password === null ? [] : ['password']),
    ...(links ? ['links'] : []),
    ...(knock ? ['knock'] : []),
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
  (
    db,
    id: string,
    { localPort, ttl, idle, expiresAt, wildcard, createdKey, createdBy, byAgent }: TunnelTerms,
    wanted: NewAccess,
    { now, nameHold }: TakeOver,
  ): Promise<(AccessChange & Pick<TunnelRecord, 'termsRevision'>) | undefined> =>
    inTransaction(db, async (transaction) => {
      const access = withKeptTokens(await lockAccess(transaction, id), wanted);
      const row = await transaction
        .updateTable('tunnels')
        .set(({ eb }) => ({
          local_port: localPort,
          ttl_seconds: ttl,
          idle: idle ? 1 : 0,
          expires_at: expiresAt,
          created_key: createdKey,
          created_by: createdBy,
          by_agent: byAgent ? 1 : 0,
          wildcard: wildcard ? 1 : 0,
          terms_revision: eb('terms_revision', '+', 1),
          access: writtenAccess(access),
          access_revision: eb('access_revision', '+', 1),
        }))
        .where('id', '=', id)
        .where(within(byAgent ? 'by-agent' : 'any'))
        .returning(['slug', 'account_id', 'terms_revision', 'access_revision'])
        .executeTakeFirst();
      if (row === undefined) return undefined;
      if (wildcard) {
        const tunnel = { slug: row.slug, accountId: row.account_id, wildcard };
        await mustBeFreeForTunnel(transaction, tunnel, now, nameHold);
      }
      return { access, accessRevision: row.access_revision, termsRevision: row.terms_revision };
    }),
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
        knocks: JSON.stringify(knocks),
        knocks_revision: eb('knocks_revision', '+', 1),
      }))
      .where('id', '=', id)
      .where('access_revision', '=', accessRevision)
      .where('knocks_revision', '=', knocksRevision)
      .returning('knocks_revision')
      .executeTakeFirst();
    return row?.knocks_revision;
  },
);

/** What a tunnel's traffic has added since it was last stored, and its expiry, which traffic may have moved. */
export type TrafficDelta = Pick<
  TunnelRecord,
  'id' | 'bytesIn' | 'bytesOut' | 'requests' | 'expiresAt' | 'termsRevision'
>;

/** Adds traffic in one transaction. Unknown ids are ignored. */
export const addTraffic = write(async (db, deltas: readonly TrafficDelta[]): Promise<void> => {
  if (deltas.length === 0) return;
  await db.transaction().execute(async (transaction) => {
    await lockTunnels(
      transaction,
      deltas.map(({ id }) => id),
    );
    const delta = sumOf(deltas);
    await transaction
      .updateTable('tunnels')
      .from(delta)
      .set({
        bytes_in: sql`tunnels.bytes_in + delta.bytes_in`,
        bytes_out: sql`tunnels.bytes_out + delta.bytes_out`,
        requests: sql`tunnels.requests + delta.requests`,
        expires_at: sql`case when tunnels.terms_revision = delta.terms_revision and tunnels.expires_at < delta.expires_at
          then delta.expires_at else tunnels.expires_at end`,
      })
      .whereRef('tunnels.id', '=', 'delta.id')
      .execute();
  });
});

/** When tokens of a tunnel were used. */
export interface TokenUses {
  /** of the tunnel */
  readonly id: string;
  readonly uses: readonly TokenUse[];
}

/** Stores when tokens were used, in one transaction. Unknown ids and revoked tokens are ignored. */
export const markTokensUsed = write(async (db, tunnels: readonly TokenUses[]): Promise<void> => {
  if (tunnels.length === 0) return;
  await db.transaction().execute(async (transaction) => {
    const ids = tunnels.map(({ id }) => id);
    await lockTunnels(transaction, ids);
    const rows = await transaction
      .selectFrom('tunnels')
      .select(['id', 'access', 'token_uses'])
      .where('id', 'in', ids)
      .execute();
    for (const { id, access, token_uses } of rows) {
      const news = tunnels.filter((tunnel) => tunnel.id === id).flatMap(({ uses }) => uses);
      const latest = latestUses([...readTokenUses(token_uses), ...news]);
      const uses = [...latest].filter(([hash]) =>
        readAccess(access)?.tokens.some((one) => one.hash === hash),
      );
      await transaction
        .updateTable('tunnels')
        .set({ token_uses: writtenTokenUses(uses) })
        .where('id', '=', id)
        .execute();
    }
  });
});

/** The deltas as a table, one row for each tunnel, so that any number of them takes one statement. */
function sumOf(deltas: readonly TrafficDelta[]) {
  const rows = deltas.map(
    ({ id, bytesIn, bytesOut, requests, expiresAt, termsRevision }) =>
      sql`(${id}, ${bigint(bytesIn)}, ${bigint(bytesOut)}, ${bigint(requests)}, ${bigint(expiresAt)}, ${bigint(termsRevision)})`,
  );
  // Both databases name the columns of a list of values like this.
  return sql<
    Pick<TunnelsTable, 'id' | 'bytes_in' | 'bytes_out' | 'requests' | 'expires_at' | 'terms_revision'>
  >`(
    select column1 as id, sum(column2) as bytes_in, sum(column3) as bytes_out, sum(column4) as requests,
      max(column5) as expires_at, max(column6) as terms_revision
    from (values ${sql.join(rows)}) as given group by column1
  )`.as<'delta'>('delta');
}

function bigint(value: number) {
  return sql`cast(${value} as bigint)`;
}

function later(column: ExpressionBuilder<Database, 'tunnels'>, expiresAt: number) {
  return column
    .case()
    .when('expires_at', '<', expiresAt)
    .then(expiresAt)
    .else(column.ref('expires_at'))
    .end();
}

/**
 * Removes a tunnel, as {@link releaseTunnels} does, and makes the relays that serve it end it.
 *
 * @param now wall time in ms
 * @returns false if there is no such tunnel
 */
export const orderClose = actEnding((db, tunnel: ReleasedTunnel, now: number): Promise<boolean> =>
  inTransaction(db, async (transaction) => {
    const removed = await releaseIn(transaction, [tunnel], now);
    if (!removed.has(tunnel.id)) return false;
    const old = now - CLOSED_TUNNELS_KEPT_MS;
    await transaction.deleteFrom('closed_tunnels').where('closed_at', '<', old).execute();
    await transaction.insertInto('closed_tunnels').values({ id: tunnel.id, closed_at: now }).execute();
    await raiseAccessRevision(transaction);
    return true;
  }),
);

/**
 * Suspends or resumes a tunnel. If it ends while it is suspended, nobody gets its slug or its domain: see
 * {@link suspendedNames}.
 *
 * @param reason `null` to resume the tunnel
 * @returns the tunnel after the change; `undefined` for an unknown id
 */
export const suspendTunnel = actEnding(
  (db, id: string, reason: string | null): Promise<OwnedTunnel | undefined> =>
    inTransaction(db, async (transaction) => {
      await transaction.updateTable('tunnels').set({ suspended: reason }).where('id', '=', id).execute();
      const owned = await findTunnel(transaction, id);
      if (owned !== undefined) await raiseAccessRevision(transaction);
      return owned;
    }),
  ([, reason]) => reason !== null,
);

/** Reads what an operator has decided about tunnels; relays that serve must follow it. */
export const tunnelOrders = read(async (db): Promise<TunnelOrders> => {
  const closed = await db.selectFrom('closed_tunnels').select('id').execute();
  const rows = await db
    .selectFrom('tunnels')
    .select(['id', 'suspended'])
    .where('suspended', 'is not', null)
    .execute();
  return {
    closed: closed.map(({ id }) => id),
    suspended: rows.map(({ id, suspended }) => ({ id, reason: suspended ?? '' })),
  };
});
