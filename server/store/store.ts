/** What the relay keeps beyond its own life. One set of queries does this on either database: kysely-store.ts. */
import type { Plan } from '../../shared/tunnel.ts';
import type {
  DomainRelease,
  DomainToRemove,
  EndedKey,
  Extension,
  InsertRules,
  KnockRevisions,
  LinkRules,
  OrderBegin,
  OrderTurn,
  Overdue,
  ReleasedTunnel,
  Revocation,
  TermsRevisions,
  TrafficDelta,
  TunnelTerms,
  Verification,
} from './parameters.ts';
import type {
  AccountRecord,
  AcmeAccountRecord,
  AuditRecord,
  CertificateRecord,
  CertificateSummary,
  ChallengeRecord,
  ChallengeType,
  DomainOwner,
  DomainRecord,
  InvitationRecord,
  KeyListing,
  KeyOwner,
  KeyRecord,
  LinkRecord,
  OpenInvitation,
  OwnedTunnel,
  StoredAccess,
  StoredKnocks,
  SuspendedName,
  TunnelOrders,
  TunnelRecord,
} from './records.ts';

/**
 * Each method has stored what it was given once its promise is fulfilled, as a whole or not at all.
 * A database that fails rejects with {@link StoreError}.
 */
export interface Store {
  /** @throws ConflictError `name` or `subdomain`, which may also be a live tunnel's or a held name */
  insertAccount(account: AccountRecord): Promise<void>;
  /**
   * Stores accounts with their keys, all or none.
   *
   * @throws ConflictError as above, or `key`
   */
  insertAccounts(accounts: readonly AccountRecord[], keys: readonly KeyRecord[]): Promise<void>;
  findAccount(name: string): Promise<AccountRecord | undefined>;
  /** Those of the accounts that exist, in any order. */
  findAccounts(ids: readonly string[]): Promise<AccountRecord[]>;
  /** All accounts, oldest first. */
  listAccounts(): Promise<AccountRecord[]>;
  /** @returns the account as it is now, `undefined` for an unknown name */
  setPlan(name: string, plan: Plan): Promise<AccountRecord | undefined>;
  /**
   * Suspends an account, or resumes it with the names that were suspended with it.
   *
   * @param reason `null` to resume it
   * @param heldUntil wall time in ms until which those names stay with the account; they are free unless given
   * @returns the account as it is now, `undefined` for an unknown name
   */
  setSuspension(name: string, reason: string | null, heldUntil?: number): Promise<AccountRecord | undefined>;
  /**
   * Gives an account another subdomain, or none.
   *
   * @param now wall time in ms
   * @returns the account as it is now, `undefined` for an unknown name
   * @throws ConflictError `subdomain`, which may also be a live tunnel's or a held name
   */
  setSubdomain(name: string, subdomain: string | null, now: number): Promise<AccountRecord | undefined>;
  /**
   * Removes an account with its keys, tunnels and held names. What was suspended of it stays suspended by name.
   *
   * @param now wall time in ms
   * @returns what it was, `undefined` for an unknown name
   */
  removeAccount(name: string, now: number): Promise<AccountRecord | undefined>;
  /** @throws ConflictError `key`, also for a key that was revoked or removed with its account */
  insertKey(key: KeyRecord): Promise<void>;
  /** @returns `undefined` for an unknown or revoked key; one whose time is over is found */
  findKeyOwner(hash: string): Promise<KeyOwner | undefined>;
  /** Whether there is or was a key, revoked ones included. */
  hasKeys(): Promise<boolean>;
  /**
   * Valid keys, oldest first; only those of one account if a name is given.
   *
   * @param now wall time in ms
   */
  listKeys(now: number, account?: string): Promise<KeyListing[]>;
  /**
   * Those of the keys that are valid no more, with what has ended them, in any order.
   *
   * @param now wall time in ms
   */
  findEndedKeys(ids: readonly string[], now: number): Promise<EndedKey[]>;
  /**
   * Says that keys are in use; unknown ids are ignored.
   *
   * @param at wall time in ms
   */
  markKeysUsed(ids: readonly string[], at: number): Promise<void>;
  /**
   * Revokes a key.
   *
   * @param at wall time in ms
   * @returns the key, `undefined` for an unknown or revoked one
   */
  revokeKey(id: string, at: number): Promise<KeyListing | undefined>;
  /**
   * A text that is another one whenever a key was revoked or its time is over, an account was changed or removed, or whoever
   * runs the relay has said something about a tunnel.
   *
   * @param now wall time in ms
   */
  accessRevision(now: number): Promise<string>;

