/**
 * The tables of the database, and the records that they hold: one definition, from which follow the creation of the
 * tables, the types of queries, and what moves to another database. The same columns in every database. Times are wall
 * time in ms.
 */
import type { KnockClient } from '../../shared/control.ts';
import type { Plan, Protocol } from '../../shared/tunnel.ts';
import { big, flag, integer, json, type RowOf, text } from './columns.ts';

/**
 * How long a tunnel that no relay has ended keeps its slug after its stored expiry: longer than the clock
 * difference between relays, and longer than it takes to store traffic that prolongs a tunnel.
 */
export const EXPIRED_GRACE_MS = 60_000;
/**
 * Number of recent admin actions that are kept regardless of their age; also the most that can be listed in one
 * request.
 */
export const AUDIT_MAX = 10_000;
/** Longest delay before a failed ACME order is retried. */
export const ORDER_RETRY_MAX_MS = 12 * 3_600_000;

/**
 * How long an access token is good.
 *
 * @limit owner: Access of an agent until it renews its token | the agent renews it by itself
 */
export const ACCESS_TOKEN_MS = 3_600_000;
/* What is stored as JSON. */

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
  readonly sign_in: readonly string[];
  readonly oauth: boolean;
  readonly tokens: readonly StoredToken[];
}

/** A revoked link or an ended agent, and the wall time in ms at which the link, or the agent's access, would have expired. */
export type RevokedLink = readonly [id: string, expiresAt: number];

/** The code with which a client gets its first tokens. */
export interface StoredCode {
  readonly hash: string;
  /** wall time in ms */
  readonly endsAt: number;
  /** SHA-256 of the client's verifier, as the client gave it (RFC 7636) */
  readonly challenge: string;
  readonly redirectUri: string;
  readonly resource: string;
  /** Whether it was exchanged. It stays, so that another use is noticed. */
  readonly isUsed: boolean;
}

/** The refresh tokens of an agent. */
export interface StoredRefresh {
  /** of those that are good: two, if a response with one of them may have been lost */
  readonly hashes: readonly string[];
  /** wall time in ms */
  readonly endsAt: number;
  /** the one that these replaced, and when, wall time in ms */
  readonly previous: { readonly hash: string; readonly at: number } | null;
}

/** An access token: its hash, and when it ends, wall time in ms. */
export type StoredAccessToken = readonly [hash: string, endsAt: number];

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
  /** the agent that it is for; missing for a visitor who asks for access */
  readonly client?: KnockClient;
}

/** A tunnel's approval requests that have not been forgotten yet. */
export interface StoredKnocks {
  /** of the `access` that they have met; with another one they are forgotten */
  readonly version: string;
  /** oldest first */
  readonly knocks: readonly StoredKnock[];
}

/** The ways to prove to an authority that a name is the relay's (RFC 8555 section 8, RFC 8737). */
export type ChallengeType = 'http-01' | 'tls-alpn-01' | 'dns-01';

export type EndingKind = 'account' | 'key' | 'tunnel' | 'domain' | 'agent' | 'name';

