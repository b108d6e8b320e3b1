/** The tables as Kysely sees them; the same columns in every database. Times are ms since the epoch. */
import type { Plan } from '../../shared/tunnel.ts';
import type { ChallengeType } from './records.ts';

export interface Database {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  tunnels: TunnelsTable;
  tunnel_links: TunnelLinksTable;
  released_names: ReleasedNamesTable;
  endings: EndingsTable;
  access_revision: AccessRevisionTable;
  relay_secrets: RelaySecretsTable;
  relocation: RelocationTable;
  closed_tunnels: ClosedTunnelsTable;
  audit: AuditTable;
  invitations: InvitationsTable;
  acme_accounts: AcmeAccountsTable;
  certificates: CertificatesTable;
  acme_orders: AcmeOrdersTable;
  acme_attempts: AcmeAttemptsTable;
  acme_challenges: AcmeChallengesTable;
  domains: DomainsTable;
}

export interface AccountsTable {
  id: string;
  name: string;
  plan: Plan;
  subdomain: string | null;
  created_at: number;
  /** why it was suspended */
  suspended: string | null;
}

export interface ApiKeysTable {
  id: string;
  account_id: string;
  hash: string;
  hint: string;
  created_at: number;
  /** A revoked key stays, so that nobody can bring it back by creating it again. */
  revoked_at: number | null;
  label: string;
  expires_at: number | null;
  last_used_at: number | null;
  /** `all`, `admin` or `tunnel:` and its name */
  scope: string;
}

export interface TunnelsTable {
  id: string;
  account_id: string;
  slug: string;
  name: string;
  local_port: number;
  ttl_seconds: number;
  /** 0 or 1, which every database can store */
  idle: number;
  created_at: number;
  expires_at: number;
  /** how often a client has taken it over */
  terms_revision: number;
  bytes_in: number;
  bytes_out: number;
  requests: number;
  /** JSON; `null` for a tunnel that is open to everybody */
  access: string | null;
  /** how often that has changed */
  access_revision: number;
  /** JSON, pairs of an id and an end; `null` for none */
  revoked_links: string | null;
  /** JSON; `null` where nobody has ever knocked */
  knocks: string | null;
  /** how often they have changed */
  knocks_revision: number;
  /** of its account; unique; `null` for none */
  domain: string | null;
  /** why it was suspended */
  suspended: string | null;
}

/** Signed links that were not revoked. They go with their tunnel. */
export interface TunnelLinksTable {
  id: string;
  tunnel_id: string;
  note: string;
  path: string | null;
  created_at: number;
  expires_at: number;
}

/**
 * Slugs of ended tunnels, kept for the account that had them (docs/protocol.md section 3.5), and the addresses of tunnels that
 * ended while they were suspended, which nobody gets.
 */
export interface ReleasedNamesTable {
  slug: string;
  account_id: string;
  held_until: number;
  /** the tunnel that ended while it was suspended; the next three columns are `null` unless this one is set */
  tunnel_id: string | null;
  /** its domain */
  domain: string | null;
  /** the reason of the suspension */
  suspended: string | null;
  /** what the operator suspended: resuming the account releases only what was suspended with it */
  suspended_with: 'tunnel' | 'account' | null;
}

/** What was ended before its time and no longer has a row of its own, so that a restore does not bring it back. */
export interface EndingsTable {
  /** of the account, tunnel or domain; the hash of a key */
  id: string;
  kind: EndingKind;
  account_id: string;
  ended_at: number;
  /** when it would have ended anyway */
  kept_until: number;
}

export type EndingKind = 'account' | 'key' | 'tunnel' | 'domain';

/** One row, incremented by everything that takes rights away or changes them: running relays watch it. */
export interface AccessRevisionTable {
  id: 1;
  revision: number;
}

/** Secrets that relays make for themselves. They are in backups, so they are protected no better than those. */
export interface RelaySecretsTable {
  name: string;
  value: string;
  created_at: number;
}

/** At most one row, in a database whose content was moved to another one. */
export interface RelocationTable {
  id: 1;
  /** the other database, as people know it */
  target: string;
  moved_at: number;
}

/** The relay's account at each certificate authority, with its key (PEM). */
export interface AcmeAccountsTable {
  directory: string;
  key: string;
  url: string | null;
  created_at: number;
}

/** Certificates and their keys (PEM), protected as the secrets above. */
export interface CertificatesTable {
  name: string;
  chain: string;
  key: string;
  renew_at: number;
  not_after: number;
  stored_at: number;
}

/** Names for which a certificate was ordered: who does so now, and how often it has failed in a row. */
export interface AcmeOrdersTable {
  name: string;
  failures: number;
  retry_at: number;
  held_until: number;
}

/** One for each order of the last hour. */
export interface AcmeAttemptsTable {
  id: string;
  started_at: number;
  /** `null`: nobody's */
  account_id: string | null;
}

/** What authorities look for, on whichever relay. */
export interface AcmeChallengesTable {
  token: string;
  type: ChallengeType;
  host: string;
  key_authorization: string;
  expires_at: number;
}

/** Domains that accounts have claimed. Several may claim one, but it is verified for one of them only. */
export interface DomainsTable {
  id: string;
  account_id: string;
  domain: string;
  /** what its TXT record has to say */
  proof: string;
  created_at: number;
  verified_at: number | null;
  failing_since: number | null;
  /** when it is looked at again; `null` for one that is not verified */
  check_at: number | null;
}

/** Tunnels that whoever runs the relay has closed, until every relay must have seen it. */
export interface ClosedTunnelsTable {
  id: string;
  closed_at: number;
}

export interface AuditTable {
  id: string;
  at: number;
  actor: string;
  action: string;
  subject: string;
  detail: string;
  /** owner of the key that acted; `null` for the command line and for invitations */
  account_id: string | null;
}

export interface InvitationsTable {
  id: string;
  account_id: string;
  hash: string;
  created_at: number;
  expires_at: number;
  /** A taken or revoked one stays until its end, so that a restore does not open it again. */
  taken_at: number | null;
}
