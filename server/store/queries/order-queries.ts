/**
 * Queries on what whoever runs the relay says about tunnels, in SQL that every supported database understands. Relays that serve
 * follow, because each raises the revision that they watch.
 */
import type { Kysely } from 'kysely';
import { CLOSED_TUNNELS_KEPT_MS } from '../../limits.ts';
import { raiseAccessRevision } from './account-queries.ts';
import { inTransaction } from './audit-queries.ts';
import type { OwnedTunnel, TunnelOrders } from '../records.ts';
import type { Database } from '../schema.ts';
import { findTunnel, releaseIn } from './tunnel-queries.ts';
import type { ReleasedTunnel } from '../parameters.ts';

/** See {@link Store.orderClose}. */
export function orderClose(db: Kysely<Database>, tunnel: ReleasedTunnel, now: number): Promise<boolean> {
  return inTransaction(db, async (transaction) => {
    const removed = await releaseIn(transaction, [tunnel], now);
    if (!removed.has(tunnel.id)) return false;
    const old = now - CLOSED_TUNNELS_KEPT_MS;
    await transaction.deleteFrom('closed_tunnels').where('closed_at', '<', old).execute();
    await transaction.insertInto('closed_tunnels').values({ id: tunnel.id, closed_at: now }).execute();
    await raiseAccessRevision(transaction);
    return true;
  });
}

/** See {@link Store.suspendTunnel}. */
export function suspendTunnel(
  db: Kysely<Database>,
  id: string,
  reason: string | null,
): Promise<OwnedTunnel | undefined> {
  return inTransaction(db, async (transaction) => {
    await transaction.updateTable('tunnels').set({ suspended: reason }).where('id', '=', id).execute();
    const owned = await findTunnel(transaction, id);
    if (owned !== undefined) await raiseAccessRevision(transaction);
    return owned;
  });
}

/** See {@link Store.tunnelOrders}. */
export async function tunnelOrders(db: Kysely<Database>): Promise<TunnelOrders> {
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
}
