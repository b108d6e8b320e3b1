/** Accounts, their keys and tunnels, as stored. */
import type { Plan } from '../../shared/tunnel.ts';

/**
 * @limit How long a tunnel that no relay has ended keeps its slug after its stored expiry: longer than the clock
 * difference between relays, and longer than it takes to store traffic that prolongs a tunnel.
 */
export const EXPIRED_GRACE_MS = 60_000;
/**
 * @limit Number of recent admin actions that are kept regardless of their age; also the most that can be listed in one
 * request.
 */
export const AUDIT_MAX = 10_000;
/** @limit Longest delay before a failed ACME order is retried. */
export const ORDER_RETRY_MAX_MS = 12 * 3_600_000;

export interface AccountRecord {
  /** UUID; `client_id` in the API */
  readonly id: string;
  /** unique */
  readonly name: string;
  readonly plan: Plan;
  /** label of the account's own addresses, unique */
  readonly subdomain: string | null;
  /** wall time in ms */
  readonly createdAt: number;
  /** why it was suspended; `null` for one that was not */
  readonly suspended: string | null;
}

/**
 * What a key may be used for: everything of its account, with or without inviting others to it, one tunnel of it by
 * name, the tunnels of an agent within bounds, or the administration of the relay.
 */
export type KeyScope =
  | { readonly kind: 'all' }
  | { readonly kind: 'owner' }
  | { readonly kind: 'admin' }
  | { readonly kind: 'tunnel'; readonly name: string }
  | AgentScope;

/** An agent's key (protocol.md section 2.1). */
export interface AgentScope {
  readonly kind: 'agent';
  /** what the names of its tunnels begin with, followed by a hyphen */
  readonly prefix: string;
}

export interface KeyRecord {
  /** UUID */
  readonly id: string;
  readonly accountId: string;
  /** SHA-256 of the key in hex; the key itself is never stored */
  readonly hash: string;
  /** first 8 characters of the key, so that its owner recognises it */
  readonly hint: string;
  /** wall time in ms */
  readonly createdAt: number;
  /** for people, or `''` */
  readonly label: string;
  /** expiry in wall-clock ms; `null` if it never expires */
  readonly expiresAt: number | null;
  readonly scope: KeyScope;
}

/** A key that is valid, as it is listed. */
export interface KeyListing extends Omit<KeyRecord, 'accountId' | 'hash'> {
  /** name of its account */
  readonly account: string;
  /** wall time in ms, to within a minute; `null`: never */
  readonly lastUsedAt: number | null;
}

/** A key that was not revoked, and its owner. */
export interface KeyOwner extends Pick<KeyRecord, 'hash' | 'expiresAt' | 'scope' | 'label'> {
  readonly keyId: string;
  readonly account: AccountRecord;
}

/** A token as stored. */
export interface StoredToken {
  readonly name: string;
  /** SHA-256 in hex; the token itself is never stored */
  readonly hash: string;
}

/** When a token was last used: its hash, and the wall time in ms, to within a minute. */
export type TokenUse = readonly [hash: string, at: number];

/** @returns the latest use of each token, by its hash */
export function latestUses(uses: Iterable<TokenUse>): Map<string, number> {
  const latest = new Map<string, number>();
  for (const [hash, at] of uses) latest.set(hash, Math.max(at, latest.get(hash) ?? 0));
  return latest;
}

/** A tunnel's access policy as stored: passwords are hashes. */
export interface StoredAccess {
  /** changes with each change and each pass, which invalidates earlier cookies and links */
  readonly version: string;
  /** addresses and networks */
  readonly allow: readonly string[];
  readonly basic: readonly { readonly user: string; readonly hash: string }[];
  /** hash */
  readonly password: string | null;
  readonly links: boolean;
  readonly knock: boolean;
  readonly tokens: readonly StoredToken[];
}

/** A signed link to a tunnel. */
export interface LinkRecord {
  readonly id: string;
  readonly tunnelId: string;
  readonly note: string;
  /** target path below the tunnel's address; `null` for its start page */
  readonly path: string | null;
  /** wall time in ms */
  readonly createdAt: number;
  /** wall time in ms */
  readonly expiresAt: number;
}

/** A revoked link, and the wall time in ms at which it would have expired. */
export type RevokedLink = readonly [id: string, expiresAt: number];

/** A visitor's approval request. */
export interface StoredKnock {
  /** 16 hexadecimal digits */
  readonly id: string;
  /** of the visitor */
  readonly address: string;
  /** the visitor's `User-Agent`, printable characters only */
  readonly agent: string;
  /** wall time in ms */
  readonly at: number;
  /** end of the approval, wall time in ms; `false`: denied; `null`: not answered yet */
  readonly answer: number | false | null;
}

/** A tunnel's approval requests that have not been forgotten yet. */
export interface StoredKnocks {
  /** of the `access` that they have met; with another one they are forgotten */
  readonly version: string;
  /** oldest first */
  readonly knocks: readonly StoredKnock[];
}