/** Each table after those it refers to. */
export const TABLES = {
  accounts: {
    /** UUID; `client_id` in the API */
    id: text().primary,
    name: text().unique,
    plan: text<Plan>(),
    /** label of the account's own addresses */
    subdomain: text().orNull.unique,
    createdAt: big(),
    /** why it was suspended; `null` for one that was not */
    suspended: text().orNull,
  },
  /** A revoked key stays, so that it cannot be created again. */
  api_keys: {
    /** UUID */
    id: text().primary,
    accountId: text().of('accounts'),
    /** SHA-256 of the key in hex; the key itself is never stored */
    hash: text().unique,
    /** first 8 characters of the key, so that its owner recognises it */
    hint: text(),
    createdAt: big(),
    /** for people, or `''` */
    label: text(),
    /** `null` if it never expires */
    expiresAt: big().orNull,
    scope: json<KeyScope>(),
    revokedAt: big().orNull,
    /** to within a minute; `null`: never */
    lastUsedAt: big().orNull,
  },
  tunnels: {
    /** UUID */
    id: text().primary,
    accountId: text().of('accounts'),
    slug: text().unique,
    /** the requested name, or `''` */
    name: text(),
    localPort: integer(),
    /** seconds */
    ttl: big(),
    /** whether traffic prolongs its life */
    idle: flag(),
    createdAt: big(),
    expiresAt: big(),
    /** how often a client has taken it over with another port or life: of two readings, the higher one is the later */
    termsRevision: integer(),
    bytesIn: big(),
    bytesOut: big(),
    requests: big(),
    /** `null` for a tunnel that is open to anyone */
    access: json<StoredAccess>().orNull,
    /** how often that has changed: of two readings, the higher one is the later */
    accessRevision: integer(),
    /** revoked links, and ended agents, whose time is not over */
    revokedLinks: json<readonly RevokedLink[]>(),
    /** `null`: there was never an approval request */
    knocks: json<StoredKnocks>().orNull,
    /** how often they have changed: of two readings, the higher one is the later */
    knocksRevision: integer(),
    /** of those tokens that were used */
    tokenUses: json<readonly TokenUse[]>(),
    /** of its account; `null` for none */
    domain: text().orNull.unique,
    /** id of the key that created the tunnel or took it over last; `null` for a tunnel of the relay itself */
    createdKey: text().orNull,
    /** that key's label; `null` if it had none */
    createdBy: text().orNull,
    /** whether that key is an agent's: only such tunnels are within reach of agents' keys */
    byAgent: flag(),
    /** whether it answers at every host `{any}--{slug}` (protocol.md section 4.7) */
    wildcard: flag(),
    protocol: text<Protocol>(),
    /** the port of the relay that is the tunnel's; `null` unless it is a TCP tunnel */
    remotePort: integer().orNull.unique,
    /** why the operator suspended it; `null` if it is not suspended */
    suspended: text().orNull,
    /** UUID: what its links are signed for; the tunnels of a kept name have the same, one after the other */
    linkScope: text(),
    /** since when there is such a scope */
    linksSince: big(),
  },
  /** Signed links. They go with their tunnel, unless its account keeps the name. */
  tunnel_links: {
    id: text().primary,
    /** of a tunnel or of a kept name */
    linkScope: text(),
    note: text(),
    /** target path below the tunnel's address; `null` for its start page */
    path: text().orNull,
    /** whether it admits only the first browser that opens it */
    once: flag(),
    /** when that was, and a digest that identifies the browser; `null` before */
    usedAt: big().orNull,
    usedBy: text().orNull,
    createdAt: big(),
    expiresAt: big(),
    /** A revoked one stays until its end, so that the next tunnel knows it. */
    revokedAt: big().orNull,
  },
  /**
   * Agents that were approved (server/oauth). They belong to an account and a slug: they stay while the name is held
   * after the end of its tunnel.
   */
  agents: {
    /** 16 hexadecimal digits */
    id: text().primary,
    accountId: text().of('accounts'),
    slug: text(),
    /** SHA-256 of the client's id in hex: ids of registered clients are long */
    clientHash: text(),
    /** what the client calls itself */
    name: text(),
    host: text(),
    returnsTo: text(),
    /** who signed in to approve it, as passes name visitors; `null` if nobody had to */
    person: text().orNull,
    createdAt: big(),
    firstUsedAt: big().orNull,
    lastUsedAt: big().orNull,
    /** when nothing that it has is good any more */
    endsAt: big(),
    code: json<StoredCode>(),
    /** `null` until the code is exchanged */
    refresh: json<StoredRefresh>().orNull,
    accessTokens: json<readonly StoredAccessToken[]>(),
  },
  /**
   * Slugs of ended tunnels, reserved for their previous account (protocol.md section 3.5), and addresses of tunnels
   * that ended while suspended, which nobody gets.
   */
  released_names: {
    slug: text().primary,
    accountId: text(),
    heldUntil: big(),
    /** whether its owner chose it: visitors of other slugs are not told that they are somebody's */
    chosen: flag(),
    /** the tunnel that ended while it was suspended; the next three columns are `null` unless this one is set */
    tunnelId: text().orNull,
    /** its domain */
    domain: text().orNull,
    /** the reason of the suspension */
    suspended: text().orNull,
    /** what the operator suspended: resuming the account releases only what was suspended with it */
    suspendedWith: text<'tunnel' | 'account'>().orNull,
  },
  /** Names that accounts keep, with or without a tunnel (protocol.md section 16). */
  kept_names: {
    name: text().primary,
    accountId: text().of('accounts'),
    createdAt: big(),
    /** what visitors read while no client serves the name; `null`: nothing of its own */
    away: text().orNull,
    /** when its owner expects to be back */
    until: big().orNull,
    /** what links of its tunnels are signed for, whichever of them is next */
    linkScope: text(),
    linksSince: big(),
  },
  /** Ports that TCP tunnels have, or that stay with the name of one that has ended for as long as it is held or kept. */
  tcp_ports: {
    port: integer().primary,
    /** of the tunnel */
    slug: text().unique,
    accountId: text(),
    givenAt: big(),
  },
  /** What was ended before its time and no longer has a row of its own, so that a restore does not bring it back. */
  endings: {
    /** of the account, tunnel, domain or agent; the hash of a key; the `linkScope` of a name */
    id: text().primary,
    kind: text<EndingKind>(),
    accountId: text(),
    endedAt: big(),
    /** when it would have ended anyway */
    keptUntil: big(),
  },
  /** One row, incremented by every change that revokes or alters rights: running relays watch it. */
  access_revision: { id: integer<1>().primary, revision: big() },
  /** Secrets that relays make for themselves. They are in backups, so they are protected no better than those. */
  relay_secrets: { name: text().primary, value: text(), createdAt: big() },
  /** What commands need to know of the relay that serves. The relay writes it at each start. */
  relay_info: { name: text<'public_origin'>().primary, value: text() },
  /** At most one row, in a database whose content was moved to another one. */
  relocation: {
    id: integer<1>().primary,
    /** the other database, as people know it */
    target: text(),
    movedAt: big(),
  },
  /** Tunnels closed by the operator, kept until every relay must have seen it. */
  closed_tunnels: { id: text().primary, closedAt: big() },
  /** Administrative acts. */
  audit: {
    /** UUID */
    id: text().primary,
    at: big(),
    /** the actor: `shell:ann`, `key:` or `invite:` and an id, or `relay` for actions of a first start */
    actor: text(),
    /** the action: `account.suspend` */
    action: text(),
    /** to what: the name of an account or a tunnel, the id of a key */
    subject: text(),
    /** the rest, for people */
    detail: text(),
    /**
     * owner of the key that acted, whose share of the log it counts against; `null` for the command line and invitations
     */
    accountId: text().orNull,
  },
  /** Invitations to accounts; each works once. */
  invitations: {
    /** UUID */
    id: text().primary,
    accountId: text().of('accounts'),
    /** SHA-256 of the token in its address, in hex */
    hash: text().unique,
    /** becomes the label of the key; `''`: the machine's name does */
    label: text(),
    createdAt: big(),
    expiresAt: big(),
    /** A used or revoked one stays until its end, so that a restore does not open it again. */
    takenAt: big().orNull,
  },
  /** The relay's accounts at certificate authorities. */
  acme_accounts: {
    /** address of the authority's directory */
    directory: text().primary,
    /** PEM */
    key: text(),
    /** the account's URL at the authority; `null` until it is registered */
    url: text().orNull,
    createdAt: big(),
  },
  /** The keys are in backups, protected like the secrets of relays. */
  certificates: {
    /** the host it is for, or `*.` and a domain */
    name: text().primary,
    /** PEM, its own certificate first */
    chain: text(),
    /** PEM */
    key: text(),
    /** when renewal is due */
    renewAt: big(),
    notAfter: big(),
    /** differs for each certificate that replaces it */
    storedAt: big(),
  },
  /** Names with a certificate order: which relay is ordering, and how often it has failed in a row. */
  acme_orders: { name: text().primary, failures: integer(), retryAt: big(), heldUntil: big() },
  /** One for each order of the last hour. */
  acme_attempts: { id: text().primary, startedAt: big(), accountId: text().orNull },
  /** What an authority is to find while it looks whether a name is the relay's. */
  acme_challenges: {
    token: text().primary,
    type: text<ChallengeType>(),
    /** the name, without `*.` */
    host: text(),
    /** RFC 8555 section 8.1 */
    keyAuthorization: text(),
    /** after which it is no longer requested */
    expiresAt: big(),
  },
  /** Several accounts may claim a domain, but it is verified for one of them only. */
  domains: {
    /** UUID */
    id: text().primary,
    accountId: text().of('accounts'),
    /** in lower case, in punycode */
    domain: text(),
    /** expected value of its TXT record */
    proof: text(),
    createdAt: big(),
    /** `null`: not verified */
    verifiedAt: big().orNull,
    /** since when its records are not as they should be; `null`: they are */
    failingSince: big().orNull,
    /** when it is checked again; `null` for one that is not verified */
    checkAt: big().orNull,
  },
  schema_version: { id: integer<1>().primary, version: integer() },
} as const;

