/**
 * What was ended since a backup was made stays ended when that is restored: read from the database that it replaces.
 * Additions since then are not taken over.
 */
import type { Kysely } from 'kysely';
import { raiseAccessRevision, removeWithAll } from '../queries/account-queries.ts';
import { forgetCertificates } from '../queries/certificate-queries.ts';
import { holdName } from '../queries/ending-queries.ts';
import { TRANSFER_BATCH } from '../queries/operation.ts';
import { readRevoked, releaseTunnelsOf, writtenRevoked } from '../queries/tunnel-queries.ts';
import { batches, type RevokedLink } from '../records.ts';
import type { Database, EndingKind, TunnelsTable } from '../schema.ts';

/** How many of each were ended since the backup and stay so. */
export interface KeptEndings {
  keysRevoked: number;
  accountsRemoved: number;
  accountsSuspended: number;
  /** used or revoked */
  invitationsEnded: number;
  tunnelsClosed: number;
  tunnelsSuspended: number;
  domainsRemoved: number;
  linksRevoked: number;
}

export const NOTHING_KEPT: Readonly<KeptEndings> = {
  keysRevoked: 0,
  accountsRemoved: 0,
  accountsSuspended: 0,
  invitationsEnded: 0,
  tunnelsClosed: 0,
  tunnelsSuspended: 0,
  domainsRemoved: 0,
  linksRevoked: 0,
};

/**
 * Ends in the copy what has ended in the database that it replaces, and adds the entries of its audit log.
 *
 * @param replaced both with the schema of this version
 * @param now wall time in ms
 */
export function keepEnded(
  replaced: Kysely<Database>,
  copy: Kysely<Database>,
  now: number,
): Promise<KeptEndings> {
  return copy.transaction().execute(async (transaction) => {
    const kept = { ...NOTHING_KEPT };
    await keepRemoved(replaced, transaction, kept, now);
    await keepKeysRevoked(replaced, transaction, kept);
    await keepAccountsSuspended(replaced, transaction, kept);
    await keepInvitationsEnded(replaced, transaction, kept);
    await keepTunnels(replaced, transaction, kept);
    await keepNames(replaced, transaction, now);
    await keepAudit(replaced, transaction);
    await raiseAccessRevision(transaction);
    return kept;
  });
}

/** What no longer has a row of its own. */
async function keepRemoved(
  replaced: Kysely<Database>,
  copy: Kysely<Database>,
  kept: KeptEndings,
  now: number,
): Promise<void> {
  const remove: Record<EndingKind, (id: string) => Promise<void>> = {
    account: async (id) => {
      const account = await copy
        .selectFrom('accounts')
        .select(['id', 'suspended'])
        .where('id', '=', id)
        .executeTakeFirst();
      if (account === undefined) return;
      await removeWithAll(copy, account);
      kept.accountsRemoved += 1;
    },
    key: async (hash) => void (await copy.deleteFrom('api_keys').where('hash', '=', hash).execute()),
    tunnel: async (id) => {
      const { numDeletedRows } = await copy
        .deleteFrom('tunnels')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      kept.tunnelsClosed += Number(numDeletedRows);
    },
    domain: async (id) => {
      const row = await copy
        .deleteFrom('domains')
        .where('id', '=', id)
        .returning(['domain', 'account_id'])
        .executeTakeFirst();
      if (row === undefined) return;
      await forgetCertificates(copy, [row.domain]);
      await releaseTunnelsOf(copy, { domain: row.domain, accountId: row.account_id }, { now, nameHold: 0 });
      kept.domainsRemoved += 1;
    },
  };
  const endings = await replaced.selectFrom('endings').selectAll().execute();
  for (const { kind, id } of endings) await remove[kind](id);
  for (const batch of batches(endings, TRANSFER_BATCH))
    await copy
      .insertInto('endings')
      .values(batch)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}

async function keepKeysRevoked(
  replaced: Kysely<Database>,
  copy: Kysely<Database>,
  kept: KeptEndings,
): Promise<void> {
  const gone = await replaced
    .selectFrom('api_keys')
    .select(['id', 'revoked_at'])
    .where('revoked_at', 'is not', null)
    .execute();
  for (const { id, revoked_at } of gone) {
    const { numUpdatedRows } = await copy
      .updateTable('api_keys')
      .set({ revoked_at })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirstOrThrow();
    kept.keysRevoked += Number(numUpdatedRows);
  }
}

async function keepAccountsSuspended(
  replaced: Kysely<Database>,
  copy: Kysely<Database>,
  kept: KeptEndings,
): Promise<void> {
  const accounts = await replaced
    .selectFrom('accounts')
    .select(['id', 'suspended'])
    .where('suspended', 'is not', null)
    .execute();
  for (const { id, suspended } of accounts) {
    const { numUpdatedRows } = await copy
      .updateTable('accounts')
      .set({ suspended })
      .where('id', '=', id)
      .where('suspended', 'is', null)
      .executeTakeFirstOrThrow();
    kept.accountsSuspended += Number(numUpdatedRows);
  }
}

