/** Marks of the queries that are operations: methods of the store, on either database. */
import type { Kysely } from 'kysely';
import type { Database } from '../schema.ts';

/**
 * @limit Number of rows that one statement copies to another database. PostgreSQL accepts 65,535 values in a statement,
 * and a tunnel has 12.
 */
export const TRANSFER_BATCH = 1000;

type Query<Args extends readonly unknown[], Result> = (
  db: Kysely<Database>,
  ...args: Args
) => Promise<Result>;

/** An operation that only reads. */
export function read<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(query, { kind: 'read' } as const);
}

export function write<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(query, { kind: 'write' } as const);
}

/** A write that operators request through `Store.act`, recorded unless its result is `undefined` or `false`. */
export function act<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(query, { kind: 'write', recorded: 'if changed' } as const);
}

/**
 * The same for what ends a right, which is never refused because the audit log has no room: a stolen key could fill it.
 *
 * @param ends whether it does so with these arguments and this result; by default always
 */
export function actEnding<Args extends readonly unknown[], Result>(
  query: Query<Args, Result>,
  ends: (args: Args, result: Result) => boolean = () => true,
) {
  return Object.assign(act(query), { ends });
}

/** A write like {@link act}, recorded unless it throws. */
export function actAlways<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(query, { kind: 'write', recorded: 'always' } as const);
}

/**
 * Does work in its own transaction, or as a part of the surrounding one, such as that of an admin action and its audit
 * entry.
 */
export function inTransaction<T>(
  db: Kysely<Database>,
  work: (transaction: Kysely<Database>) => Promise<T>,
): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work);
}
