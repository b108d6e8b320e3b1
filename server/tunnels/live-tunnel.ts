/** One tunnel that is alive: what routing, counting and the API know about it, in memory. */
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccessPolicy, RevokedLinks } from '../access/access-policy.ts';
import { ApprovalRequests, NO_APPROVALS } from '../access/approval-requests.ts';
import type { Clock } from '../clock.ts';
import type { LogFields } from '../log.ts';
import type { KnockRevisions, TrafficDelta, TunnelTerms } from '../store/queries/tunnel-changes.ts';
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
  /** why it was suspended; `null` for one that was not */
  suspended: string | null;
  readonly revokedLinks: RevokedLinks;
  /** of its account, in the one spelling that is kept; `null` for none */
  readonly domain: string | null;
  /** wall time in ms */
  readonly createdAt: number;

  readonly #clock: Clock;
  readonly #onTraffic: (tunnel: LiveTunnel) => void;
  #localPort: number;
  #ttl: number;
  #idle: boolean;
  #termsRevision: number;
  #deadline: number;
  /** how far the wall clock was ahead of the monotonic one when the tunnel came to life */
  readonly #wallAhead: number;
  #bytesIn: number;
  #bytesOut: number;
  #requests: number;
  #access: AccessPolicy | undefined;
  #accessRevision: number;
  #knocks: ApprovalRequests;
  #knocksRevision: number;
  #storedExpiresAt: number;
  readonly #stored: { bytesIn: number; bytesOut: number; requests: number };
  #trafficNoted = false;
  /** Whether the store is being told of traffic, and may or may not have counted it by now. */
  #storing = false;

  /**
   * @param owned the tunnel as it was stored just now or at the last run
   * @param onTraffic called for the first traffic after the tunnel was made and after each `unstored()`
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
    this.domain = tunnel.domain;
    this.#localPort = tunnel.localPort;
    this.#ttl = tunnel.ttl;
    this.#idle = tunnel.idle;
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

  get localPort(): number {
    return this.#localPort;
  }

  /** seconds */
  get ttl(): number {
    return this.#ttl;
  }

  /** Whether traffic prolongs its life. */
  get idle(): boolean {
    return this.#idle;
  }

  /** Wall time in ms at which it expires, as shown and stored. */
  get expiresAt(): number {
    return Math.round(this.#deadline + this.#wallAhead);
  }

  /** The same as the store has it, which is all that other relays know. */
  get storedExpiresAt(): number {
    return this.#storedExpiresAt;
  }

  /** The same moment on the monotonic clock, which decides: setting the wall clock ends no tunnel. */
  get deadline(): number {
    return this.#deadline;
  }

  /** The wall time at which it would expire, as {@link expiresAt} shows it, if it had `ms` left. */
  expiryAfter(ms: number): number {
    return Math.round(this.#clock.monotonic() + ms + this.#wallAhead);
  }

  /** Bytes from visitors handed to the client, heads included. */
  get bytesIn(): number {
    return this.#bytesIn;
  }

  /** Bytes from the client to visitors, heads included. */
  get bytesOut(): number {
    return this.#bytesOut;
  }

  /** Requests handed to the client. */
  get requests(): number {
    return this.#requests;
  }

  countRequest(): void {
    this.#requests += 1;
    this.#noteTraffic();
  }

  /** @param bytes from a visitor, handed to the client */
  countIn(bytes: number): void {
    this.#bytesIn += bytes;
    this.#noteTraffic();
  }

  /** @param bytes from the client, handed to a visitor */
  countOut(bytes: number): void {
    this.#bytesOut += bytes;
    this.#noteTraffic();
  }

  /** Whether whoever runs the relay keeps visitors away from it, or from all of its owner. */
  get isSuspended(): boolean {
    return this.suspended !== null || this.account.suspended !== null;
  }

  /** Who may come in; `undefined`: everybody. Another object after each change. */
  get access(): AccessPolicy | undefined {
    return this.#access;
  }

  /**
   * Says who may come in from now on.
   *
   * @param revision how often that has changed; what was read earlier changes nothing
   */
  setAccess(access: StoredAccess | null, revision: number): void {
    if (revision <= this.#accessRevision) return;
    this.#accessRevision = revision;
    this.#access = held(access);
  }

  /** Who knocks, at the door that there is now. */
  get knocks(): ApprovalRequests {
    return this.#knocks.version === this.#access?.version ? this.#knocks : NO_APPROVALS;
  }

  /** Of who may come in and who knocks, as the store has them. */
  get revisions(): KnockRevisions {
    return { accessRevision: this.#accessRevision, knocksRevision: this.#knocksRevision };
  }

  /**
   * Says who knocks from now on.
   *
   * @param revision how often that has changed; what was read earlier changes nothing
   * @returns whether it has changed
   */
  setKnocks(knocks: StoredKnocks | null, revision: number): boolean {
    if (revision <= this.#knocksRevision) return false;
    this.#knocksRevision = revision;
    this.#knocks = heldKnocks(knocks);
    return true;
  }

  /**
   * A client has taken the tunnel over, with a port and a life of its own; the expiry may move to an earlier time.
   *
   * @param revision how often that has happened; what was read earlier changes nothing
   * @returns whether anything has changed
   */
  setTerms({ localPort, ttl, idle, expiresAt }: Omit<TunnelTerms, 'access'>, revision: number): boolean {
    if (revision <= this.#termsRevision) return false;
    this.#termsRevision = revision;
    this.#localPort = localPort;
    this.#ttl = ttl;
    this.#idle = idle;
    this.#deadline = expiresAt - this.#wallAhead;
    this.#storedExpiresAt = expiresAt;
    return true;
  }

  /** Moves the expiry to a later wall time; an earlier one changes nothing. */
  prolong(expiresAt: number): void {
    const by = expiresAt - this.expiresAt;
    if (by <= 0) return;
    this.#deadline += by;
  }

  /** What the store does not know yet; given to {@link markStored} once it does. */
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

  /** The store could not be told. */
  markUnstored(): void {
    this.#storing = false;
  }

  /** Takes over what the store now has of this tunnel, from other relays too, but for who may come in. */
  follow(stored: TunnelRecord): void {
    if (stored.termsRevision >= this.#termsRevision) {
      this.prolong(stored.expiresAt);
      this.#storedExpiresAt = stored.expiresAt;
    }
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

  /** The expiry moves to now + ttl, never earlier than it is (docs/protocol.md section 3.5). */
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

/** How the log names a tunnel. */
export function tunnelFields({ id, slug, account }: LiveTunnel): LogFields {
  return { tunnel: id, slug, account: account.id };
}

/* The public addresses of a tunnel (docs/protocol.md section 4.1). */

/** What addresses are made of. */
export interface Addresses {
  /** The relay's own address, without a path; its scheme and port are those of all tunnels. */
  readonly publicUrl: URL;
  readonly tunnelDomain: string;
  readonly serviceDomain: string;
  /** whether tunnels have an address below the relay's own, too */
  readonly pathForm: boolean;
}

/** @returns all addresses of a tunnel, and the one to hand out */
export function tunnelUrls(
  tunnel: Pick<LiveTunnel, 'slug' | 'account' | 'domain'>,
  { publicUrl, tunnelDomain, serviceDomain, pathForm }: Addresses,
): { public_url: string; urls: Tunnel['urls'] } {
  const { slug, account, domain } = tunnel;
  const port = publicUrl.port === '' ? '' : `:${publicUrl.port}`;
  const below = (parent: string) => `${publicUrl.protocol}//${slug}.${parent}${port}`;
  const urls: Tunnel['urls'] = {
    subdomain: below(tunnelDomain),
    ...(pathForm && { path: `${publicUrl.origin}/t/${slug}` }),
  };
  if (account.subdomain !== null) urls.account = below(`${account.subdomain}.${serviceDomain}`);
  if (domain !== null) urls.domain = `${publicUrl.protocol}//${domain}${port}`;
  return { public_url: urls.domain ?? urls.account ?? urls.subdomain, urls };
}
