/** The first key, so that a fresh relay can be used immediately (docs/operating/accounts.md). */
import type { Clock } from '../clock.ts';
import type { AccountRecord } from '../store/records.ts';
import { ConflictError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { createAccount, issueKey } from './accounts.ts';
import { generateKey, hashKey } from './api-keys.ts';

/** The configured key was revoked. Making it valid again would undo that at each start. */
export class RevokedKeyError extends Error {
  constructor() {
    super('the bootstrap key was revoked');
    this.name = 'RevokedKeyError';
  }
}

/** Without a subdomain: the operator decides which label it should have. */
const DEFAULT_ACCOUNT = { name: 'default', plan: 'dev', subdomain: null } as const;

/**
 * Makes sure that there is a key.
 *
 * @param configured the key to create, if the operator set one
 * @param handOut gives the operator a new key, if there was none. It is called before the key is stored: once a key is
 *   stored, seen or not, the relay creates no other by itself
 * @throws RevokedKeyError, or what `handOut` throws, with no key stored
 */
export async function ensureKey(
  store: Store,
  clock: Clock,
  configured: string | undefined,
  handOut: (key: string) => void,
): Promise<void> {
  if (configured === undefined) {
    if (await store.hasKeys()) return;
    const account = await defaultAccount(store, clock);
    const key = generateKey();
    handOut(key);
    await issueKey(store, clock, account, { key });
    return;
  }
  if ((await store.findKeyOwner(hashKey(configured))) !== undefined) return;
  try {
    await issueKey(store, clock, await defaultAccount(store, clock), { key: configured });
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    // A relay that starts at the same time may have created it in between.
    if ((await store.findKeyOwner(hashKey(configured))) === undefined) throw new RevokedKeyError();
  }
}

async function defaultAccount(store: Store, clock: Clock): Promise<AccountRecord> {
  const existing = await store.findAccount(DEFAULT_ACCOUNT.name);
  if (existing !== undefined) return existing;
  try {
    return await createAccount(store, clock, DEFAULT_ACCOUNT);
  } catch (error) {
    // The command line may have created it in between.
    const made = error instanceof ConflictError ? await store.findAccount(DEFAULT_ACCOUNT.name) : undefined;
    if (made === undefined) throw error;
    return made;
  }
}
