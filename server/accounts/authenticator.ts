/**
 * Authenticates requests: from the `Authorization` field to a key and its account (protocol.md section 2.1). Admin
 * actions and the expiry of keys are applied to live tunnels and sockets too: what is in use is compared with the store,
 * so it does not matter what the change was, or whether one was missed.
 */
import type { KeyEnd } from '../../shared/control.ts';
import { API_ERRORS, ApiError, withValues } from '../../shared/errors.ts';
import { API_KEY_PATTERN } from '../../shared/value-rules.ts';
import type { Clock, Timer } from '../clock.ts';
import type { Limit } from '../rate-limiter.ts';
import type { Log } from '../log.ts';
import { type AccountRecord, batches, type KeyOwner, type TunnelOrders } from '../store/records.ts';
import { orUnavailable, StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { hashKey, sameHash } from './api-keys.ts';
import { CredentialLookups } from './credential-lookups.ts';

/**
 * Maximum number of invalid API keys that an IP address may send per minute, and in one burst; further ones get
 * 429 instead of 401, so that a misconfigured program slows down. Valid keys are never refused.
 * @limit owner: Invalid API keys from one IP address | 429 `too-many-wrong-keys`
 */
export const WRONG_KEYS_PER_MINUTE = 30;
/**
 * Maximum number of valid API keys that the relay caches, which do not have to wait for that; about 1 MB. Beyond
 * that, the least recently used key is dropped.
 */
export const KNOWN_KEYS_MAX = 10_000;
/** Milliseconds between two checks for changed keys and accounts; the relay must act on a change within 1 s. */
export const ACCESS_POLL_MS = 300;
/** Number of keys or accounts that one query reads. SQLite accepts 32,766 values in a statement. */
export const ACCESS_BATCH = 500;
/** Milliseconds between two writes of the last use of keys to the store: it is accurate to within a minute. */
export const KEY_USES_FLUSH_MS = 30_000;
/** Milliseconds until the first use of a key is written. */
export const KEY_FIRST_USE_MS = 1000;

/** The scheme in any case, one or more spaces, the key (RFC 9110 section 11.2). */
const BEARER = /^bearer +(\S.*)$/i;
const CHALLENGE = { 'WWW-Authenticate': 'Bearer' };

export class Authenticator {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #uses: Pick<KeyUses, 'note'>;
  readonly #lookups: CredentialLookups;
  /** hashes of keys that were recently valid and need not wait, the most recent at the end */
  readonly #known = new Set<string>();

  /**
   * @param uses called with each valid key
   * @param limit counts wrong keys at all relays that share the database
   */
  constructor(store: Store, clock: Clock, uses: Pick<KeyUses, 'note'>, limit: Limit = (local) => local) {
    this.#store = store;
    this.#clock = clock;
    this.#uses = uses;
    this.#lookups = new CredentialLookups({
      clock,
      perMinute: WRONG_KEYS_PER_MINUTE,
      limit,
      kind: 'key',
      wrong: () => new ApiError(API_ERRORS.invalidKey, CHALLENGE),
      tooMany: API_ERRORS.tooManyWrongKeys,
    });
  }

  /**
   * Queries the store each time, so that a key is invalid from the moment it is revoked or expires.
   *
   * @param authorization value of the `Authorization` field
   * @param address the address that wrong keys are counted for, if any
   * @throws ApiError 401 for a missing or unknown key, 429 for an unknown one after too many from the address, 403 for
   *   one of a suspended account, 503 if the store fails
   */
  async authenticate(authorization: string | undefined, address?: string): Promise<KeyOwner> {
    const hash = this.hashOf(authorization);
    const isKnown = this.#known.delete(hash);
    const found = isKnown
      ? await this.#find(hash)
      : await this.#lookups.find(address, () => this.#find(hash));
    if (found === undefined) throw new ApiError(API_ERRORS.invalidKey, CHALLENGE);
    this.#remember(hash);
    this.#uses.note(found.keyId, !isKnown);
    const { suspended } = found.account;
    if (suspended !== null)
      throw new ApiError(withValues(API_ERRORS.accountSuspended, { reason: suspended }));
    return found;
  }

  /**
   * The hash of the presented key, which may not exist.
   *
   * @param authorization value of the `Authorization` field
   * @throws ApiError 401 for a missing or malformed key
   */
  hashOf(authorization: string | undefined): string {
    const key = BEARER.exec(authorization?.trim() ?? '')?.[1];
    if (key === undefined) throw new ApiError(API_ERRORS.missingKey, CHALLENGE);
    // A malformed key never reaches the store.
    if (!API_KEY_PATTERN.test(key)) throw new ApiError(API_ERRORS.invalidKey, CHALLENGE);
    return hashKey(key);
  }

  /** Looked up by its hash: the time depends on bits that cannot be chosen, not on how much of a key is right. */
  async #find(hash: string): Promise<KeyOwner | undefined> {
    const owner = await orUnavailable(this.#store.findKeyOwner(hash));
    if (owner === undefined || !sameHash(owner.hash, hash)) return undefined;
    const isOver = owner.expiresAt !== null && owner.expiresAt <= this.#clock.now();
    return isOver ? undefined : owner;
  }

  #remember(hash: string): void {
    this.#known.add(hash);
    if (this.#known.size <= KNOWN_KEYS_MAX) return;
    const [oldest] = this.#known;
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}

/* When keys were last used, written to the store periodically: no request waits for it, or costs a write of its own. */