  /**
   * Stores a new tunnel. If relays do so at once, only one tunnel gets a slug, and no account gets more than it may have.
   *
   * @param rules nothing is limited if none are given
   * @throws ConflictError `slug`, which may be an account's subdomain, or `domain`, if another tunnel has it or a suspended one
   *   had it; `claim`, if the domain is not verified for the account; FullError
   */
  insertTunnel(tunnel: TunnelRecord, rules?: InsertRules): Promise<void>;
  /** Ids of all tunnels, oldest first. */
  tunnelIds(): Promise<string[]>;
  /** The tunnel with this id, as every relay on the database has left it. */
  findTunnel(id: string): Promise<OwnedTunnel | undefined>;
  /** Those of the slugs' tunnels that exist, in any order. */
  findTunnelsBySlug(slugs: readonly string[]): Promise<OwnedTunnel[]>;
  /** Those of the domains' tunnels that exist, in any order. */
  findTunnelsByDomain(domains: readonly string[]): Promise<OwnedTunnel[]>;
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
   * Gives a tunnel another port, another life that may end earlier, and other rules for visitors.
   *
   * @returns how often they have changed now; `undefined` if there is no such tunnel
   */
  setTerms(id: string, terms: TunnelTerms): Promise<TermsRevisions | undefined>;
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
   * Stores a new claim of an account.
   *
   * @param maxDomains those of its account, this one included; `null`: unlimited
   * @returns the claim that the account has by now: this one, or an earlier one to the same domain
   * @throws FullError
   */
  insertDomain(domain: DomainRecord, maxDomains: number | null): Promise<DomainRecord>;
  /** An account's domains, oldest first. */
  domainsOf(accountId: string): Promise<DomainRecord[]>;
  /** The claim of whoever has proven that the domain is theirs. */
  verifiedClaim(domain: string): Promise<DomainRecord | undefined>;
  /** Those of the domains that are verified, in any order. */
  findVerifiedDomains(domains: readonly string[]): Promise<DomainOwner[]>;
  /**
   * All verified domains, a few at a time, in an order of their own.
   *
   * @param after the last one of those before; `''` for the first
   */
  verifiedDomains(after: string, limit: number): Promise<DomainOwner[]>;
  /**
   * Makes a domain an account's own. Whoever had it until now has it no more, and neither have their tunnels.
   *
   * @returns the ids of tunnels that have ended; `undefined` if there is no such claim any more
   * @throws ConflictError `domain` if somebody else has it by now
   */
  verifyDomain(verification: Verification): Promise<readonly string[] | undefined>;
  /**
   * Removes a domain with the tunnels that have it, and with its certificate unless another account has it verified.
   *
   * @returns the ids of those tunnels; `undefined` if there is no such domain
   */
  removeDomain(domain: DomainToRemove, release: DomainRelease): Promise<readonly string[] | undefined>;
  /** Removes claims that were made until then, wall time in ms, and never verified. */
  forgetClaims(until: number): Promise<void>;
  /**
   * Takes verified domains that are to be looked at now; no other relay takes them before `again`.
   *
   * @param now wall time in ms
   * @param again wall time in ms
   */
  takeDueDomains(now: number, again: number, limit: number): Promise<DomainRecord[]>;
  /**
   * Says what was found when a verified domain was looked at.
   *
   * @param failingSince as of {@link DomainRecord}
   * @param checkAt when it is looked at again, wall time in ms; `null` leaves that as it is
   */
  noteDomain(id: string, failingSince: number | null, checkAt: number | null): Promise<void>;
  /**
   * Removes a tunnel, as {@link releaseTunnels} does, for relays that serve to end it.
   *
   * @param now wall time in ms
   * @returns false if there is no such tunnel
   */
  orderClose(tunnel: ReleasedTunnel, now: number): Promise<boolean>;
  /**
   * Suspends a tunnel, or resumes it. If it ends while it is suspended, nobody gets its slug or its domain: see
   * {@link suspendedNames}.
   *
   * @param reason `null` to let it go on
   * @returns the tunnel as it is now, `undefined` for an unknown id
   */
  suspendTunnel(id: string, reason: string | null): Promise<OwnedTunnel | undefined>;
  /** Addresses of tunnels that ended while they were suspended, in the order of their slugs. */
  suspendedNames(): Promise<SuspendedName[]>;
  /**
   * Gives such an address back.
   *
   * @param heldUntil wall time in ms until which the slug stays with its account
   * @returns false if there is no such slug
   */
  resumeName(slug: string, heldUntil: number): Promise<boolean>;
  /** What relays that serve have to follow. */
  tunnelOrders(): Promise<TunnelOrders>;
  /**
   * Stores invitations, and forgets those whose time is over.
   *
   * @param now wall time in ms
   * @param account theirs, if it is new
   * @throws ConflictError `name`
   */
  insertInvitations(
    invitations: readonly InvitationRecord[],
    now: number,
    account?: AccountRecord,
  ): Promise<void>;
  /**
   * @param now wall time in ms
   * @returns `undefined` for one that is unknown, taken or over, or to a suspended account
   */
  findInvitation(hash: string, now: number): Promise<OpenInvitation | undefined>;
  /** All of those, oldest first. */
  listInvitations(now: number): Promise<OpenInvitation[]>;
  /** @returns false for one that is unknown, taken or over */
  revokeInvitation(id: string, now: number): Promise<boolean>;
  /**
   * Takes an invitation for a key, and keeps that; of several who do so at once, one.
   *
   * @param now wall time in ms
   * @returns false for one that is unknown, taken or over by now, with nothing stored
   */
  takeInvitation(
    id: string,
    taken: { readonly key: KeyRecord; readonly act: AuditRecord },
    now: number,
  ): Promise<boolean>;
  /**
   * Does what an operator asks for and records who did it: both or neither. Nothing is recorded if there was nothing to change.
   *
   * @param name of the operation that does it
   * @param entries of the audit log, of one actor at one time
   * @returns what that operation returns
   * @throws what that operation throws; FullError, if the keys of the actor's account have no room for more entries now
   */
  act<Name extends ActOperation>(
    name: Name,
    args: Parameters<Store[Name]>,
    entries: readonly AuditRecord[],
  ): ReturnType<Store[Name]>;
  /**
   * Records who did what. Entries are kept for a year, and the newest for longer.
   *
   * @throws FullError as {@link act}
   */
  insertAudit(entry: AuditRecord): Promise<void>;
  /** The newest entries, oldest first. */
  listAudit(limit: number): Promise<AuditRecord[]>;

