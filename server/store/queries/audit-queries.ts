/** Queries on who did what, in SQL that every supported database understands. */
import { type AccountRecord, AUDIT_MAX, type AuditRecord, batches } from '../records.ts';
import { FullError } from '../store-errors.ts';
import { change, type Db, read, TRANSFER_BATCH } from './operation.ts';

/**
 * How long every admin action is kept, however many follow it: long enough for a yearly review.
 * @limit operator: Age up to which the audit log keeps every entry | older entries are removed, except the newest 10,000
 */
export const AUDIT_KEPT_MS = 365 * 24 * 3_600_000;
/**
 * Maximum number of admin actions that one account's keys can add to the audit log in 24 hours. An action that
 * cannot be recorded is refused, unless it only ends a right, so nobody can push an entry out. A year of them takes
 * about 300 MB.
 */
export const AUDIT_ACTS_PER_DAY = 2000;
/**
 * Maximum number of changes that one key can make in 24 hours to tunnels that other keys of its account have
 * created, because each is recorded. The rest of the account's share stays for its owners.
 */
export const MEMBER_ACTS_PER_DAY = 200;

const DAY_MS = 24 * 3_600_000;

/**
 * Records an administrative act. Entries are kept for a year, and the newest for longer.
 *
 * @throws FullError as {@link keepActs}
 */
export const insertAudit = change((db, entry: AuditRecord): Promise<void> => keepActs(db, [entry]));

/**
 * The same as a part of the transaction that does what the entries say.
 *
 * @param entries of one actor, at one time
 * @param isEnding whether they only end rights, which needs no room
 * @throws FullError when the account has no room for them in these 24 hours
 */
export async function keepActs(db: Db, entries: readonly AuditRecord[], isEnding = false): Promise<void> {
  const [first] = entries;
  if (first === undefined) return;
  if (!isEnding) await mustHaveRoom(db, first, entries.length);
  for (const batch of batches(entries, TRANSFER_BATCH)) await db.insertInto('audit').values(batch).execute();
  await prune(db, first.at - AUDIT_KEPT_MS);
}

/** Changes that any key of an account can make to tunnels that another key has created. */
const MEMBER_ACTIONS = ['team.close', 'team.extend', 'team.access', 'team.take-over'];

/**
 * An account has a share of the log for each day, of which no key may use up more than a part: its owners need it as well.
 * Requests at the same time may go slightly beyond the limit: each counts what is stored.
 */
async function mustHaveRoom(
  db: Db,
  { accountId, actor, action, at }: AuditRecord,
  more: number,
): Promise<void> {
  if (accountId === null) return;
  const acts = db
    .selectFrom('audit')
    .select('at')
    .where('accountId', '=', accountId)
    .where('at', '>', at - DAY_MS)
    .orderBy('at', 'desc')
    .limit(1);
  if (more > AUDIT_ACTS_PER_DAY) throw new FullError(at + DAY_MS);
  const ofMember = acts.where('actor', '=', actor).where('action', 'in', MEMBER_ACTIONS);
  const tooMany =
    (await acts.offset(AUDIT_ACTS_PER_DAY - more).executeTakeFirst()) ??
    (MEMBER_ACTIONS.includes(action)
      ? await ofMember.offset(MEMBER_ACTS_PER_DAY - 1).executeTakeFirst()
      : undefined);
  if (tooMany !== undefined) throw new FullError(tooMany.at + DAY_MS);
}

/** Removes entries that are older than `before` and not among the newest. */
async function prune(db: Db, before: number): Promise<void> {
  const oldest = await db
    .selectFrom('audit')
    .select('at')
    .orderBy('at', 'desc')
    .offset(AUDIT_MAX - 1)
    .limit(1)
    .executeTakeFirst();
  if (oldest === undefined) return;
  const old = await db
    .selectFrom('audit')
    .select('id')
    .where('at', '<', Math.min(before, oldest.at))
    .limit(TRANSFER_BATCH)
    .forUpdate()
    .skipLocked()
    .execute();
  const ids = old.map(({ id }) => id);
  if (ids.length > 0) await db.deleteFrom('audit').where('id', 'in', ids).execute();
}

/** Lists the newest entries, oldest first. */
export const listAudit = read(async (db, limit: number): Promise<AuditRecord[]> => {
  const newest = db.selectFrom('audit').selectAll().orderBy('at', 'desc').orderBy('id').limit(limit);
  return (await newest.execute()).toReversed();
});

/** Actions on an account itself, which its owners see in addition to those of its keys. */
const ABOUT_ACCOUNT = [
  'account.create',
  'account.set-plan',
  'account.set-subdomain',
  'account.suspend',
  'account.resume',
  'invite.create',
  'invite.take',
];

/**
 * Lists the newest entries about an account that its owners may see, oldest first. Administration keys of the account
 * also change other accounts: those entries are left out.
 */
export const listTeamAudit = read(
  async (db, { id, name, createdAt }: AccountRecord, limit: number): Promise<AuditRecord[]> => {
    const newest = db.selectFrom('audit').selectAll().orderBy('at', 'desc').orderBy('id').limit(limit);
    const own = await newest.where('accountId', '=', id).where('action', 'like', 'team.%').execute();
    const about = await newest
      .where('subject', '=', name)
      .where('at', '>=', createdAt)
      .where('action', 'in', ABOUT_ACCOUNT)
      .execute();
    const entries = [...own, ...about].toSorted((a, b) => a.at - b.at || (a.id < b.id ? 1 : -1));
    return entries.slice(-limit);
  },
);
