/** One live tunnel: its state in memory for routing, counting and the API. */
import type { Protocol, Tunnel } from '../../shared/tunnel.ts';
import { isWildcardDomain, wildcardLabel } from '../../shared/wildcard-hosts.ts';
import { AccessPolicy, RevokedLinks } from '../access/access-policy.ts';
import { ApprovalRequests, NO_APPROVALS } from '../access/approval-requests.ts';
import type { Clock } from '../clock.ts';
import type { LogFields } from '../log.ts';
import type {
  KnockRevisions,
  TokenUses,
  TrafficDelta,
  TunnelTerms,
} from '../store/queries/tunnel-changes.ts';
import {
  type AccountRecord,
  type Away,
  awayOf,
  latestUses,
  type LinkScope,
  type OwnedTunnel,
  type StoredAccess,
  type StoredKnocks,
  type TunnelRecord,
} from '../store/records.ts';

/** Milliseconds after a noted use of a tunnel's token until the next one is noted. */
export const TOKEN_USE_MS = 60_000;

/**
 * What the client chose when it created the tunnel or took it over; `ttl` is in seconds, `idle` says whether traffic
 * prolongs the tunnel, `wildcard` whether it answers at every host `{any}--{slug}`, and `byAgent` whether its key is an
 * agent's.
 */
type CurrentTerms = Readonly<
  Pick<TunnelTerms, 'localPort' | 'ttl' | 'idle' | 'wildcard' | 'createdKey' | 'createdBy' | 'byAgent'>
>;

function currentTerms({
  localPort,
  ttl,
  idle,
  wildcard,
  createdKey,
  createdBy,
  byAgent,
}: CurrentTerms): CurrentTerms {
  return { localPort, ttl, idle, wildcard, createdKey, createdBy, byAgent };
}

export class LiveTunnel implements LinkScope {
  readonly id: string;
  readonly slug: string;
  /** the requested name, or `''` */
  readonly name: string;
  /** its owner, replaced when the owner's plan has changed */
  account: AccountRecord;
  /** why it was suspended; `null` if it is not */
  suspended: string | null;
  /** what visitors read while it has no client; `undefined`: nothing of its own */
  away: Away | undefined;
  readonly revokedLinks: RevokedLinks;
  readonly tokenUses: TokenUseTimes;
  /** domain of its account, normalized; `null` for none */
  readonly domain: string | null;
  readonly protocol: Protocol;
  /** the relay's port of a TCP tunnel; `null` for others */
  readonly remotePort: number | null;
  /** wall time in ms */
  readonly createdAt: number;
  /** see {@link LinkScope} */
  readonly linkScope: string;
  readonly linksSince: number;

  readonly #clock: Clock;
  readonly #onTraffic: (tunnel: LiveTunnel) => void;
  #terms: CurrentTerms;
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
  #agentsReading = 0;
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
    const { tunnel, account, kept } = owned;
    this.away = awayOf(kept);
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
    this.tokenUses = new TokenUseTimes(tunnel.id, tunnel.tokenUses, clock);
    this.domain = tunnel.domain;
    this.protocol = tunnel.protocol;
    this.remotePort = tunnel.remotePort;
    this.#terms = currentTerms(tunnel);
    this.#termsRevision = tunnel.termsRevision;
    this.createdAt = tunnel.createdAt;
    this.linkScope = tunnel.linkScope;
    this.linksSince = tunnel.linksSince;
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

  /** Whether the bytes of its connections pass unread. */
  get isRaw(): boolean {
    return this.protocol !== 'http';
  }