export type Database = { [Table in keyof typeof TABLES]: RowOf<(typeof TABLES)[Table]> };

/* Records: rows, or what is read or written of them. */

export type AccountRecord = Database['accounts'];
export type TunnelRecord = Database['tunnels'];
export type LinkRecord = Database['tunnel_links'];
export type AgentRecord = Database['agents'];
export type AuditRecord = Database['audit'];
export type CertificateRecord = Database['certificates'];
export type ChallengeRecord = Database['acme_challenges'];
export type DomainRecord = Database['domains'];
export type KeyRecord = Omit<Database['api_keys'], 'revokedAt' | 'lastUsedAt'>;
export type InvitationRecord = Omit<Database['invitations'], 'takenAt'>;
export type AcmeAccountRecord = Omit<Database['acme_accounts'], 'createdAt'>;
/** What is known of a certificate without reading it. */
export type CertificateSummary = Omit<CertificateRecord, 'chain' | 'key'>;

export type KeptName = Database['kept_names'];
/** What the links of a tunnel are signed for. */
export type LinkScope = Pick<TunnelRecord, 'linkScope' | 'linksSince'>;
/** What visitors read while no client serves a kept name. */
export interface Away {
  readonly text: string;
  /** wall time in ms at which its owner expects to be back; `null`: unknown */
  readonly until: number | null;
}

