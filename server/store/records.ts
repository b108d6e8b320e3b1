/** Accounts, their keys and tunnels, as the store keeps them. */
import type { Plan } from '../../shared/tunnel.ts';

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
}

export interface KeyRecord {
  /** UUID */
  readonly id: string;
  readonly accountId: string;
  /** SHA-256 of the key in hex; the key itself is never stored */
  readonly hash: string;
  /** first 8 characters of the key, by which its owner recognises it */
  readonly hint: string;
  /** wall time in ms */
  readonly createdAt: number;
}

/** A key that is valid, as it is listed. */
export interface KeyListing {
  /** UUID */
  readonly id: string;
  /** name of its account */
  readonly account: string;
  readonly hint: string;
  /** wall time in ms */
  readonly createdAt: number;
}

/** A valid key and its owner. */
export interface KeyOwner {
  readonly keyId: string;
  readonly hash: string;
  readonly account: AccountRecord;
}

/** Who may come into a tunnel, as stored: passwords are hashes. */
export interface StoredAccess {
  /** new with each change, and in each pass: those of before are good no more */
  readonly version: string;
  /** addresses and networks */
  readonly allow: readonly string[];
  readonly basic: readonly { readonly user: string; readonly hash: string }[];
  /** hash */
  readonly password: string | null;
  readonly links: boolean;
  readonly knock: boolean;
}

/** A signed link to a tunnel. */
export interface LinkRecord {
  readonly id: string;
  readonly tunnelId: string;
  readonly note: string;
  /** where it leads below the tunnel's address; `null` for its start page */
  readonly path: string | null;
  /** wall time in ms */
  readonly createdAt: number;
  /** wall time in ms */
  readonly expiresAt: number;
}

/** A link that was revoked, and the wall time in ms at which it would have ended. */
export type RevokedLink = readonly [id: string, expiresAt: number];

/** Somebody who has asked to come in. */
export interface StoredKnock {
  /** 16 hexadecimal digits */
  readonly id: string;
  /** of the visitor */
  readonly address: string;
  /** what his `User-Agent` says, printable */
  readonly agent: string;
  /** wall time in ms */
  readonly at: number;
  /** until when he is in, wall time in ms; `false`: he was refused; `null`: nobody has said anything */
  readonly answer: number | false | null;
}

/** Everybody who has asked to come into a tunnel and is not forgotten yet. */
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
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly requests: number;
  /** `null` for a tunnel that is open to everybody */
  readonly access: StoredAccess | null;
  /** how often that has changed: of two readings, the higher one is the later */
  readonly accessRevision: number;
  /** links that let nobody in, though their time is not over */
  readonly revokedLinks: readonly RevokedLink[];
  /** `null`: nobody has ever knocked */
  readonly knocks: StoredKnocks | null;
  /** how often they have changed: of two readings, the higher one is the later */
  readonly knocksRevision: number;
}

/** A stored tunnel with its owner. */
export interface OwnedTunnel {
  readonly tunnel: TunnelRecord;
  readonly account: AccountRecord;
}
