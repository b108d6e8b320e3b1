/**
 * Queries on the operator's actions on tunnels, in SQL that every supported database understands. Running relays apply
 * them, because each action raises the revision that they watch.
 */
import { CLOSED_TUNNELS_KEPT_MS } from '../../limits.ts';
import { raiseAccessRevision } from './account-queries.ts';
import type { OwnedTunnel, TunnelOrders } from '../records.ts';
import { findTunnel, type ReleasedTunnel, releaseIn } from './tunnel-queries.ts';
import { act, inTransaction, read } from './operation.ts';

/**
 * Removes a tunnel, as {@link releaseTunnels} does, and makes the relays that serve it end it.
 *
 * @param now wall time in ms
 * @returns false if there is no such tunnel
 */
export const orderClose = act((db, tunnel: ReleasedTunnel, now: number): Promise<boolean> =>
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
export const suspendTunnel = act((db, id: string, reason: string | null): Promise<OwnedTunnel | undefined> =>
  inTransaction(db, async (transaction) => {
    await transaction.updateTable('tunnels').set({ suspended: reason }).where('id', '=', id).execute();
    const owned = await findTunnel(transaction, id);
    if (owned !== undefined) await raiseAccessRevision(transaction);
    return owned;
  }),
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