async function keepInvitationsEnded(
  replaced: Kysely<Database>,
  copy: Kysely<Database>,
  kept: KeptEndings,
): Promise<void> {
  const ended = await replaced
    .selectFrom('invitations')
    .select(['id', 'taken_at'])
    .where('taken_at', 'is not', null)
    .execute();
  for (const { id, taken_at } of ended) {
    const { numUpdatedRows } = await copy
      .updateTable('invitations')
      .set({ taken_at })
      .where('id', '=', id)
      .where('taken_at', 'is', null)
      .executeTakeFirstOrThrow();
    kept.invitationsEnded += Number(numUpdatedRows);
  }
}

/** Access to tunnels that are in both: policies, links, knocks, suspensions, and an earlier end. */
async function keepTunnels(
  replaced: Kysely<Database>,
  copy: Kysely<Database>,
  kept: KeptEndings,
): Promise<void> {
  const suspensions = await replaced
    .selectFrom('accounts')
    .select(['id', 'suspended'])
    .where('suspended', 'is not', null)
    .execute();
  const reasons = new Map(suspensions.map(({ id, suspended }) => [id, suspended]));
  const known = await accountsOf(copy);
  for (const present of await replaced.selectFrom('tunnels').selectAll().execute()) {
    const before = await copy
      .selectFrom('tunnels')
      .selectAll()
      .where('id', '=', present.id)
      .executeTakeFirst();
    if (before === undefined) {
      const reason = present.suspended ?? reasons.get(present.account_id) ?? null;
      // An account that is not in the copy can never be resumed.
      const isOwn = present.suspended !== null || !known.has(present.account_id);
      if (reason !== null) await holdName(copy, present, reason, isOwn ? 'tunnel' : 'account');
      continue;
    }
    const revoked = unionOf(readRevoked(before.revoked_links), readRevoked(present.revoked_links));
    await copy
      .updateTable('tunnels')
      .set({
        ...laterOf(before, present),
        revoked_links: writtenRevoked(revoked),
        suspended: before.suspended ?? present.suspended,
      })
      .where('id', '=', present.id)
      .execute();
    if (before.suspended === null && present.suspended !== null) kept.tunnelsSuspended += 1;
    kept.linksRevoked += revoked.length - readRevoked(before.revoked_links).length;
    await copy
      .deleteFrom('tunnel_links')
      .where('tunnel_id', '=', present.id)
      .where(
        'id',
        'in',
        revoked.map(([id]) => id),
      )
      .execute();
  }
}

/** The groups of columns of a tunnel that have changed since. */
function laterOf(before: TunnelsTable, present: TunnelsTable): Partial<TunnelsTable> {
  const { access, access_revision, knocks, knocks_revision, terms_revision } = present;
  const { local_port, ttl_seconds, idle, expires_at, created_key, created_by, by_agent } = present;
  return {
    ...(access_revision > before.access_revision && { access, access_revision }),
    ...(knocks_revision > before.knocks_revision && { knocks, knocks_revision }),
    ...(terms_revision > before.terms_revision && {
      local_port,
      ttl_seconds,
      idle,
      expires_at,
      created_key,
      created_by,
      by_agent,
      terms_revision,
    }),
  };
}

function unionOf(before: readonly RevokedLink[], present: readonly RevokedLink[]): RevokedLink[] {
  return [...new Map([...before, ...present])];
}

/** Names that are reserved for an account or for nobody. */
async function keepNames(replaced: Kysely<Database>, copy: Kysely<Database>, now: number): Promise<void> {
  const held = await replaced
    .selectFrom('released_names')
    .selectAll()
    .where('held_until', '>', now)
    .execute();
  const known = await accountsOf(copy);
  for (const { slug, ...holder } of held) {
    const isGone = holder.suspended_with === 'account' && !known.has(holder.account_id);
    const values = isGone ? ({ ...holder, suspended_with: 'tunnel' } as const) : holder;
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

async function accountsOf(copy: Kysely<Database>): Promise<ReadonlySet<string>> {
  const accounts = await copy.selectFrom('accounts').select('id').execute();
  return new Set(accounts.map(({ id }) => id));
}

async function keepAudit(replaced: Kysely<Database>, copy: Kysely<Database>): Promise<void> {
  let last = '';
  for (;;) {
    const rows = await replaced
      .selectFrom('audit')
      .selectAll()
      .where('id', '>', last)
      .orderBy('id')
      .limit(TRANSFER_BATCH)
      .execute();
    const end = rows.at(-1);
    if (end === undefined) return;
    await copy
      .insertInto('audit')
      .values(rows)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    last = end.id;
  }
}
