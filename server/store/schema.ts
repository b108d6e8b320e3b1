/** The tables as Kysely sees them; the same columns in every database. Times are ms since the epoch. */
import type { Plan } from '../../shared/tunnel.ts';

export interface Database {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  tunnels: TunnelsTable;
  tunnel_links: TunnelLinksTable;
  released_names: ReleasedNamesTable;
  access_revision: AccessRevisionTable;
  relay_secrets: RelaySecretsTable;
}

export interface AccountsTable {
  id: string;
  name: string;
  plan: Plan;
  subdomain: string | null;
  created_at: number;
}

export interface ApiKeysTable {
  id: string;
  account_id: string;
  hash: string;
  hint: string;
  created_at: number;
  /** A revoked key stays, so that nobody can bring it back by creating it again. */
  revoked_at: number | null;
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

/** Slugs of ended tunnels, kept for the account that had them (docs/protocol.md section 3.5). */
export interface ReleasedNamesTable {
  slug: string;
  account_id: string;
  held_until: number;
}

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
