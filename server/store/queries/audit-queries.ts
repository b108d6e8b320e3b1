/** Queries on who did what, in SQL that every supported database understands. */
import type { Kysely } from 'kysely';
import { AUDIT_MAX } from '../../limits.ts';
import type { AuditRecord } from '../records.ts';
import type { Database } from '../schema.ts';

/** See {@link Store.insertAudit}. */
export function insertAudit(db: Kysely<Database>, entry: AuditRecord): Promise<void> {
  return db.transaction().execute((transaction) => keepAct(transaction, entry));
}

/** The same as a part of a transaction. */
export async function keepAct(transaction: Kysely<Database>, entry: AuditRecord): Promise<void> {
  await transaction.insertInto('audit').values(entry).execute();
  const last = await transaction
    .selectFrom('audit')
    .select('at')
    .orderBy('at', 'desc')
    .offset(AUDIT_MAX - 1)
    .limit(1)
    .executeTakeFirst();
  if (last !== undefined) await transaction.deleteFrom('audit').where('at', '<', last.at).execute();
}

/** See {@link Store.listAudit}. */
export async function listAudit(db: Kysely<Database>, limit: number): Promise<AuditRecord[]> {
  const newest = db.selectFrom('audit').selectAll().orderBy('at', 'desc').orderBy('id').limit(limit);
  return (await newest.execute()).toReversed();
}
