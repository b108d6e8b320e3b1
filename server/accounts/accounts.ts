/**
 * Creates accounts and keys. Whatever a relay creates itself at its first start is in the audit log as an action of
 * `relay`.
 */
import { randomUUID } from 'node:crypto';
import type { Plan, TtlLimits } from '../../shared/tunnel.ts';
import type { Clock } from '../clock.ts';
import type { AccountRecord, AuditRecord, KeyRecord, KeyScope } from '../store/records.ts';
import { ConflictError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { generateKey, hashKey, hintOf, maxTtlOf } from './api-keys.ts';

export interface NewAccount {
  readonly name: string;
  readonly plan: Plan;
  readonly subdomain: string | null;
}

/** @throws ConflictError if the name or the subdomain is taken */
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

/** Properties of a new key. */
export interface NewKey {
  /** for people; none by default */
  readonly label?: string;
  /** seconds that it is valid; unlimited by default */
  readonly ttl?: number | undefined;
  /** its whole account by default */
  readonly scope?: KeyScope;
  /** the key to use instead of a random one */
  readonly key?: string;
}

/**
 * Creates a key for an account and stores its hash.
 *
 * @throws ConflictError if that key exists
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

/* The limits of each plan (protocol.md section 3.6), as data. A running relay applies changes of plans. */

interface PlanRules {
  /** for people */
  readonly title: string;
  /** Whether a tunnel may request its name. */
  readonly customNames: boolean;
  /** Simultaneous live tunnels; `null`: unlimited */
  readonly maxTunnels: number | null;
  /** Open inbound connections of each tunnel, including those that wait for the client; `null`: unlimited */
  readonly maxConnections: number | null;
  /** Domains, including unverified ones; `null`: unlimited */
  readonly maxDomains: number | null;
  /** Those of its tunnels that may be TCP tunnels: each takes one of the relay's ports */
  readonly maxTcp: number;
  /** Names that it may keep while they have no tunnel */
  readonly maxNames: number;
  /** Whether the rate of create requests is limited for each key, instead of for the account. */
  readonly ratePerKey: boolean;
  /** The longest life of a tunnel, counted from now, in seconds; `null`: the relay's limit */
  readonly maxTtl: number | null;
}

/**
 * `free` is for strangers: enough for a site under development, too little for production. `dev` is the plan of a
 * relay's first account, so its limits only stop runaway programs. `team` is trusted.
 */
export const PLAN_RULES: Readonly<Record<Plan, PlanRules>> = {
  free: {
    title: 'Free',
    customNames: false,
    maxTunnels: 20,
    maxConnections: 200,
    maxDomains: 0,
    maxTcp: 0,
    maxNames: 0,
    ratePerKey: false,
    maxTtl: 24 * 3600,
  },
  dev: {
    title: 'Dev',
    customNames: true,
    maxTunnels: 1000,
    maxConnections: 10_000,
    maxDomains: 5,
    maxTcp: 2,
    maxNames: 5,
    ratePerKey: false,
    maxTtl: null,
  },
  team: {
    title: 'Team',
    customNames: true,
    maxTunnels: null,
    maxConnections: null,
    maxDomains: null,
    maxTcp: 20,
    maxNames: 100,
    ratePerKey: true,
    maxTtl: null,
  },
};

/**
 * @param relay the relay's limits for every account
 * @param scope of the key
 * @returns the limits for a key of an account on the plan: the smallest of all
 */
export function ttlLimitsOf(plan: Plan, relay: TtlLimits, scope: KeyScope): TtlLimits {
  const maxTtl = Math.min(relay.maxTtl, PLAN_RULES[plan].maxTtl ?? Infinity, maxTtlOf(scope));
  return { maxTtl, defaultTtl: Math.min(relay.defaultTtl, maxTtl) };
}

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
