/** The relay's persistent state: opened, locked, and with a first key. */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ensureKey } from '../accounts/accounts.ts';
import { type Clock, systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Log } from '../log.ts';
import { countStoreOperation } from '../observe/counters.ts';
import { LOG_REPEAT_MS, type Operator } from '../observe/logger.ts';
import { lockDatabase, openServingStore } from '../store/open-store.ts';
import { makeFolder, type RelayLock, syncFolderOf } from '../store/sqlite/sqlite-files.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';

/**
 * Duration above which a database operation is reported as slow: a hundred times what a commit to a disk takes.
 */
export const STORE_SLOW_MS = 500;

export type State = Awaited<ReturnType<typeof openState>>;

/**
 * Opens the store.
 *
 * @param isShared whether another relay still has the database; otherwise it is locked first
 * @throws Error with a text for the operator if another relay has the database, or it cannot be opened
 */
export async function openState(
  { database, cluster, bootstrapKey, dataDir }: Config,
  operator: Operator,
  isShared: boolean,
) {
  const { log, primary } = operator;
  if (primary !== undefined) return stateOf(primary.store, log);
  const take = (): Promise<RelayLock> =>
    lockDatabase(database, cluster === undefined ? 'one' : 'cluster', log);
  let lock = isShared ? undefined : await take();
  const store = observeStore(await openServingStore(database, systemClock, log), systemClock, log);
  let isNew = false;
  await ensureKey(store, systemClock, bootstrapKey, (key) => {
    handOutFirstKey(key, dataDir, operator);
    isNew = true;
  });
  return {
    store,
    /** whether there was no key before, so that one was created */
    isNew,
    /**
     * Locks the database for this relay.
     *
     * @throws Error with a text for the operator if another relay has locked it
     */
    async lock(): Promise<void> {
      lock = await take();
    },
    /** Unlocks it for another relay; the store stays open. */
    unlock(): void {
      lock?.release();
      lock = undefined;
    },
    /** Releases the database for another relay. */
    async close(): Promise<void> {
      await store.close();
      lock?.release();
    },
  };
}

/** The state of a worker: the first process of its relay has opened and locked it. */
function stateOf(store: Store, log: Log) {
  return {
    store: observeStore(store, systemClock, log),
    isNew: false,
    lock: (): Promise<void> => Promise.resolve(),
    unlock(): void {},
    close: (): Promise<void> => Promise.resolve(),
  };
}

/**
 * Stores the relay's public URL for commands that print addresses. The relay serves even if this fails: the database
 * has logged that, and the commands ask for the URL.
 */
export async function storePublicOrigin(store: Store, { origin }: URL): Promise<void> {
  try {
    await store.setPublicOrigin(origin);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

/*
 * How the operator gets the first API key (docs/operating/accounts.md): a terminal shows it. Otherwise stderr may be written to
 * a journal or a log collector, which keeps it and shows it to others, so the key is written to a file.
 */

const FILE_NAME = 'first-key';

/** @throws Error with a text for the operator if the file cannot be written */
export function handOutFirstKey(
  key: string,
  dataDir: string,
  { log, tell }: Pick<Operator, 'log' | 'tell'>,
): void {
  if (tell !== undefined) {
    log('first key made', { account: 'default' });
    tell(`API key for the account "default", shown only now: ${key}`);
    return;
  }
  const file = join(dataDir, FILE_NAME);
  try {
    makeFolder(dataDir);
    // The permissions of an existing file, from an earlier relay or another user, must not apply to the new one.
    rmSync(file, { force: true });
    writeNew(file, `${key}\n`);
    syncFolderOf(file);
  } catch (error) {
    throw new Error(
      `the first API key cannot be written to ${file}; choose a different folder with CULVERT_DATA_DIR, or set CULVERT_BOOTSTRAP_KEY`,
      { cause: error },
    );
  }
  log('first key made', { account: 'default', file });
}

/** Writes a file that must not exist yet, for its owner only. It is on the disk when this returns. */
function writeNew(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/* A store whose every operation is timed, counted and, if slow, reported. */

/** @returns the store, to be used instead of the given one */
export function observeStore(store: Store, clock: Clock, log: Log): Store {
  let lastReport = -Infinity;

  async function time(operation: string, run: () => Promise<unknown>): Promise<unknown> {
    const start = clock.monotonic();
    let failed = false;
    try {
      return await run();
    } catch (error) {
      failed = error instanceof StoreError;
      throw error;
    } finally {
      const now = clock.monotonic();
      countStoreOperation(operation, (now - start) / 1000, failed);
      if (now - start >= STORE_SLOW_MS && now - lastReport >= LOG_REPEAT_MS) {
        lastReport = now;
        log('store slow', { operation, ms: Math.round(now - start) });
      }
    }
  }

  // A proxy, because every method is handled alike, including those added later.
  return new Proxy(store, {
    get(target, property: keyof Store) {
      const method: unknown = target[property];
      if (typeof method !== 'function') return method;
      return (...args: unknown[]) => time(property, () => method.apply(target, args) as Promise<unknown>);
    },
  });
}
