/**
 * Applies to live tunnels and sockets what was administered while the relay runs, and that the time of a key is over. It compares what is in use with what is
 * stored, so it does not matter what the change was, nor whether one was missed.
 */
import type { KeyEnd } from '../../shared/control.ts';
import { batches } from '../batches.ts';
import type { Clock } from '../clock.ts';
import { ACCESS_BATCH } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { AccountRecord, TunnelOrders } from '../store/records.ts';

/** Sockets by the keys they were opened with. */
export interface KeyUsers {
  keysInUse(): Iterable<string>;
  /** These keys are no longer valid, for that reason. */
  revoke(keys: ReadonlyMap<string, KeyEnd>): void;
}

/** Tunnels by the accounts they belong to. */
export interface AccountUsers {
  accountIds(): Iterable<string>;
  updateAccount(account: AccountRecord): void;
  endAccount(accountId: string): void;
  /** What whoever runs the relay has said about tunnels. */
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

  /** @throws StoreError after everything was applied that the store could tell */
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
