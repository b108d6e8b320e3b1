/** Queries on tunnels, in SQL that every supported database understands. */
import type { ExpressionBuilder, Kysely, Selectable } from 'kysely';
import { ACCOUNT_COLUMNS, accountOfJoin } from './account-queries.ts';
import type { Database, TunnelsTable } from './schema.ts';
import {
  ConflictError,
  type OwnedTunnel,
  type ReleasedTunnel,
  type TrafficDelta,
  type TunnelKey,
  type TunnelRecord,
} from './store.ts';

/** See {@link Store.insertTunnel}. */
export async function insertTunnel(db: Kysely<Database>, tunnel: TunnelRecord): Promise<void> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('tunnels')
    .values(toRow(tunnel))
    .onConflict((conflict) => conflict.column('slug').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n) throw new ConflictError('slug');
}

/** See {@link Store.loadTunnels}. */
export async function loadTunnels(db: Kysely<Database>): Promise<OwnedTunnel[]> {
  const rows = await ownedTunnels(db).orderBy('tunnels.created_at').execute();
  return rows.map(toOwned);
}

/** See {@link Store.findTunnel}. */
export async function findTunnel(db: Kysely<Database>, key: TunnelKey): Promise<OwnedTunnel | undefined> {
  const query = ownedTunnels(db);
  const found =
    'id' in key ? query.where('tunnels.id', '=', key.id) : query.where('tunnels.slug', '=', key.slug);
  const row = await found.executeTakeFirst();
  return row && toOwned(row);
}

/** See {@link Store.tunnelsOf}. */
export async function tunnelsOf(db: Kysely<Database>, accountId: string): Promise<OwnedTunnel[]> {
  const rows = await ownedTunnels(db)
    .where('tunnels.account_id', '=', accountId)
    .orderBy('tunnels.created_at')
    .execute();
  return rows.map(toOwned);
}

function ownedTunnels(db: Kysely<Database>) {
  return db
    .selectFrom('tunnels')
    .innerJoin('accounts', 'accounts.id', 'tunnels.account_id')
    .selectAll('tunnels')
    .select(ACCOUNT_COLUMNS);
}

function toOwned(row: Selectable<TunnelsTable> & Parameters<typeof accountOfJoin>[0]): OwnedTunnel {
  return { tunnel: toRecord(row), account: accountOfJoin(row) };
}

/** See {@link Store.releaseTunnels}. */
export async function releaseTunnels(
  db: Kysely<Database>,
  released: readonly ReleasedTunnel[],
  now: number,
): Promise<void> {
  if (released.length === 0) return;
  const held = released.filter(({ heldUntil }) => heldUntil > now);
  if (held.length === 0) return deleteTunnels(db, released);
  await db.transaction().execute(async (transaction) => {
    await deleteTunnels(transaction, released);
    await transaction.deleteFrom('released_names').where('held_until', '<=', now).execute();
    for (const name of held) await holdName(transaction, name);
  });
}

async function deleteTunnels(
  db: Kysely<Database>,
  tunnels: readonly { readonly id: string }[],
): Promise<void> {
  const ids = tunnels.map(({ id }) => id);
  await db.deleteFrom('tunnels').where('id', 'in', ids).execute();
}

async function holdName(db: Kysely<Database>, { slug, accountId, heldUntil }: ReleasedTunnel): Promise<void> {
  const holder = { account_id: accountId, held_until: heldUntil };
  await db
    .insertInto('released_names')
    .values({ slug, ...holder })
    .onConflict((conflict) => conflict.column('slug').doUpdateSet(holder))
    .execute();
}

/** See {@link Store.nameHolder}. */
export async function nameHolder(
  db: Kysely<Database>,
  slug: string,
  now: number,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('released_names')
    .select('account_id')
    .where('slug', '=', slug)
    .where('held_until', '>', now)
    .executeTakeFirst();
  return row?.account_id;
}

/** See {@link Store.raiseExpiry}. */
export async function raiseExpiry(db: Kysely<Database>, id: string, expiresAt: number): Promise<void> {
  await db
    .updateTable('tunnels')
    .set((column) => ({ expires_at: later(column, expiresAt) }))
    .where('id', '=', id)
    .execute();
}

/** See {@link Store.addTraffic}. */
export async function addTraffic(db: Kysely<Database>, deltas: readonly TrafficDelta[]): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    for (const delta of deltas) await addOne(transaction, delta);
  });
}

async function addOne(db: Kysely<Database>, delta: TrafficDelta): Promise<void> {
  await db
    .updateTable('tunnels')
    .set((column) => ({
      bytes_in: column('bytes_in', '+', delta.bytesIn),
      bytes_out: column('bytes_out', '+', delta.bytesOut),
      requests: column('requests', '+', delta.requests),
      expires_at: later(column, delta.expiresAt),
    }))
    .where('id', '=', delta.id)
    .execute();
}

function later(column: ExpressionBuilder<Database, 'tunnels'>, expiresAt: number) {
  return column
    .case()
    .when('expires_at', '<', expiresAt)
    .then(expiresAt)
    .else(column.ref('expires_at'))
    .end();
}

function toRow(tunnel: TunnelRecord): Selectable<TunnelsTable> {
  return {
    id: tunnel.id,
    account_id: tunnel.accountId,
    slug: tunnel.slug,
    name: tunnel.name,
    local_port: tunnel.localPort,
    ttl_seconds: tunnel.ttl,
    idle: tunnel.idle ? 1 : 0,
    created_at: tunnel.createdAt,
    expires_at: tunnel.expiresAt,
    bytes_in: tunnel.bytesIn,
    bytes_out: tunnel.bytesOut,
    requests: tunnel.requests,
  };
}

function toRecord(row: Selectable<TunnelsTable>): TunnelRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    slug: row.slug,
    name: row.name,
    localPort: row.local_port,
    ttl: row.ttl_seconds,
    idle: row.idle === 1,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    bytesIn: row.bytes_in,
    bytesOut: row.bytes_out,
    requests: row.requests,
  };
}
