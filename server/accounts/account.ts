/** Accounts and their keys, as the relay keeps them. */
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
  /** first 8 characters of the key, by which its owner knows it again */
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
