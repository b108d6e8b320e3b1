/**
 * What was ended since a backup was made stays ended when that is restored: read from the database that it replaces.
 * Additions since then are not taken over.
 */
import { sql } from 'kysely';
import { raiseAccessRevision, removeWithAll } from '../queries/account-queries.ts';
import { removeAgentsAt } from '../queries/agent-queries.ts';
import { forgetCertificates } from '../queries/certificate-queries.ts';
import { holdSuspendedName, insertEndings } from '../queries/ending-queries.ts';
import { removeLinksOver } from '../queries/link-queries.ts';
import { type Db, TRANSFER_BATCH } from '../queries/operation.ts';
import { releaseTunnelsOf } from '../queries/tunnel-queries.ts';
import { batches, type EndingKind, type TunnelRecord } from '../records.ts';
import { rowsOf } from '../transfer.ts';

export const NOTHING_KEPT = {
  keysRevoked: 0,
  accountsRemoved: 0,
  accountsSuspended: 0,
  /** used or revoked */
  invitationsEnded: 0,
  tunnelsClosed: 0,
  tunnelsSuspended: 0,
  domainsRemoved: 0,
  linksRevoked: 0,
  agentsRevoked: 0,
  namesReleased: 0,
};

/** How many of each were ended since the backup and stay so. */
export type KeptEndings = typeof NOTHING_KEPT;

/**
 * Ends in the copy what has ended in the database that it replaces, and adds the entries of its audit log.
 *
 * @param replaced both with the schema of this version
 * @param now wall time in ms
 */
export function keepEnded(replaced: Db, copy: Db, now: number): Promise<KeptEndings> {
  return copy.transaction().execute(async (transaction) => {
    const kept = { ...NOTHING_KEPT };
    await keepRemoved(replaced, transaction, kept, now);
    kept.keysRevoked = await keepMarks(replaced, transaction, 'api_keys', 'revokedAt');
    kept.accountsSuspended = await keepMarks(replaced, transaction, 'accounts', 'suspended');
    kept.invitationsEnded = await keepMarks(replaced, transaction, 'invitations', 'takenAt');
    kept.tunnelsSuspended = await keepMarks(replaced, transaction, 'tunnels', 'suspended');
    kept.linksRevoked = await keepMarks(replaced, transaction, 'tunnel_links', 'revokedAt');
    await keepTunnels(replaced, transaction);
    await keepNames(replaced, transaction, now);
    await keepLinks(replaced, transaction);
    await keepAudit(replaced, transaction);
    await raiseAccessRevision(transaction);
    return kept;
  });
}

/** What no longer has a row of its own. */
async function keepRemoved(replaced: Db, copy: Db, kept: KeptEndings, now: number): Promise<void> {
  const remove: Record<EndingKind, (id: string) => Promise<void>> = {
    account: async (id) => {
      const account = await copy.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
      if (account === undefined) return;
      await removeWithAll(copy, account);
      kept.accountsRemoved += 1;
    },
    key: async (hash) => void (await copy.deleteFrom('api_keys').where('hash', '=', hash).execute()),
    tunnel: async (id) => {
      const gone = await copy.deleteFrom('tunnels').where('id', '=', id).executeTakeFirstOrThrow();
      kept.tunnelsClosed += Number(gone.numDeletedRows);
    },
    domain: async (id) => {
      const claim = await copy.deleteFrom('domains').where('id', '=', id).returningAll().executeTakeFirst();
      if (claim === undefined) return;
      await forgetCertificates(copy, [claim.domain]);
      await releaseTunnelsOf(copy, claim, { now, nameHold: 0 });
      kept.domainsRemoved += 1;
    },
    agent: async (id) => {
      const gone = await copy.deleteFrom('agents').where('id', '=', id).executeTakeFirstOrThrow();
      kept.agentsRevoked += Number(gone.numDeletedRows);
    },
    name: async (scope) => {
      const gone = await copy
        .deleteFrom('kept_names')
        .where('linkScope', '=', scope)
        .executeTakeFirstOrThrow();
      kept.namesReleased += Number(gone.numDeletedRows);
    },
  };
  const endings = await replaced.selectFrom('endings').selectAll().execute();
  for (const { kind, id } of endings) await remove[kind](id);
  await insertEndings(copy, endings);
}

/**
 * What was marked as ended, revoked or suspended is so in the copy too.
 *
 * @returns how many were not
 */
async function keepMarks(
  replaced: Db,
  copy: Db,
  table: 'api_keys' | 'invitations' | 'accounts' | 'tunnels' | 'tunnel_links',
  name: 'revokedAt' | 'takenAt' | 'suspended',
): Promise<number> {
  const column = sql.ref<string | number | null>(name);
  const marked = replaced
    .selectFrom(table)
    .select(['id', column.as('mark')])
    .where(column, 'is not', null);
  let count = 0;
  for (const { id, mark } of await marked.execute()) {
    const { numUpdatedRows } = await copy
      .updateTable(table)
      .set({ [name]: mark })
      .where('id', '=', id)
      .where(column, 'is', null)
      .executeTakeFirstOrThrow();
    count += Number(numUpdatedRows);
  }
  return count;
}