  /** What its client chose when it created the tunnel or took it over. */
  get terms(): CurrentTerms {
    return this.#terms;
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
    this.tokenUses.keepOnly((hash) => this.#access?.hasToken(hash) === true);
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
  setTerms(terms: TunnelTerms, revision: number): boolean {
    if (revision <= this.#termsRevision) return false;
    this.#termsRevision = revision;
    this.#terms = currentTerms(terms);
    this.#deadline = terms.expiresAt - this.#wallAhead;
    this.#storedExpiresAt = terms.expiresAt;
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

  /** Changes when what is remembered of the tunnel's agents may be outdated. */
  get agentsReading(): number {
    return this.#agentsReading;
  }

  /** An agent was ended, or one of its tokens: what the store said of them before counts no more. */
  forgetAgents(): void {
    this.#agentsReading += 1;
  }

  /** Applies the stored state of this tunnel, including changes by other relays, except for the access policy. */
  follow(stored: TunnelRecord): void {
    if (stored.termsRevision >= this.#termsRevision) {
      this.prolong(stored.expiresAt);
      this.#storedExpiresAt = stored.expiresAt;
    }
    this.tokenUses.follow(stored.tokenUses);
    this.forgetAgents();
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
    if (this.#terms.idle) this.#restartLife();
    if (this.#trafficNoted) return;
    this.#trafficNoted = true;
    this.#onTraffic(this);
  }

  /** Moves the expiry to now + ttl, never to an earlier time (protocol.md section 3.5). */
  #restartLife(): void {
    this.#deadline = Math.max(this.#deadline, this.#clock.monotonic() + this.#terms.ttl * 1000);
  }
}

/** For tunnels without tokens, which are most: an empty map and set would also take memory. */
const NO_TIMES: ReadonlyMap<string, number> = new Map();
const NO_USES: ReadonlySet<string> = new Set();

/** When each token of a tunnel was last used, to within a minute. */
class TokenUseTimes {
  readonly #tunnelId: string;
  readonly #clock: Clock;
  /** wall time in ms, by hash */
  #times: ReadonlyMap<string, number>;
  /** hashes of tokens whose last use is not stored yet */
  #unstored = NO_USES;

  constructor(tunnelId: string, stored: TunnelRecord['tokenUses'], clock: Clock) {
    this.#tunnelId = tunnelId;
    this.#times = stored.length === 0 ? NO_TIMES : latestUses(stored);
    this.#clock = clock;
  }

  /** wall time in ms, by the hash of the token; a different object after each change */
  get times(): ReadonlyMap<string, number> {
    return this.#times;
  }

  /** A visitor has used a token just now; stored with the traffic that follows. */
  note(hash: string): void {
    const now = this.#clock.now();
    if (now - (this.#times.get(hash) ?? -Infinity) < TOKEN_USE_MS) return;
    this.#times = new Map(this.#times).set(hash, now);
    this.#unstored = new Set(this.#unstored).add(hash);
  }

  /** Forgets the tokens that are no longer valid. */
  keepOnly(isValid: (hash: string) => boolean): void {
    this.#times = new Map([...this.#times].filter(([hash]) => isValid(hash)));
    this.#unstored = new Set([...this.#unstored].filter((hash) => this.#times.has(hash)));
  }

  /** Applies stored uses, including those that other relays noted. */
  follow(stored: TunnelRecord['tokenUses']): void {
    if (stored.length > 0) this.#times = latestUses([...this.#times, ...stored]);
  }

  /** Uses that are not stored yet; to be passed to {@link markStored} once they are. */
  unstored(): TokenUses {
    return {
      id: this.#tunnelId,
      uses: [...this.#unstored].map((hash) => [hash, this.#times.get(hash) ?? 0] as const),
    };
  }

  markStored({ uses }: TokenUses): void {
    const stored = new Map(uses);
    const isStored = (hash: string): boolean => stored.get(hash) === this.#times.get(hash);
    this.#unstored = new Set([...this.#unstored].filter((hash) => !isStored(hash)));
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

/**
 * Whether a tunnel is at a host, `null` for the relay's own, and below a prefix, which only the path form has. Pages of
 * the relay that decide about a tunnel are at its own host without a prefix.
 */
export function isTunnelAt(
  tunnel: Parameters<typeof tunnelUrls>[0],
  { host, prefix }: { readonly host: string | null; readonly prefix: string },
  addresses: Addresses,
): boolean {
  if (host === null) return prefix === '' || (addresses.pathForm && prefix === `/t/${tunnel.slug}`);
  if (prefix !== '') return false;
  const { subdomain, account, domain, wildcard } = tunnelUrls(tunnel, addresses).urls;
  const exact = [subdomain, account, domain].map((url) => url && new URL(url).hostname);
  if (exact.includes(host)) return true;
  const end = wildcard === undefined ? undefined : new URL(wildcard).hostname.slice('*'.length);
  return end !== undefined && host.endsWith(end) && /^[^.]+$/.test(host.slice(0, -end.length));
}

/** @returns all addresses of a tunnel, and the preferred one */
export function tunnelUrls(
  tunnel: Pick<LiveTunnel, 'slug' | 'account' | 'domain' | 'protocol' | 'remotePort'> & {
    terms: Pick<CurrentTerms, 'wildcard'>;
  },
  { publicUrl, tunnelDomain, serviceDomain, pathForm }: Addresses,
): { public_url: string; urls: Tunnel['urls'] } {
  const {
    slug,
    account,
    domain,
    protocol,
    remotePort,
    terms: { wildcard },
  } = tunnel;
  if (protocol === 'tcp') return { public_url: `tcp://${publicUrl.hostname}:${remotePort}`, urls: {} };
  const port = publicUrl.port === '' ? '' : `:${publicUrl.port}`;
  const scheme = protocol === 'tls' ? 'tls:' : publicUrl.protocol;
  const at = (host: string) => `${scheme}//${host}${port}`;
  const subdomain = at(`${slug}.${tunnelDomain}`);
  if (protocol === 'tls') {
    const urls = { subdomain, ...(domain !== null && { domain: at(domain) }) };
    return { public_url: urls.domain ?? subdomain, urls };
  }
  const urls: Tunnel['urls'] = {
    subdomain,
    ...(pathForm && { path: `${publicUrl.origin}/t/${slug}` }),
  };
  if (account.subdomain !== null) urls.account = at(`${slug}.${account.subdomain}.${serviceDomain}`);
  const isWildcard = domain !== null && isWildcardDomain(domain);
  if (domain !== null && !isWildcard) urls.domain = at(domain);
  if (wildcard) urls.wildcard = at(isWildcard ? domain : `${wildcardLabel(slug)}.${tunnelDomain}`);
  return { public_url: urls.domain ?? urls.account ?? subdomain, urls };
}