/** A tunnel as stored. */
export interface TunnelRecord {
  /** UUID */
  readonly id: string;
  readonly slug: string;
  /** the requested name, or `''` */
  readonly name: string;
  readonly accountId: string;
  readonly localPort: number;
  /** seconds */
  readonly ttl: number;
  /** whether traffic prolongs its life */
  readonly idle: boolean;
  /** wall time in ms */
  readonly createdAt: number;
  /** wall time in ms */
  readonly expiresAt: number;
  /** how often a client has taken it over with another port or life: of two readings, the higher one is the later */
  readonly termsRevision: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly requests: number;
  /** `null` for a tunnel that is open to everyone */
  readonly access: StoredAccess | null;
  /** how often that has changed: of two readings, the higher one is the later */
  readonly accessRevision: number;
  /** revoked links whose time is not over */
  readonly revokedLinks: readonly RevokedLink[];
  /** `null`: there was never an approval request */
  readonly knocks: StoredKnocks | null;
  /** how often they have changed: of two readings, the higher one is the later */
  readonly knocksRevision: number;
  /** of those tokens that were used */
  readonly tokenUses: readonly TokenUse[];
  /** of its account; `null` for none */
  readonly domain: string | null;
  /** id of the key that created the tunnel or took it over last; `null` for a tunnel of the relay itself */
  readonly createdKey: string | null;
  /** that key's label; `null` if it had none */
  readonly createdBy: string | null;
  /** whether that key is an agent's: only such tunnels are within reach of agents' keys */
  readonly byAgent: boolean;
  /** whether it answers at every host `{any}--{slug}` (protocol.md section 4.7) */
  readonly wildcard: boolean;
  /** why the operator suspended it; `null` if it is not suspended */
  readonly suspended: string | null;
}

/** A stored tunnel with its owner. */
export interface OwnedTunnel {
  readonly tunnel: TunnelRecord;
  readonly account: AccountRecord;
}

/** The relay's account at a certificate authority. */
export interface AcmeAccountRecord {
  /** address of the authority's directory */
  readonly directory: string;
  /** PEM */
  readonly key: string;
  /** the account's URL at the authority; `null` until it is registered */
  readonly url: string | null;
}

/** What is known of a certificate without reading it. */
export interface CertificateSummary {
  /** the host it is for, or `*.` and a domain */
  readonly name: string;
  /** wall time in ms at which renewal is due */
  readonly renewAt: number;
  /** wall time in ms */
  readonly notAfter: number;
  /** wall time in ms; differs for each certificate that replaces it */
  readonly storedAt: number;
}

/** A certificate with its key. */
export interface CertificateRecord extends CertificateSummary {
  /** PEM, its own certificate first */
  readonly chain: string;
  /** PEM */
  readonly key: string;
}

/** The ways to prove to an authority that a name is the relay's (RFC 8555 section 8, RFC 8737). */
export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01';

/** What an authority is to find while it looks whether a name is the relay's. */
export interface ChallengeRecord {
  readonly type: ChallengeType;
  /** the name, without `*.` */
  readonly host: string;
  readonly token: string;
  /** RFC 8555 section 8.1 */
  readonly keyAuthorization: string;
  /** wall time in ms after which it is no longer requested */
  readonly expiresAt: number;
}

/** A domain that an account has claimed. */
export interface DomainRecord {
  /** UUID */
  readonly id: string;
  readonly accountId: string;
  /** in lower case, in punycode */
  readonly domain: string;
  /** expected value of its TXT record */
  readonly proof: string;
  /** wall time in ms */
  readonly createdAt: number;
  /** wall time in ms; `null`: not verified */
  readonly verifiedAt: number | null;
  /** since when its records are not as they should be, wall time in ms; `null`: they are */
  readonly failingSince: number | null;
}

/** Whose a verified domain is. */
export interface DomainOwner {
  readonly domain: string;
  readonly accountId: string;
}

/** The operator's actions on tunnels, which running relays have to apply. */
export interface TunnelOrders {
  /** ids of tunnels that were closed lately */
  readonly closed: readonly string[];
  /** tunnels that are suspended, and why */
  readonly suspended: readonly { readonly id: string; readonly reason: string }[];
}

/** One administrative act. */
export interface AuditRecord {
  /** UUID */
  readonly id: string;
  /** wall time in ms */
  readonly at: number;
  /** the actor: `shell:ann`, `key:` or `invite:` and an id, or `relay` for actions of a first start */
  readonly actor: string;
  /** the action: `account.suspend` */
  readonly action: string;
  /** to what: the name of an account or a tunnel, the id of a key */
  readonly subject: string;
  /** the rest, for people */
  readonly detail: string;
  /**
   * owner of the key that acted, whose share of the log it counts against; `null` for the command line and invitations
   */
  readonly accountId: string | null;
}

/** The address of a tunnel that ended while suspended. It stays reserved until the tunnel is resumed. */
export interface SuspendedName {
  readonly tunnelId: string;
  readonly slug: string;
  /** of the tunnel; `null` for none */
  readonly domain: string | null;
  /** name of its account; `null` for one that was removed */
  readonly account: string | null;
  /** why it was suspended */
  readonly reason: string;
}

/** An invitation to an account; works once. */
export interface InvitationRecord {
  /** UUID */
  readonly id: string;
  readonly accountId: string;
  /** SHA-256 of the token in its address, in hex */
  readonly hash: string;
  /** becomes the label of the key; `''`: the machine's name does */
  readonly label: string;
  /** wall time in ms */
  readonly createdAt: number;
  /** wall time in ms */
  readonly expiresAt: number;
}

/** An unused invitation, and what it is to. */
export interface OpenInvitation {
  readonly id: string;
  readonly label: string;
  readonly expiresAt: number;
  readonly account: AccountRecord;
}

/** Splits a long list into pieces of a size that one statement accepts. */
export function* batches<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}
