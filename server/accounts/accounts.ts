/** Creates accounts and keys. What a relay creates itself, for its first start, is in the audit log as an act of `relay`. */
import { randomUUID } from 'node:crypto';
import type { Plan } from '../../shared/tunnel.ts';
import type { Clock } from '../clock.ts';
import type { Store } from '../store/store.ts';
import type { AccountRecord, AuditRecord, KeyRecord, KeyScope } from '../store/records.ts';
import { generateKey, hashKey, hintOf } from './api-key.ts';

export interface NewAccount {
  readonly name: string;
  readonly plan: Plan;
  readonly subdomain: string | null;
}

/** @throws ConflictError when the name or the subdomain is taken */
export async function createAccount(
  store: Store,
  clock: Pick<Clock, 'now'>,
  wanted: NewAccount,
): Promise<AccountRecord> {
  const account = newAccount(clock, wanted);
  const entry = ownAct(clock, 'account.create', account.name, `plan ${account.plan}`);
  await store.act('insertAccounts', [[account], []], [entry]);
  return account;
}

function ownAct(clock: Pick<Clock, 'now'>, action: string, subject: string, detail: string): AuditRecord {
  return { id: randomUUID(), at: clock.now(), actor: 'relay', action, subject, detail, accountId: null };
}

/** An account that is not stored yet. */
export function newAccount(clock: Pick<Clock, 'now'>, wanted: NewAccount): AccountRecord {
  return { id: randomUUID(), ...wanted, createdAt: clock.now(), suspended: null };
}

/** A key that was just created. The key itself is known only here. */
export interface IssuedKey {
  readonly key: string;
  readonly record: KeyRecord;
}

/** What a new key is for. */
export interface NewKey {
  /** for people; none unless given */
  readonly label?: string;
  /** seconds for which it is good; without end unless given */
  readonly ttl?: number | undefined;
  /** everything of its account unless given */
  readonly scope?: KeyScope;
  /** the key to use instead of a random one */
  readonly key?: string;
}

/**
 * Creates a key for an account and stores its hash.
 *
 * @throws ConflictError when that key exists
 */
export async function issueKey(
  store: Store,
  clock: Pick<Clock, 'now'>,
  account: AccountRecord,
  wanted: NewKey = {},
): Promise<IssuedKey> {
  const issued = newKey(clock, account, wanted);
  const { id, hint } = issued.record;
  const entry = ownAct(clock, 'key.create', id, `${hint}… of ${account.name}`);
  await store.act('insertKey', [issued.record], [entry]);
  return issued;
}

/** A key that is not stored yet. */
export function newKey(
  clock: Pick<Clock, 'now'>,
  account: AccountRecord,
  { label = '', ttl, scope = { kind: 'all' }, key = generateKey() }: NewKey = {},
): IssuedKey {
  const createdAt = clock.now();
  const record: KeyRecord = {
    id: randomUUID(),
    accountId: account.id,
    hash: hashKey(key),
    hint: hintOf(key),
    createdAt,
    label,
    expiresAt: ttl === undefined ? null : createdAt + ttl * 1000,
    scope,
  };
  return { key, record };
}
