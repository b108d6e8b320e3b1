/** Queries that change a tunnel while it lives, in SQL that every supported database understands. */
import { type ExpressionBuilder, sql } from 'kysely';
import type { StoredAccess, StoredKnocks, TunnelRecord } from '../records.ts';
import type { Database, TunnelsTable } from '../schema.ts';
import { write } from './operation.ts';
import { lockTunnels, writtenAccess } from './tunnel-queries.ts';

/** Moves an expiry later, never earlier, so that writes may arrive in any order. */
export const raiseExpiry = write(async (db, id: string, expiresAt: number): Promise<void> => {
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
}

/**
 * Moves an expiry later by `extension.by`, counted from the latest expiry that any relay has stored.
 *
 * @returns the new expiry; `undefined` if it would be beyond the latest allowed, or there is no such tunnel
 */
export const extendExpiry = write(
  async (db, id: string, { by, from, latest }: Extension): Promise<number | undefined> => {
    const row = await db
      .updateTable('tunnels')
      .set((column) => ({ expires_at: sql`${later(column, from)} + ${bigint(by)}` }))
      .where('id', '=', id)
      .where('expires_at', '<=', latest - by)
      .returning('expires_at')
      .executeTakeFirst();
    return row?.expires_at;
  },
);

/**
 * Changes the access policy of a tunnel.
 *
 * @returns its new revision; `undefined` if there is no such tunnel
 */
export const setAccess = write(
  async (db, id: string, access: StoredAccess | null): Promise<number | undefined> => {
    const row = await db
      .updateTable('tunnels')
      .set(({ eb }) => ({
        access: writtenAccess(access),
        access_revision: eb('access_revision', '+', 1),
      }))
      .where('id', '=', id)
      .returning('access_revision')
      .executeTakeFirst();
    return row?.access_revision;
  },
);

/** The terms that a client requests for a tunnel when it takes it over. */
export type TunnelTerms = Pick<TunnelRecord, 'localPort' | 'ttl' | 'idle' | 'expiresAt' | 'access'>;

/**
 * Changes the port, the life and the access policy of a tunnel. Its life may end earlier than before.
 *
 * @returns the new revisions; `undefined` if there is no such tunnel
 */
export const setTerms = write(
  async (
    db,
    id: string,
    { localPort, ttl, idle, expiresAt, access }: TunnelTerms,
  ): Promise<Pick<TunnelRecord, 'termsRevision' | 'accessRevision'> | undefined> => {
    const row = await db
      .updateTable('tunnels')
      .set(({ eb }) => ({
        local_port: localPort,
        ttl_seconds: ttl,
        idle: idle ? 1 : 0,
        expires_at: expiresAt,
        terms_revision: eb('terms_revision', '+', 1),
        access: writtenAccess(access),
        access_revision: eb('access_revision', '+', 1),
      }))
      .where('id', '=', id)
      .returning(['terms_revision', 'access_revision'])
      .executeTakeFirst();
    return row && { termsRevision: row.terms_revision, accessRevision: row.access_revision };
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
