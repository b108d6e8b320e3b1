/** Queries on the ports of TCP tunnels, in SQL that every supported database understands. */
import type { TunnelRecord } from '../records.ts';
import { ConflictError, FullError } from '../store-errors.ts';
import { type Db, isTaken } from './operation.ts';

/** Which port a TCP tunnel gets. */
export interface PortRules {
  /** the ports that there are */
  readonly first: number;
  readonly last: number;
  /** the requested one; `undefined` for the one that stays with its name, or any */
  readonly wanted: number | undefined;
  /** ports that other programs use */
  readonly avoid: readonly number[];
  /** live TCP tunnels of the account, this one included */
  readonly maxTunnels: number;
  /** ports of the account, including those that only stay with its names */
  readonly maxPorts: number;
}

/**
 * Gives a TCP tunnel its port. If several requests do this concurrently, only one of them gets a port. To be called in the
 * transaction that stores the tunnel, in which its account is locked.
 *
 * @returns the port
 * @throws FullError; ConflictError `port` if it is another tunnel's or outside the range, or all are in use
 */
export async function givePort(db: Db, tunnel: TunnelRecord, rules: PortRules): Promise<number> {
  const { id, slug, createdAt } = tunnel;
  await mustHaveRoom(db, tunnel, rules.maxTunnels);
  await removeUnheld(db, createdAt);
  const own = await db.selectFrom('tcp_ports').select('port').where('slug', '=', slug).executeTakeFirst();
  const kept = own !== undefined && mayHave(own.port, rules) ? own.port : undefined;
  if (own !== undefined && kept === undefined)
    await db.deleteFrom('tcp_ports').where('port', '=', own.port).execute();
  const port = kept ?? (await take(db, tunnel, rules));
  await removeExcess(db, tunnel, rules.maxPorts);
  try {
    await db.updateTable('tunnels').set({ remotePort: port }).where('id', '=', id).execute();
    return port;
  } catch (error) {
    // Another relay has taken the port from the name, whose time was over by its clock.
    throw isTaken(error) ? new ConflictError('port') : error;
  }
}

async function mustHaveRoom(
  db: Db,
  { id, accountId, createdAt }: TunnelRecord,
  maxTunnels: number,
): Promise<void> {
  const { count, next } = await db
    .selectFrom('tunnels')
    .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min<number | null>('expiresAt').as('next')])
    .where('accountId', '=', accountId)
    .where('protocol', '=', 'tcp')
    .where('expiresAt', '>', createdAt)
    .where('id', '!=', id)
    .executeTakeFirstOrThrow();
  if (count >= maxTunnels) throw new FullError(next ?? createdAt, true);
}

/** Removes the ports whose tunnel has ended, and whose name is neither held nor kept by the same account. */
async function removeUnheld(db: Db, now: number): Promise<void> {
  await db
    .deleteFrom('tcp_ports')
    .where((eb) =>
      eb.not(
        eb.or([
          eb.exists(
            eb
              .selectFrom('tunnels')
              .select('id')
              .whereRef('tunnels.slug', '=', 'tcp_ports.slug')
              .whereRef('tunnels.accountId', '=', 'tcp_ports.accountId')
              .where('protocol', '=', 'tcp'),
          ),
          eb.exists(
            eb
              .selectFrom('released_names')
              .select('released_names.slug')
              .whereRef('released_names.slug', '=', 'tcp_ports.slug')
              .whereRef('released_names.accountId', '=', 'tcp_ports.accountId')
              .where('chosen', '=', true)
              .where('heldUntil', '>', now),
          ),
          eb.exists(
            eb
              .selectFrom('kept_names')
              .select('name')
              .whereRef('kept_names.name', '=', 'tcp_ports.slug')
              .whereRef('kept_names.accountId', '=', 'tcp_ports.accountId'),
          ),
        ]),
      ),
    )
    .execute();
}

function mayHave(port: number, { first, last, wanted, avoid }: PortRules): boolean {
  return port >= first && port <= last && (wanted ?? port) === port && !avoid.includes(port);
}

/** @throws ConflictError */
async function take(db: Db, { slug, accountId, createdAt }: TunnelRecord, rules: PortRules): Promise<number> {
  for (;;) {
    const rows = await db.selectFrom('tcp_ports').select('port').execute();
    const port = choose(rules, new Set(rows.map((row) => row.port)));
    if (port === undefined) throw new ConflictError('port');
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('tcp_ports')
      .values({ port, slug, accountId, givenAt: createdAt })
      .onConflict((conflict) => conflict.column('port').doNothing())
      .executeTakeFirstOrThrow();
    // Another relay may have given it to a tunnel at the same time, whose row is now among those that are read.
    if (numInsertedOrUpdatedRows !== 0n) return port;
  }
}

/** The requested port, or one that nobody can guess: scanners look at the first ones of a range. */
function choose(rules: PortRules, taken: ReadonlySet<number>): number | undefined {
  const { first, last, wanted } = rules;
  const isFree = (port: number): boolean => mayHave(port, rules) && !taken.has(port);
  if (wanted !== undefined) return isFree(wanted) ? wanted : undefined;
  const size = last - first + 1;
  const start = Math.floor(Math.random() * size);
  for (let step = 0; step < size; step += 1) {
    const port = first + ((start + step) % size);
    if (isFree(port)) return port;
  }
  return undefined;
}

/** An account cannot use the range up with held names: it loses the oldest of the ports that it does not keep. */
async function removeExcess(db: Db, { accountId }: TunnelRecord, maxPorts: number): Promise<void> {
  const rows = await db
    .selectFrom('tcp_ports')
    .select(['port', 'slug'])
    .where('accountId', '=', accountId)
    .orderBy('givenAt')
    .execute();
  const live = db.selectFrom('tunnels').select('slug').where('accountId', '=', accountId);
  const names = db.selectFrom('kept_names').select('name as slug').where('accountId', '=', accountId);
  const used = new Set([...(await live.execute()), ...(await names.execute())].map(({ slug }) => slug));
  const excess = rows
    .filter(({ slug }) => !used.has(slug))
    .slice(0, Math.max(0, rows.length - maxPorts))
    .map(({ port }) => port);
  if (excess.length > 0) await db.deleteFrom('tcp_ports').where('port', 'in', excess).execute();
}