/** Access to tunnels that are in both: policies, revoked links, knocks, and an earlier end. */
async function keepTunnels(replaced: Db, copy: Db): Promise<void> {
  const accounts = await replaced.selectFrom('accounts').select(['id', 'suspended']).execute();
  const reasons = new Map(accounts.map(({ id, suspended }) => [id, suspended]));
  const known = await accountsOf(copy);
  for (const present of await replaced.selectFrom('tunnels').selectAll().execute()) {
    const { id, accountId, suspended } = present;
    const before = await copy.selectFrom('tunnels').selectAll().where('id', '=', id).executeTakeFirst();
    if (before === undefined) {
      const reason = suspended ?? reasons.get(accountId) ?? null;
      // An account that is not in the copy can never be resumed.
      const isOwn = suspended !== null || !known.has(accountId);
      if (reason !== null) await holdSuspendedName(copy, present, reason, isOwn ? 'tunnel' : 'account');
      continue;
    }
    const revoked = [...new Map([...before.revokedLinks, ...present.revokedLinks])];
    await copy
      .updateTable('tunnels')
      .set({ ...laterOf(before, present), revokedLinks: revoked })
      .where('id', '=', id)
      .execute();
    if (present.access?.oauth !== true) await removeAgentsAt(copy, [present.slug]);
  }
}

/**
 * The next tunnels of kept names know links that were made and revoked since. Links that a browser has used stay used,
 * and those of what has ended are gone.
 */
async function keepLinks(replaced: Db, copy: Db): Promise<void> {
  const revoked = await replaced
    .selectFrom('tunnel_links')
    .selectAll()
    .where('revokedAt', 'is not', null)
    .execute();
  for (const batch of batches(revoked, TRANSFER_BATCH))
    await copy
      .insertInto('tunnel_links')
      .values(batch)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
  const used = replaced.selectFrom('tunnel_links').select(['id', 'usedAt', 'usedBy']);
  for (const { id, ...use } of await used.where('usedBy', 'is not', null).execute())
    await copy.updateTable('tunnel_links').set(use).where('id', '=', id).execute();
  await removeLinksOver(copy);
}

/** The groups of columns of a tunnel that have changed since. */
function laterOf(before: TunnelRecord, present: TunnelRecord): Partial<TunnelRecord> {
  const { access, accessRevision, knocks, knocksRevision, termsRevision } = present;
  const { localPort, ttl, idle, expiresAt, createdKey, createdBy, byAgent } = present;
  const terms = { localPort, ttl, idle, expiresAt, createdKey, createdBy, byAgent, termsRevision };
  return {
    ...(accessRevision > before.accessRevision && { access, accessRevision }),
    ...(knocksRevision > before.knocksRevision && { knocks, knocksRevision }),
    ...(termsRevision > before.termsRevision && terms),
  };
}

/** Names that are kept by an account, or reserved for one or for nobody. */
async function keepNames(replaced: Db, copy: Db, now: number): Promise<void> {
  const held = await replaced.selectFrom('released_names').selectAll().where('heldUntil', '>', now).execute();
  const known = await accountsOf(copy);
  for (const { name, ...keeper } of await replaced.selectFrom('kept_names').selectAll().execute()) {
    if (!known.has(keeper.accountId)) continue;
    await copy
      .insertInto('kept_names')
      .values({ name, ...keeper })
      .onConflict((conflict) => conflict.column('name').doUpdateSet(keeper))
      .execute();
  }
  for (const { slug, ...holder } of held) {
    const isGone = holder.suspendedWith === 'account' && !known.has(holder.accountId);
    const values = isGone ? ({ ...holder, suspendedWith: 'tunnel' } as const) : holder;
    await copy
      .insertInto('released_names')
      .values({ slug, ...values })
      .onConflict((conflict) => {
        const update = conflict.column('slug').doUpdateSet(values);
        return holder.suspended === null ? update.where('released_names.suspended', 'is', null) : update;
      })
      .execute();
  }
}

async function accountsOf(copy: Db): Promise<ReadonlySet<string>> {
  const accounts = await copy.selectFrom('accounts').select('id').execute();
  return new Set(accounts.map(({ id }) => id));
}

async function keepAudit(replaced: Db, copy: Db): Promise<void> {
  for await (const rows of rowsOf(replaced, { table: 'audit', key: 'id' }))
    await copy
      .insertInto('audit')
      .values(rows)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
}
