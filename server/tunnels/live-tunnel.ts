/** One live tunnel: its state in memory for routing, counting and the API. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { isWildcardDomain, wildcardLabel } from '../../shared/wildcard-hosts.ts';
import { AccessPolicy, RevokedLinks } from '../access/access-policy.ts';
import { ApprovalRequests, NO_APPROVALS } from '../access/approval-requests.ts';
import type { Clock } from '../clock.ts';
import type { LogFields } from '../log.ts';
import { TOKEN_USE_MS } from '../limits.ts';
import {
  type KnockRevisions,
  latestUses,
  type TokenUses,
  type TrafficDelta,
  type TunnelTerms,
} from '../store/queries/tunnel-changes.ts';
import type {
  AccountRecord,
  OwnedTunnel,
  StoredAccess,
  StoredKnocks,
  TunnelRecord,
} from '../store/records.ts';

export class LiveTunnel {
  readonly id: string;
  readonly slug: string;
  /** the requested name, or `''` */
  readonly name: string;
  /** its owner, replaced when the owner's plan has changed */
  account: AccountRecord;
  /** why it was suspended; `null` if it is not */
  suspended: string | null;
  readonly revokedLinks: RevokedLinks;
  /** domain of its account, normalized; `null` for none */
  readonly domain: string | null;
  /** wall time in ms */
  readonly createdAt: number;

  readonly #clock: Clock;
  readonly #onTraffic: (tunnel: LiveTunnel) => void;
  #createdKey: string | null;
  #createdBy: string | null;
  #localPort: number;
  #ttl: number;
  #idle: boolean;
  #wildcard: boolean;
  #termsRevision: number;
  #deadline: number;
  /** difference between the wall clock and the monotonic one when the tunnel came to life */
  readonly #wallAhead: number;
  #bytesIn: number;
  #bytesOut: number;
  #requests: number;
  #access: AccessPolicy | undefined;
  #accessRevision: number;
  #knocks: ApprovalRequests;
  #knocksRevision: number;
  /** wall time in ms, by hash */
  #tokenUses: ReadonlyMap<string, number>;
  /** hashes of tokens whose last use is not stored yet */
  readonly #unstoredUses = new Set<string>();
  #storedExpiresAt: number;
  readonly #stored: { bytesIn: number; bytesOut: number; requests: number };
  #trafficNoted = false;
  /** Whether a write of traffic is in progress, which the store may or may not have counted yet. */
  #storing = false;

  /**
   * @param owned the tunnel as it was stored just now or in a previous run
   * @param onTraffic called for the first traffic after the tunnel was created and after each `unstored()`
   */
  constructor(owned: OwnedTunnel, clock: Clock, onTraffic: (tunnel: LiveTunnel) => void) {
    const { tunnel, account } = owned;
    this.id = tunnel.id;
    this.slug = tunnel.slug;
    this.name = tunnel.name;
    this.account = account;
    this.suspended = tunnel.suspended;
    this.#access = held(tunnel.access);
    this.#accessRevision = tunnel.accessRevision;
    this.revokedLinks = new RevokedLinks(tunnel.revokedLinks);
    this.#knocks = heldKnocks(tunnel.knocks);
    this.#knocksRevision = tunnel.knocksRevision;
    this.#tokenUses = latestUses(tunnel.tokenUses);
    this.domain = tunnel.domain;
    this.#createdKey = tunnel.createdKey;
    this.#createdBy = tunnel.createdBy;
    this.#localPort = tunnel.localPort;
    this.#ttl = tunnel.ttl;
    this.#idle = tunnel.idle;
    this.#wildcard = tunnel.wildcard;
    this.#termsRevision = tunnel.termsRevision;
    this.createdAt = tunnel.createdAt;
    this.#clock = clock;
    this.#onTraffic = onTraffic;
    this.#wallAhead = clock.now() - clock.monotonic();
    this.#deadline = tunnel.expiresAt - this.#wallAhead;
    this.#storedExpiresAt = tunnel.expiresAt;
    this.#bytesIn = tunnel.bytesIn;
    this.#bytesOut = tunnel.bytesOut;
    this.#requests = tunnel.requests;
    this.#stored = { bytesIn: tunnel.bytesIn, bytesOut: tunnel.bytesOut, requests: tunnel.requests };
  }

  /** id of the key that created it or took it over; `null` if that is not known */
  get createdKey(): string | null {
    return this.#createdKey;
  }

  /** label of that key; `null` for none */
  get createdBy(): string | null {
    return this.#createdBy;
  }

  get localPort(): number {
    return this.#localPort;
  }

  /** seconds */
  get ttl(): number {
    return this.#ttl;
  }

  /** Whether traffic prolongs the tunnel. */
  get idle(): boolean {
    return this.#idle;
  }

  /** Whether it answers at every host `{any}--{slug}`. */
  get wildcard(): boolean {
    return this.#wildcard;
  }

  /** When it expires, wall time in ms, as shown and stored. */
  get expiresAt(): number {
    return Math.round(this.#deadline + this.#wallAhead);
  }

  /** The stored expiry, the only one that other relays know. */
  get storedExpiresAt(): number {
    return this.#storedExpiresAt;
  }

  /** The same moment on the monotonic clock, which decides: setting the wall clock ends no tunnel. */
  get deadline(): number {
    return this.#deadline;
  }

  /** When it would expire with `ms` left, wall time in ms, as {@link expiresAt} shows it. */
  expiryAfter(ms: number): number {
    return Math.round(this.#clock.monotonic() + ms + this.#wallAhead);
  }

  /** Bytes from visitors to the client and back, heads included, and requests sent to the client. */
  get totals(): Pick<TrafficDelta, 'bytesIn' | 'bytesOut' | 'requests'> {
    return { bytesIn: this.#bytesIn, bytesOut: this.#bytesOut, requests: this.#requests };
  }

  countRequest(): void {
    this.#requests += 1;
    this.#noteTraffic();
  }

  /** @param bytes from a visitor, sent to the client */
  countIn(bytes: number): void {
    this.#bytesIn += bytes;
    this.#noteTraffic();
  }

  /** @param bytes from the client, sent to a visitor */
  countOut(bytes: number): void {
    this.#bytesOut += bytes;
    this.#noteTraffic();
  }

  /** Whether an operator has suspended the tunnel or its owner's account. */
  get isSuspended(): boolean {
    return this.suspended !== null || this.account.suspended !== null;
  }

  /** The access policy; `undefined`: none. A different object after each change. */
  get access(): AccessPolicy | undefined {
    return this.#access;
  }

  /**
   * Changes the access policy.
   *
   * @param revision number of changes so far; older data is ignored
   */
  setAccess(access: StoredAccess | null, revision: number): void {
    if (revision <= this.#accessRevision) return;
    this.#accessRevision = revision;
    this.#access = held(access);
    const uses = [...this.#tokenUses].filter(([hash]) => this.#access?.hasToken(hash));
    this.#tokenUses = new Map(uses);
    for (const hash of this.#unstoredUses) if (!this.#tokenUses.has(hash)) this.#unstoredUses.delete(hash);
  }

  /** When each token was last used, wall time in ms to within a minute, by its hash. */
  get tokenUses(): ReadonlyMap<string, number> {
    return this.#tokenUses;
  }

  /** A visitor has used a token just now; stored with the traffic that follows. */
  noteTokenUse(hash: string): void {
    const now = this.#clock.now();
    if (now - (this.#tokenUses.get(hash) ?? -Infinity) < TOKEN_USE_MS) return;
    this.#tokenUses = new Map(this.#tokenUses).set(hash, now);
    this.#unstoredUses.add(hash);
  }

  /** Uses of tokens that are not stored yet; to be passed to {@link markUsesStored} once they are. */
  unstoredUses(): TokenUses {
    const uses = [...this.#unstoredUses].map((hash) => [hash, this.#tokenUses.get(hash) ?? 0] as const);
    return { id: this.id, uses };
  }

  markUsesStored({ uses }: TokenUses): void {
    for (const [hash, at] of uses) if (this.#tokenUses.get(hash) === at) this.#unstoredUses.delete(hash);
  }

  /** The approval requests under the current access policy. */
  get knocks(): ApprovalRequests {
    return this.#knocks.version === this.#access?.version ? this.#knocks : NO_APPROVALS;
  }

  /** Stored revisions of the access policy and the approval requests. */
  get revisions(): KnockRevisions {
    return { accessRevision: this.#accessRevision, knocksRevision: this.#knocksRevision };
  }

  /**
   * Updates the approval requests.
   *
   * @param revision number of changes so far; older data is ignored
   * @returns whether it has changed
   */
  setKnocks(knocks: StoredKnocks | null, revision: number): boolean {
    if (revision <= this.#knocksRevision) return false;
    this.#knocksRevision = revision;
    this.#knocks = heldKnocks(knocks);
    return true;
  }

  /**
   * A client has taken the tunnel over, with its own port, lifetime and hosts; the expiry may move to an earlier time.
   *
   * @param revision number of takeovers so far; older data is ignored
   * @returns whether anything has changed
   */
  setTerms(
    { localPort, ttl, idle, expiresAt, wildcard, createdKey, createdBy }: TunnelTerms,
    revision: number,
  ): boolean {
    if (revision <= this.#termsRevision) return false;
    this.#termsRevision = revision;
    this.#createdKey = createdKey;
    this.#createdBy = createdBy;
    this.#localPort = localPort;
    this.#ttl = ttl;
    this.#idle = idle;
    this.#wildcard = wildcard;
    this.#deadline = expiresAt - this.#wallAhead;
    this.#storedExpiresAt = expiresAt;
    return true;
  }

  /** Moves the expiry to a later wall time; an earlier one is ignored. */
  prolong(expiresAt: number): void {
    const by = expiresAt - this.expiresAt;
    if (by <= 0) return;
    this.#deadline += by;
  }

  /** Traffic that is not stored yet; to be passed to {@link markStored} once it is. */
  unstored(): TrafficDelta {
    this.#trafficNoted = false;
    this.#storing = true;
    return {
      id: this.id,
      bytesIn: this.#bytesIn - this.#stored.bytesIn,
      bytesOut: this.#bytesOut - this.#stored.bytesOut,
      requests: this.#requests - this.#stored.requests,
      expiresAt: this.expiresAt,
      termsRevision: this.#termsRevision,
    };
  }

  /** The write failed. */
  markUnstored(): void {
    this.#storing = false;
  }

  /** Applies the stored state of this tunnel, including changes by other relays, except for the access policy. */
  follow(stored: TunnelRecord): void {
    if (stored.termsRevision >= this.#termsRevision) {
      this.prolong(stored.expiresAt);
      this.#storedExpiresAt = stored.expiresAt;
    }
    this.#tokenUses = latestUses([...this.#tokenUses, ...stored.tokenUses]);
    if (this.#storing) return;
    this.#bytesIn += stored.bytesIn - this.#stored.bytesIn;
    this.#bytesOut += stored.bytesOut - this.#stored.bytesOut;
    this.#requests += stored.requests - this.#stored.requests;
    this.#stored.bytesIn = stored.bytesIn;
    this.#stored.bytesOut = stored.bytesOut;
    this.#stored.requests = stored.requests;
  }

  /** Another process has stored traffic of the tunnel. */
  countElsewhere({ bytesIn, bytesOut, requests, expiresAt, termsRevision }: TrafficDelta): void {
    if (termsRevision === this.#termsRevision) {
      this.prolong(expiresAt);
      this.#storedExpiresAt = Math.max(this.#storedExpiresAt, expiresAt);
    }
    this.#bytesIn += bytesIn;
    this.#bytesOut += bytesOut;
    this.#requests += requests;
    this.#stored.bytesIn += bytesIn;
    this.#stored.bytesOut += bytesOut;
    this.#stored.requests += requests;
  }

  markStored(delta: TrafficDelta): void {
    this.#storing = false;
    if (delta.termsRevision === this.#termsRevision)
      this.#storedExpiresAt = Math.max(this.#storedExpiresAt, delta.expiresAt);
    this.#stored.bytesIn += delta.bytesIn;
    this.#stored.bytesOut += delta.bytesOut;
    this.#stored.requests += delta.requests;
  }

  #noteTraffic(): void {
    if (this.#idle) this.#restartLife();
    if (this.#trafficNoted) return;
    this.#trafficNoted = true;
    this.#onTraffic(this);
  }

  /** Moves the expiry to now + ttl, never to an earlier time (protocol.md section 3.5). */
  #restartLife(): void {
    this.#deadline = Math.max(this.#deadline, this.#clock.monotonic() + this.#ttl * 1000);
  }
}

function held(access: StoredAccess | null): AccessPolicy | undefined {
  return access === null ? undefined : new AccessPolicy(access);
}

function heldKnocks(knocks: StoredKnocks | null): ApprovalRequests {
  return knocks === null ? NO_APPROVALS : new ApprovalRequests(knocks);
}

/** Log fields that identify a tunnel. */
export function tunnelFields({ id, slug, account }: LiveTunnel): LogFields {
  return { tunnel: id, slug, account: account.id };
}

/* The public addresses of a tunnel (protocol.md section 4.1). */

/** Configuration that determines addresses. */
export interface Addresses {
  /** The relay's own address, without a path; all tunnels use its scheme and port. */
  readonly publicUrl: URL;
  readonly tunnelDomain: string;
  readonly serviceDomain: string;
  /** whether tunnels also have an address below the relay's own */
  readonly pathForm: boolean;
}

/** @returns all addresses of a tunnel, and the preferred one */
export function tunnelUrls(
  tunnel: Pick<LiveTunnel, 'slug' | 'account' | 'domain' | 'wildcard'>,
  { publicUrl, tunnelDomain, serviceDomain, pathForm }: Addresses,
): { public_url: string; urls: Tunnel['urls'] } {
  const { slug, account, domain, wildcard } = tunnel;
  const port = publicUrl.port === '' ? '' : `:${publicUrl.port}`;
  const at = (host: string) => `${publicUrl.protocol}//${host}${port}`;
  const urls: Tunnel['urls'] = {
    subdomain: at(`${slug}.${tunnelDomain}`),
    ...(pathForm && { path: `${publicUrl.origin}/t/${slug}` }),
  };
  if (account.subdomain !== null) urls.account = at(`${slug}.${account.subdomain}.${serviceDomain}`);
  const isWildcard = domain !== null && isWildcardDomain(domain);
  if (domain !== null && !isWildcard) urls.domain = at(domain);
  if (wildcard) urls.wildcard = at(isWildcard ? domain : `${wildcardLabel(slug)}.${tunnelDomain}`);
  return { public_url: urls.domain ?? urls.account ?? urls.subdomain, urls };
}
