/** Creates accounts and keys, for the command line and for a first start. */
import { randomUUID } from 'node:crypto';
import type { Plan } from '../../shared/tunnel.ts';
import type { Clock } from '../clock.ts';
import type { Store } from '../store/store.ts';
import type { AccountRecord, KeyRecord } from '../store/records.ts';
import { generateKey, hashKey, hintOf } from './api-key.ts';

export interface NewAccount {
  readonly name: string;
  readonly plan: Plan;
  readonly subdomain: string | null;
}

/** @throws ConflictError when the name or the subdomain is taken */
export async function createAccount(store: Store, clock: Clock, wanted: NewAccount): Promise<AccountRecord> {
  const account: AccountRecord = { id: randomUUID(), ...wanted, createdAt: clock.now() };
  await store.insertAccount(account);
  return account;
}

/** A key that was just created. The key itself is known only here. */
export interface IssuedKey {
  readonly key: string;
  readonly record: KeyRecord;
}

/**
 * Creates a key for an account and stores its hash.
 *
 * @param key the key to use instead of a random one
 * @throws ConflictError when that key exists
 */
export async function issueKey(
  store: Store,
  clock: Clock,
  account: AccountRecord,
  key = generateKey(),
): Promise<IssuedKey> {
  const record: KeyRecord = {
    id: randomUUID(),
    accountId: account.id,
    hash: hashKey(key),
    hint: hintOf(key),
    createdAt: clock.now(),
  };
  await store.insertKey(record);
  return { key, record };
}