/** @returns `undefined` for a name that is not kept, or has no text */
export function awayOf(kept: Pick<KeptName, 'away' | 'until'> | undefined): Away | undefined {
  return kept === undefined || kept.away === null ? undefined : { text: kept.away, until: kept.until };
}

/** Whose a verified domain is. */
export type DomainOwner = Pick<DomainRecord, 'domain' | 'accountId'>;

/** A key that is valid, as it is listed. */
export interface KeyListing extends Omit<Database['api_keys'], 'accountId' | 'hash' | 'revokedAt'> {
  /** name of its account */
  readonly account: string;
}

/** A key that was not revoked, and its owner. */
export interface KeyOwner extends Pick<KeyRecord, 'hash' | 'expiresAt' | 'scope' | 'label'> {
  readonly keyId: string;
  readonly account: AccountRecord;
}

/** A stored tunnel with its owner. */
export interface OwnedTunnel {
  readonly tunnel: TunnelRecord;
  readonly account: AccountRecord;
  /** of its name, if its account keeps that; absent: the account does not */
  readonly kept?: Pick<KeptName, 'away' | 'until'> | undefined;
}

/** The operator's actions on tunnels, which running relays have to apply. */
export interface TunnelOrders {
  /** ids of tunnels that were closed lately */
  readonly closed: readonly string[];
  /** tunnels that are suspended, and why */
  readonly suspended: readonly { readonly id: string; readonly reason: string }[];
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
