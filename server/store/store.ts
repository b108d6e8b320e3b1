/** What the relay keeps beyond its own life. One set of queries does this on either database: kysely-store.ts. */
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import type { Plan } from '../../shared/tunnel.ts';
import { STORE_RETRY_AFTER_SECONDS } from '../limits.ts';
import type {
  AccountRecord,
  KeyListing,
  KeyOwner,
  KeyRecord,
  LinkRecord,
  OwnedTunnel,
  RevokedLink,
  StoredAccess,
  StoredKnocks,
  TunnelRecord,
} from './records.ts';

/** What a tunnel's traffic has added since it was last stored. */
export interface TrafficDelta {
  readonly id: string;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly requests: number;
  /** wall time in ms, which traffic may have moved */
  readonly expiresAt: number;
}

/** A tunnel that has ended. */
export interface ReleasedTunnel {
  readonly id: string;
  readonly slug: string;
  readonly accountId: string;
  /** wall time in ms until which no other account gets the slug */
  readonly heldUntil: number;
  /** wall time in ms at which it has expired for its relay; if others have extended it beyond that, it stays */
  readonly expiredAt?: number;
}

/** Tunnels whose time is over and that no relay has ended. */
export interface Overdue {
  /** those that expired until this wall time in ms */
  readonly until: number;
  /** wall time in ms */
  readonly now: number;
  /** ms for which the slug of an ended tunnel stays with its account */
  readonly nameHold: number;
  /** how many at most */
  readonly limit: number;
}

/** The rules that are checked at the moment a tunnel is stored. */
export interface InsertRules {
  /** live tunnels of its account, this one included; `null`: unlimited */
  readonly maxTunnels: number | null;
  /** ms for which the slug of an ended tunnel stays with its account */
  readonly nameHold: number;
}

/** How many links a tunnel may have. */
export interface LinkRules {
  readonly maxLinks: number;
  /** those that were revoked, and whose time is not over */
  readonly maxRevoked: number;
}

/** What became of a link. */
export interface Revocation {
  /** Whether the tunnel had such a link until now. */
  readonly isFirst: boolean;
  /** all links of the tunnel that were revoked, and whose time is not over */
  readonly revoked: readonly RevokedLink[];
}

/** How an expiry is moved, in wall time in ms. */
export interface Extension {
  readonly by: number;
  /** what this relay knows it to be now, stored or not */
  readonly from: number;
  readonly latest: number;
}

/** What a tunnel was when it was read: see {@link TunnelRecord}. */
export interface KnockRevisions {
  readonly accessRevision: number;
  readonly knocksRevision: number;
}

/**
 * Each method has stored what it was given once its promise is fulfilled, as a whole or not at all.
 * A database that fails rejects with {@link StoreError}.
 */
export interface Store {
  /** @throws ConflictError `name` or `subdomain`, which may also be a live tunnel's or a held name */
  insertAccount(account: AccountRecord): Promise<void>;
  findAccount(name: string): Promise<AccountRecord | undefined>;
  /** Those of the accounts that exist, in any order. */
  findAccounts(ids: readonly string[]): Promise<AccountRecord[]>;
  /** All accounts, oldest first. */
  listAccounts(): Promise<AccountRecord[]>;
  /** @returns the account as it is now, `undefined` for an unknown name */
  setPlan(name: string, plan: Plan): Promise<AccountRecord | undefined>;
  /**
   * Removes an account with its keys, tunnels and held names.
   *
   * @returns what it was, `undefined` for an unknown name
   */
  removeAccount(name: string): Promise<AccountRecord | undefined>;
  /** @throws ConflictError `key` */
  insertKey(key: KeyRecord): Promise<void>;
  /** @returns `undefined` for an unknown or revoked key */
  findKeyOwner(hash: string): Promise<KeyOwner | undefined>;
  /** Whether there is or was a key, revoked ones included. */
  hasKeys(): Promise<boolean>;
  /** Valid keys, oldest first; only those of one account if a name is given. */
  listKeys(account?: string): Promise<KeyListing[]>;
  /** Those of the keys that are valid, in any order. */
  findValidKeys(ids: readonly string[]): Promise<string[]>;
  /**
   * Revokes a key.
   *
   * @param at wall time in ms
   * @returns the key, `undefined` for an unknown or revoked one
   */
  revokeKey(id: string, at: number): Promise<KeyListing | undefined>;
  /** A number that grows whenever a key is revoked, or an account is changed or removed. */
  accessRevision(): Promise<number>;