  /**
   * A secret of all relays on the database, random, 43 characters; created when it is first asked for.
   *
   * @param now wall time in ms
   */
  relaySecret(name: string, now: number): Promise<string>;
  /**
   * Forgets those whose name begins so.
   *
   * @param before wall time in ms: those created later stay
   */
  removeSecrets(prefix: string, before: number): Promise<void>;
  /**
   * Forgets the secrets of cookies, signed links and session tickets, and the links themselves: others are made when they are
   * asked for. Relays that serve follow as they do when a key is revoked.
   *
   * @returns how many links have ended
   */
  renewSecrets(): Promise<number>;

  /**
   * The account at a certificate authority.
   *
   * @param fresh what it is if there is none yet
   * @param now wall time in ms
   */
  acmeAccount(fresh: AcmeAccountRecord, now: number): Promise<AcmeAccountRecord>;
  setAcmeAccount(account: AcmeAccountRecord): Promise<void>;
  /** Certificates stored at this wall time in ms or later, by name. */
  certificateSummaries(since: number): Promise<CertificateSummary[]>;
  findCertificate(name: string): Promise<CertificateRecord | undefined>;
  /**
   * Removes certificates that have ended before this wall time in ms, and what else is remembered of names from that time.
   *
   * @returns their names
   */
  removeCertificates(endedBefore: number): Promise<string[]>;
  /** Removes the certificates and keys of domains, but for those that an account has verified. */
  forgetCertificates(domains: readonly string[]): Promise<void>;
  /** Begins to order a certificate, unless there is a reason not to; relays do so one after the other. */
  beginOrder(begin: OrderBegin): Promise<OrderTurn>;
  /** Counts another order for a name for which one has begun. */
  beginFurtherOrder(begin: OrderBegin): Promise<OrderTurn>;
  /**
   * Ends an order that gave no certificate.
   *
   * @param failures of the name, in a row
   * @param retryAt wall time in ms before which none begins
   */
  failOrder(name: string, failures: number, retryAt: number): Promise<void>;
  /**
   * Ends an order, and keeps its certificate in place of the one before.
   *
   * @param retryAt wall time in ms before which no other begins
   */
  storeCertificate(certificate: CertificateRecord, retryAt: number): Promise<void>;
  /** Forgets who orders and what authorities look for: nobody else is there who could. */
  releaseOrders(): Promise<void>;
  /** @param now wall time in ms */
  putChallenge(challenge: ChallengeRecord, now: number): Promise<void>;
  removeChallenge(token: string): Promise<void>;
  /** @param now wall time in ms */
  findChallenges(type: ChallengeType, host: string, now: number): Promise<ChallengeRecord[]>;
  /** @param now wall time in ms */
  listChallenges(type: ChallengeType, now: number): Promise<ChallengeRecord[]>;

  /** Fulfilled when the database answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** What an operator does through {@link Store.act}: changes that are recorded in the audit log. */
export type ActOperation = keyof Pick<
  Store,
  | 'insertAccounts'
  | 'setPlan'
  | 'setSuspension'
  | 'setSubdomain'
  | 'removeAccount'
  | 'insertKey'
  | 'revokeKey'
  | 'orderClose'
  | 'suspendTunnel'
  | 'resumeName'
  | 'insertInvitations'
  | 'renewSecrets'
  | 'revokeInvitation'
>;
