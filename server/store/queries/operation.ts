/** Marks of the queries that are operations: methods of the store, on either database. */
import type { Kysely } from 'kysely';
import type { Database } from '../schema.ts';

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

/** The same, recorded unless it throws. */
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