  /**
   * Stores a new tunnel. If relays do so at once, only one tunnel gets a slug, and no account gets more than it may have.
   *
   * @param rules nothing is limited if none are given
   * @throws ConflictError `slug`, which may be an account's subdomain; FullError
   */
  insertTunnel(tunnel: TunnelRecord, rules?: InsertRules): Promise<void>;
  /** Ids of all tunnels, oldest first. */
  tunnelIds(): Promise<string[]>;
  /** The tunnel with this id, as every relay on the database has left it. */
  findTunnel(id: string): Promise<OwnedTunnel | undefined>;
  /** Those of the slugs' tunnels that exist, in any order. */
  findTunnelsBySlug(slugs: readonly string[]): Promise<OwnedTunnel[]>;
  /** Those of the tunnels that exist, in any order. */
  findTunnels(ids: readonly string[]): Promise<OwnedTunnel[]>;
  /** An account's tunnels, oldest first. */
  tunnelsOf(accountId: string): Promise<OwnedTunnel[]>;
  /**
   * Removes tunnels, and holds those of their slugs that are to be held beyond `now`; unknown ids are ignored.
   *
   * @param now wall time in ms
   * @returns the ids of those that existed
   */
  releaseTunnels(released: readonly ReleasedTunnel[], now: number): Promise<ReadonlySet<string>>;
  /**
   * Removes tunnels that are overdue, and holds their slugs as if they had been ended in time.
   *
   * @returns how many
   */
  releaseOverdue(overdue: Overdue): Promise<number>;
  /**
   * @param now wall time in ms
   * @returns the id of the account for which the slug of an ended tunnel is held
   */
  nameHolder(slug: string, now: number): Promise<string | undefined>;
  /** Slugs of tunnels that are also the subdomain of an account, which an earlier version allowed. */
  nameClashes(): Promise<string[]>;
  /** Moves an expiry later; never earlier, so that writes may arrive in any order. */
  raiseExpiry(id: string, expiresAt: number): Promise<void>;
  /**
   * Moves an expiry later by `extension.by`, counted from where other relays have moved it to.
   *
   * @returns the new one; `undefined` if it would be beyond the latest, or there is no such tunnel
   */
  extendExpiry(id: string, extension: Extension): Promise<number | undefined>;
  /**
   * Says who may come into a tunnel from now on.
   *
   * @returns how often that has changed now; `undefined` if there is no such tunnel
   */
  setAccess(id: string, access: StoredAccess | null): Promise<number | undefined>;
  /**
   * Stores a new link of a tunnel, and forgets those that have ended.
   *
   * @returns `false` if there is no such tunnel
   * @throws FullError
   */
  insertLink(link: LinkRecord, rules: LinkRules): Promise<boolean>;
  /**
   * @param now wall time in ms
   * @returns the links of a tunnel that have neither ended nor been revoked, newest first
   */
  linksOf(tunnelId: string, now: number): Promise<LinkRecord[]>;
  /**
   * Makes a link let nobody in any more.
   *
   * @param now wall time in ms
   * @returns `undefined` if there is no such tunnel
   */
  revokeLink(tunnelId: string, id: string, now: number): Promise<Revocation | undefined>;
  /**
   * Says who has asked to come into a tunnel from now on, unless another relay was faster.
   *
   * @returns how often that has changed now; `undefined` if the tunnel has other revisions than were read, or is gone
   */
  setKnocks(id: string, knocks: StoredKnocks, read: KnockRevisions): Promise<number | undefined>;
  /** Adds traffic in one transaction; unknown ids are ignored. */
  addTraffic(deltas: readonly TrafficDelta[]): Promise<void>;

  /**
   * A secret of all relays on the database, random, 43 characters; created when it is first asked for.
   *
   * @param now wall time in ms
   */
  relaySecret(name: string, now: number): Promise<string>;

  /** Fulfilled when the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** One of the operations of a store. */
export type Operation = keyof Store;

/** All of them, and whether they only read. */
export const OPERATIONS = {
  insertAccount: 'write',
  findAccount: 'read',
  findAccounts: 'read',
  listAccounts: 'read',
  setPlan: 'write',
  removeAccount: 'write',
  insertKey: 'write',
  findKeyOwner: 'read',
  hasKeys: 'read',
  listKeys: 'read',
  findValidKeys: 'read',
  revokeKey: 'write',
  accessRevision: 'read',
  insertTunnel: 'write',
  tunnelIds: 'read',
  findTunnel: 'read',
  findTunnels: 'read',
  findTunnelsBySlug: 'read',
  tunnelsOf: 'read',
  releaseTunnels: 'write',
  releaseOverdue: 'write',
  nameHolder: 'read',
  nameClashes: 'read',
  raiseExpiry: 'write',
  extendExpiry: 'write',
  setAccess: 'write',
  insertLink: 'write',
  linksOf: 'read',
  revokeLink: 'write',
  setKnocks: 'write',
  addTraffic: 'write',
  relaySecret: 'write',
  ping: 'read',
  close: 'write',
} as const satisfies Record<Operation, 'read' | 'write'>;

/** The database cannot be reached or fails. */
export class StoreError extends Error {
  constructor(cause: unknown) {
    super('the store failed', { cause });
    this.name = 'StoreError';
  }
}

/** A statement was sent and not answered: it may or may not have taken effect. The cause of a {@link StoreError}. */
export class UnansweredError extends Error {
  constructor(cause: unknown) {
    super('the database did not answer', { cause });
    this.name = 'UnansweredError';
  }
}

/** An account has as many tunnels as it may have, or a tunnel as many links. */
export class FullError extends Error {
  /** wall time in ms at which the next of them ends */
  readonly nextEnd: number;

  constructor(nextEnd: number) {
    super('there is no room for another one');
    this.name = 'FullError';
    this.nextEnd = nextEnd;
  }
}

/** Another record has this value already. */
export class ConflictError extends Error {
  readonly field: 'name' | 'subdomain' | 'key' | 'slug';

  constructor(field: ConflictError['field']) {
    super(`${field} is taken`);
    this.name = 'ConflictError';
    this.field = field;
  }
}

/**
 * Waits for the store on behalf of a request.
 *
 * @throws ApiError 503 with the failure as its cause when the store fails
 */
export async function orUnavailable<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    const unavailable = new ApiError(API_ERRORS.unavailable, {
      'Retry-After': String(STORE_RETRY_AFTER_SECONDS),
    });
    unavailable.cause = error.cause;
    throw unavailable;
  }
}
