/** Creates accounts and keys. What a relay creates itself, for its first start, is in the audit log as an act of `relay`. */
import { randomUUID } from 'node:crypto';
import type { Plan, TtlLimits } from '../../shared/tunnel.ts';
import type { Clock } from '../clock.ts';
import type { AccountRecord, AuditRecord, KeyRecord, KeyScope } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { generateKey, hashKey, hintOf } from './api-keys.ts';

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

/* What each plan allows (docs/protocol.md section 3.6), as data. A running relay follows a changed plan. */

export interface PlanRules {
  /** as people write it */
  readonly title: string;
  /** Whether a tunnel may ask for its name. */
  readonly customNames: boolean;
  /** Live tunnels at a time; `null`: unlimited */
  readonly maxTunnels: number | null;
  /** Open inbound connections of each tunnel, including those that wait for the client; `null`: unlimited */
  readonly maxConnections: number | null;
  /** Domains, those that are not verified included; `null`: unlimited */
  readonly maxDomains: number | null;
  /** The longest life of a tunnel, counted from now, in seconds; `null`: what the relay allows */
  readonly maxTtl: number | null;
}

/**
 * `free` is for strangers: enough for a site under development, too little for production. `dev` is what the first account of
 * a relay gets, so its numbers only stop what has run away. `team` is trusted.
 */
export const PLAN_RULES: Readonly<Record<Plan, PlanRules>> = {
  free: {
    title: 'Free',
    customNames: false,
    maxTunnels: 20,
    maxConnections: 200,
    maxDomains: 0,
    maxTtl: 24 * 3600,
  },
  dev: {
    title: 'Dev',
    customNames: true,
    maxTunnels: 1000,
    maxConnections: 10_000,
    maxDomains: 5,
    maxTtl: null,
  },
  team: {
    title: 'Team',
    customNames: true,
    maxTunnels: null,
    maxConnections: null,
    maxDomains: null,
    maxTtl: null,
  },
};

/**
 * @param relay what the relay allows everybody
 * @returns what it allows an account on the plan: the smaller of both
 */
export function ttlLimitsOf(plan: Plan, relay: TtlLimits): TtlLimits {
  const maxTtl = Math.min(relay.maxTtl, PLAN_RULES[plan].maxTtl ?? Infinity);
  return { maxTtl, defaultTtl: Math.min(relay.defaultTtl, maxTtl) };
}
