/**
 * Applies admin actions and the expiry of keys to live tunnels and sockets. It compares what is in use with the store,
 * so it does not matter what the change was, or whether one was missed.
 */
import type { KeyEnd } from '../../shared/control.ts';
import { batches } from '../batches.ts';
import type { Clock, Timer } from '../clock.ts';
import { ACCESS_BATCH, ACCESS_POLL_MS } from '../limits.ts';
import type { Log } from '../log.ts';
import type { AccountRecord, TunnelOrders } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';

/** Sockets by the keys they were opened with. */
export interface KeyUsers {
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

  /** @throws StoreError after applying everything that the store could provide */
  readonly follow = async (): Promise<void> => {
    await this.#followKeys();
    await this.#followAccounts();
    this.#accounts.followOrders(await this.#store.tunnelOrders());
  };

  async #followKeys(): Promise<void> {
    const ended = new Map<string, KeyEnd>();
    for (const batch of batches([...new Set(this.#keys.keysInUse())], ACCESS_BATCH)) {
      for (const { id, end } of await this.#store.findEndedKeys(batch, this.#clock.now())) ended.set(id, end);
    }
    if (ended.size === 0) return;
    this.#log('keys revoked', { keys: ended.size });
    this.#keys.revoke(ended);
  }

  async #followAccounts(): Promise<void> {
    const removed = new Set(this.#accounts.accountIds());
    for (const batch of batches([...removed], ACCESS_BATCH)) {
      for (const account of await this.#store.findAccounts(batch)) {
        removed.delete(account.id);
        this.#accounts.updateAccount(account);
      }
    }
    for (const id of removed) this.#accounts.endAccount(id);
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

  /** Stops calling it; fulfilled when no call is in progress. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
  }

  async #lookAndGoOn(onChange: () => Promise<void>): Promise<void> {
    try {
      const revision = await this.#store.accessRevision(this.#clock.now());
      if (revision !== this.#seen) await onChange();
      this.#seen = revision;
    } catch (error) {
      // The store itself reports the failure; the next check catches up.
      if (!(error instanceof StoreError)) throw error;
    }
    if (this.#timer !== undefined) this.start(onChange);
  }
}
