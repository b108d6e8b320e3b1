/** The relay's persistent data: the same queries on every database that Kysely supports. */
import { type Kysely, sql } from 'kysely';
import { describeError, type Log } from '../log.ts';
import * as accounts from './queries/account-queries.ts';
import * as agents from './queries/agent-queries.ts';
import * as audit from './queries/audit-queries.ts';
import * as certificates from './queries/certificate-queries.ts';
import * as domains from './queries/domain-queries.ts';
import * as endings from './queries/ending-queries.ts';
import * as keys from './queries/key-queries.ts';
import * as links from './queries/link-queries.ts';
import * as names from './queries/name-queries.ts';
import * as namespace from './queries/namespace.ts';
import * as relay from './queries/relay-queries.ts';
import * as tunnelChanges from './queries/tunnel-changes.ts';
import * as tunnels from './queries/tunnel-queries.ts';
import { read, write } from './queries/operation.ts';
import type { AuditRecord, Database } from './records.ts';
import { ConflictError, FullError, StoreError } from './store-errors.ts';

/** All queries; those that are marked are operations, the others are shared between queries. */
const OPERATIONS = {
  ...accounts,
  ...agents,
  ...audit,
  ...certificates,
  ...domains,
  ...endings,
  ...keys,
  ...links,
  ...names,
  ...namespace,
  ...relay,
  ...tunnelChanges,
  ...tunnels,
  ping: read(async (db): Promise<void> => void (await sql`select 1 from accounts limit 1`.execute(db))),
  close: write((db) => db.destroy()),
};

type Table = typeof OPERATIONS;
/** Names of the queries with a mark, such as `{ recorded: string }`. */
type Marked<Mark> = { [Name in keyof Table]: Table[Name] extends Mark ? Name : never }[keyof Table];
/** Maps a type parameter, so that "go to definition" on a method finds its query. */
type Methods<Queries, Name extends keyof Queries> = {
  [Key in Name]: Queries[Key] extends (db: Kysely<Database>, ...args: infer Args) => infer Result
    ? (...args: Args) => Result
    : never;
};

/** An operation that an operator may request through {@link Store.act}. */
export type ActOperation = Marked<{ readonly recorded: string }>;

/**
 * Each method has stored its input once its promise is fulfilled, as a whole or not at all.
 * A database that fails rejects with {@link StoreError}.
 */
export interface Store extends Methods<Table, Marked<{ readonly kind: string }>> {
  /**
   * Does what an operator requests and records who did it: both or neither. Nothing is recorded if nothing changed.
   *
   * @param name of the operation that does it
   * @param entries of the audit log, of one actor at one time
   * @returns the result of that operation
   * @throws what that operation throws; FullError, if the keys of the actor's account have no room for more entries now,
   *   unless it only ends a right
   */
  act<Name extends ActOperation>(
    name: Name,
    args: Parameters<Store[Name]>,
    entries: readonly AuditRecord[],
  ): ReturnType<Store[Name]>;
}

/**
 * @param db database with the schema of this version
 * @param log told when the database begins to fail and when it works again
 */
export function kyselyStore(db: Kysely<Database>, log: Log): Store {
  /** The kind of the last operation that failed, until one works again. */
  let failing: 'read' | 'write' | undefined;

  /**
   * Turns whatever a driver throws into a {@link StoreError}, and logs when failing begins and ends. While writes fail,
   * as on a full disk, reads that work prove nothing.
   */
  async function watch(result: Promise<unknown>, kind: 'read' | 'write'): Promise<unknown> {
    try {
      const value = await result;
      if (failing !== undefined && (kind === 'write' || failing === 'read')) {
        log('store recovered');
        failing = undefined;
      }
      return value;
    } catch (error) {
      if (error instanceof ConflictError || error instanceof FullError) throw error;
      if (failing === undefined) log('store failing', { error: describeError(error) });
      if (failing !== 'write') failing = kind;
      throw new StoreError(error);
    }
  }

  const methods = Object.entries({ ...OPERATIONS, act: write(act) }).flatMap(([name, query]) => {
    if (typeof query !== 'function' || !('kind' in query)) return [];
    const call = query as (...given: readonly unknown[]) => Promise<unknown>;
    return [[name, (...args: readonly unknown[]) => watch(call(db, ...args), query.kind)]];
  });
  return Object.fromEntries(methods) as Store;
}

/** See {@link Store.act}. */
function act(
  db: Kysely<Database>,
  name: ActOperation,
  args: readonly unknown[],
  entries: readonly AuditRecord[],
): Promise<unknown> {
  const { recorded } = OPERATIONS[name];
  const query = OPERATIONS[name] as ((...given: readonly unknown[]) => Promise<unknown>) & {
    readonly ends?: (given: readonly unknown[], result: unknown) => boolean;
  };
  return db.transaction().execute(async (transaction) => {
    const result = await query(transaction, ...args);
    if (recorded === 'always' || (result !== undefined && result !== false))
      await audit.keepActs(transaction, entries, query.ends?.(args, result) === true);
    return result;
  });
}
