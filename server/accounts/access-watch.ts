/**
 * Applies to live tunnels and sockets what was administered while the relay runs. It compares what is in use with what is
 * stored, so it does not matter what the change was, nor whether one was missed.
 */
import { batches } from '../batches.ts';
import { ACCESS_BATCH } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { AccountRecord } from '../store/records.ts';

/** Sockets by the keys they were opened with. */
export interface KeyUsers {
  keysInUse(): Iterable<string>;
  /** These keys are no longer valid. */
  revoke(keyIds: ReadonlySet<string>): void;
}

/** Tunnels by the accounts they belong to. */
export interface AccountUsers {
  accountIds(): Iterable<string>;
  updateAccount(account: AccountRecord): void;
  endAccount(accountId: string): void;
}

export class AccessWatch {
  readonly #store: Pick<Store, 'findValidKeys' | 'findAccounts'>;
  readonly #keys: KeyUsers;
  readonly #accounts: AccountUsers;
  readonly #log: Log;

  constructor(
    store: Pick<Store, 'findValidKeys' | 'findAccounts'>,
    keys: KeyUsers,
    accounts: AccountUsers,
    log: Log,
  ) {
    this.#store = store;
    this.#keys = keys;
    this.#accounts = accounts;
    this.#log = log;
  }

  /** @throws StoreError after everything was applied that the store could tell */
  readonly follow = async (): Promise<void> => {
    await this.#followKeys();
    await this.#followAccounts();
  };

  async #followKeys(): Promise<void> {
    const revoked = new Set(this.#keys.keysInUse());
    for (const batch of batches([...revoked], ACCESS_BATCH)) {
      for (const valid of await this.#store.findValidKeys(batch)) revoked.delete(valid);
    }
    if (revoked.size === 0) return;
    this.#log('keys revoked', { keys: revoked.size });
    this.#keys.revoke(revoked);
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
