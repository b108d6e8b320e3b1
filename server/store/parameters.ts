/** What is told to a store besides records, and what it answers: see {@link Store}. */
import type { KeyEnd } from '../../shared/control.ts';
import type { RevokedLink, StoredAccess } from './records.ts';

/** What a tunnel's traffic has added since it was last stored. */
export interface TrafficDelta {
  readonly id: string;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly requests: number;
  /** wall time in ms, which traffic may have moved */
  readonly expiresAt: number;
  /** of the terms under which it has: an expiry of earlier ones changes nothing */
  readonly termsRevision: number;
}

/** What a client asks of a tunnel that it takes over. */
export interface TunnelTerms {
  readonly localPort: number;
  /** seconds */
  readonly ttl: number;
  readonly idle: boolean;
  /** wall time in ms */
  readonly expiresAt: number;
  readonly access: StoredAccess | null;
}

/** How often a tunnel has changed: see {@link TunnelRecord}. */
export interface TermsRevisions {
  readonly termsRevision: number;
  readonly accessRevision: number;
}

/** A key that is valid no more. */
export interface EndedKey {
  readonly id: string;
  readonly end: KeyEnd;
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

/** An order of a certificate that is about to begin. */
export interface OrderBegin {
  readonly name: string;
  /** id of this attempt */
  readonly attempt: string;
  /** wall time in ms */
  readonly now: number;
  /** until when no other relay orders for the name, wall time in ms */
  readonly heldUntil: number;
  /** orders in an hour, of all names and relays */
  readonly perHour: number;
  /** whose it is; `null`: nobody's */
  readonly account: string | null;
  /** orders of that account in an hour */
  readonly perAccount: number;
  /** whether it begins though earlier ones have failed */
  readonly ignoreWait: boolean;
}

/** Whether an order may begin. */
export type OrderTurn =
  /** after that many failures in a row */
  | { readonly kind: 'begun'; readonly failures: number }
  /** there is a certificate that need not be renewed */
  | { readonly kind: 'stored' }
  /** another relay orders, until this wall time in ms at the latest */
  | { readonly kind: 'held'; readonly until: number }
  /** not before this wall time in ms: because earlier ones have `failed`, or there were as many as there may be */
  | { readonly kind: 'wait'; readonly until: number; readonly cause: 'failed' | 'limit' };
/** What comes with the end of a domain's tunnels. */
export interface DomainRelease {
  /** wall time in ms */
  readonly now: number;
  /** ms for which the slug of an ended tunnel stays with its account */
  readonly nameHold: number;
}

/** Which domain is to go. */
export interface DomainToRemove {
  readonly id: string;
  readonly accountId: string;
  /** only if it has been failing since then, wall time in ms */
  readonly failingSince?: number;
}

/** A domain that is verified. */
export interface Verification extends DomainRelease {
  readonly id: string;
  /** id of the claim that was verified until now; `null` for none */
  readonly instead: string | null;
  /** when it is looked at again, wall time in ms */
  readonly checkAt: number;
}
