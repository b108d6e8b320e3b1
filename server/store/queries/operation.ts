/** Marks of the queries that are operations: methods of the store, on either database. */
import type { Kysely } from 'kysely';
import type { Database } from '../records.ts';

/**
 * Number of rows that one statement copies to another database. PostgreSQL accepts 65,535 values in a statement,
 * and a tunnel has 27.
 */
export const TRANSFER_BATCH = 1000;

/** A database, or a transaction on it. */
export type Db = Kysely<Database>;

type Query<Args extends readonly unknown[], Result> = (db: Db, ...args: Args) => Promise<Result>;

/** An operation that only reads. */
export function read<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(query, { kind: 'read' } as const);
}

/** A write of one statement. */
export function write<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(query, { kind: 'write' } as const);
}

/**
 * A write of several statements, done as a whole or not at all: in its own transaction, or as a part of the surrounding
 * one, such as that of an admin action and its audit entry.
 */
export function change<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return write((db: Db, ...args: Args): Promise<Result> =>
    db.isTransaction
      ? query(db, ...args)
      : db.transaction().execute((transaction) => query(transaction, ...args)),
  );
}

/** A change that operators request through `Store.act`, recorded unless its result is `undefined` or `false`. */
export function act<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(change(query), { recorded: 'if changed' } as const);
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

/** A change like {@link act}, recorded unless it throws. */
export function actAlways<Args extends readonly unknown[], Result>(query: Query<Args, Result>) {
  return Object.assign(change(query), { recorded: 'always' } as const);
}

/** Whether a statement failed because another row has the value of a unique column. */
export function isTaken(error: unknown): boolean {
  // https://www.postgresql.org/docs/current/errcodes-appendix.html and https://www.sqlite.org/rescode.html
  return (
    error instanceof Error &&
    (Reflect.get(error, 'code') === '23505' || Reflect.get(error, 'errcode') === 2067)
  );
}
