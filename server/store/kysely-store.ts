/** The store on any database Kysely supports: its queries, one for each operation, and the handling of their errors. */
import { type Kysely, sql } from 'kysely';
import { describeError, type Log } from '../log.ts';
import { type Operation, OPERATIONS } from './operations.ts';
import * as accounts from './queries/account-queries.ts';
import * as audit from './queries/audit-queries.ts';
import * as certificates from './queries/certificate-queries.ts';
import * as domains from './queries/domain-queries.ts';
import { resumeName, suspendedNames } from './queries/ending-queries.ts';
import * as invitations from './queries/invitation-queries.ts';
import * as keys from './queries/key-queries.ts';
import * as newAccounts from './queries/key-queries.ts';
import * as links from './queries/link-queries.ts';
import { nameClashes } from './queries/namespace.ts';
import * as orders from './queries/order-queries.ts';
import { relaySecret, removeSecrets, renewSecrets } from './queries/secret-queries.ts';
import * as tunnels from './queries/tunnel-queries.ts';
import type { AuditRecord } from './records.ts';
import type { Database } from './schema.ts';
import { ConflictError, FullError, StoreError } from './store-errors.ts';
import type { ActOperation, Store } from './store.ts';

type Queries = {
  readonly [Name in Operation]: (
    db: Kysely<Database>,
    ...args: Parameters<Store[Name]>
  ) => ReturnType<Store[Name]>;
};

const QUERIES: Queries = {
  ...accounts,
  ...newAccounts,
  ...keys,
  ...orders,
  insertAudit: audit.insertAudit,
  listAudit: audit.listAudit,
  ...invitations,
  ...tunnels,
  ...links,
  ...certificates,
  ...domains,
  suspendedNames,
  resumeName,
  nameClashes,
  relaySecret,
  removeSecrets,
  act,
  renewSecrets,
  ping,
  close,
};

/**
 * @param db database with the schema of this version
 * @param log told when the database begins to fail and when it works again
 */
export function kyselyStore(db: Kysely<Database>, log: Log): Store {
  /** The operation that has failed last and has not worked since. */
  let failing: 'read' | 'write' | undefined;

  /**
   * Turns whatever a driver throws into a {@link StoreError}, and tells the operator when failing begins and ends. While
   * writes fail, as on a full disk, reads that work prove nothing.
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

  const methods = Object.entries(OPERATIONS).map(([name, kind]) => {
    const query = QUERIES[name as Operation] as (...given: readonly unknown[]) => Promise<unknown>;
    return [name, (...args: readonly unknown[]) => watch(query(db, ...args), kind)];
  });
  return Object.fromEntries(methods) as Store;
}

/** Those that are done whenever they do not throw; the others say whether there was what they were to change. */
const UNCONDITIONAL: ReadonlySet<Operation> = new Set(['insertAccounts', 'insertKey', 'insertInvitations']);

/** See {@link Store.act}. */
function act<Name extends ActOperation>(
  db: Kysely<Database>,
  name: Name,
  args: Parameters<Store[Name]>,
  entries: readonly AuditRecord[],
): ReturnType<Store[Name]> {
  const query = QUERIES[name] as (...given: readonly unknown[]) => Promise<unknown>;
  const done = db.transaction().execute(async (transaction) => {
    const result = await query(transaction, ...args);
    const isDone = UNCONDITIONAL.has(name) || (result !== undefined && result !== false);
    if (isDone) await audit.keepActs(transaction, entries);
    return result;
  });
  return done as ReturnType<Store[Name]>;
}

async function ping(db: Kysely<Database>): Promise<void> {
  await sql`select 1 from accounts limit 1`.execute(db);
}

function close(db: Kysely<Database>): Promise<void> {
  return db.destroy();
}