export class KeyUses {
  readonly #store: Pick<Store, 'markKeysUsed'>;
  readonly #clock: Clock;
  /** ids of keys whose use is not stored yet */
  #used = new Set<string>();
  #timer: Timer | undefined;
  /** for keys that were used for the first time */
  #early: Timer | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, 'markKeysUsed'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * A key was used just now.
   *
   * @param isFirst whether it was not used for long: lists must not show a client as never seen while it is online
   */
  note(keyId: string, isFirst = false): void {
    this.#used.add(keyId);
    if (!isFirst || this.#timer === undefined) return;
    this.#early ??= this.#clock.setTimeout(() => {
      this.#early = undefined;
      this.#running = this.#running.then(() => this.#flush([]));
    }, KEY_FIRST_USE_MS);
  }

  /**
   * Starts to write to the store, every {@link KEY_USES_FLUSH_MS}.
   *
   * @param users whose keys count as used while anything is open
   */
  start(users: Pick<KeyUsers, 'keysInUse'>): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#running = this.#running.then(() => this.#flushAndGoOn(users));
    }, KEY_USES_FLUSH_MS);
  }

  /** Writes the rest to the store; it is lost if the store fails. */
  async stop(users: Pick<KeyUsers, 'keysInUse'>): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#early?.cancel();
    await this.#running;
    await this.#flush(users.keysInUse());
  }

  async #flushAndGoOn(users: Pick<KeyUsers, 'keysInUse'>): Promise<void> {
    await this.#flush(users.keysInUse());
    if (this.#timer !== undefined) this.start(users);
  }

  async #flush(inUse: Iterable<string>): Promise<void> {
    for (const keyId of inUse) this.#used.add(keyId);
    const used = [...this.#used];
    this.#used = new Set();
    try {
      for (const batch of batches(used, ACCESS_BATCH)) {
        await this.#store.markKeysUsed(batch, this.#clock.now());
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      for (const keyId of used) this.#used.add(keyId);
    }
  }
}

/** Sockets by the keys they were opened with. */
interface KeyUsers {
  keysInUse(): Iterable<string>;
  /** These keys are no longer valid, for the given reason. */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void;
}

/** Tunnels by the accounts they belong to. */
interface AccountUsers {
  accountIds(): Iterable<string>;
  updateAccount(account: AccountRecord): void;
  endAccount(accountId: string): void;
  /** Operators' actions on tunnels. */
  followOrders(orders: TunnelOrders): void;
}

export class AccessWatch {
  readonly #store: Pick<Store, 'findEndedKeys' | 'findAccounts' | 'tunnelOrders'>;
  readonly #keys: KeyUsers;
  readonly #accounts: AccountUsers;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #log: Log;

  constructor(
    store: Pick<Store, 'findEndedKeys' | 'findAccounts' | 'tunnelOrders'>,
    keys: KeyUsers,
    accounts: AccountUsers,
    clock: Pick<Clock, 'now'>,
    log: Log,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#keys = keys;
    this.#accounts = accounts;
    this.#log = log;
  }

  /**
   * Closes what was opened with keys that have ended, and reads the rest.
   *
   * @returns applies the rest
   * @throws StoreError after revoking the keys that the store could provide
   */
  async follow(): Promise<() => void> {
    await this.#followKeys();
    const { present, removed } = await this.#readAccounts();
    const orders = await this.#store.tunnelOrders();
    return () => {
      for (const account of present) this.#accounts.updateAccount(account);
      for (const id of removed) this.#accounts.endAccount(id);
      this.#accounts.followOrders(orders);
    };
  }

  async #followKeys(): Promise<void> {
    const ended = new Map<string, KeyEnd>();
    for (const batch of batches([...new Set(this.#keys.keysInUse())], ACCESS_BATCH)) {
      for (const { id, end } of await this.#store.findEndedKeys(batch, this.#clock.now())) ended.set(id, end);
    }
    if (ended.size === 0) return;
    this.#log('keys revoked', { keys: ended.size });
    this.#keys.revoke(ended);
  }

  async #readAccounts(): Promise<{ present: readonly AccountRecord[]; removed: ReadonlySet<string> }> {
    const present: AccountRecord[] = [];
    const removed = new Set(this.#accounts.accountIds());
    for (const batch of batches([...removed], ACCESS_BATCH))
      present.push(...(await this.#store.findAccounts(batch)));
    for (const { id } of present) removed.delete(id);
    return { present, removed };
  }
}

/**
 * How a running relay learns that another program has revoked keys, or changed or removed accounts: it checks the
 * store's revision every {@link ACCESS_POLL_MS}.
 */
export class PolledAccessFeed {
  readonly #store: Pick<Store, 'accessRevision'>;
  readonly #clock: Clock;
  #seen: string | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, 'accessRevision'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Starts to call `onChange`: once, and then within a second of each change. It is called again if it fails with a
   * StoreError.
   */
  start(onChange: () => Promise<void>): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#running = this.#lookAndGoOn(onChange);
    }, ACCESS_POLL_MS);
  }

  /** Calls it again soon, although nothing has changed. */
  again(): void {
    this.#seen = undefined;
  }

  /** Stops calling it; fulfilled when no call is in progress. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
  }

  async #lookAndGoOn(onChange: () => Promise<void>): Promise<void> {
    try {
      const revision = await this.#store.accessRevision(this.#clock.now());
      const isChanged = revision !== this.#seen;
      this.#seen = revision;
      if (isChanged) await onChange();
    } catch (error) {
      // The store itself reports the failure; the next check catches up.
      if (!(error instanceof StoreError)) throw error;
      this.again();
    }
    if (this.#timer !== undefined) this.start(onChange);
  }
}
