/** The tables as Kysely sees them; the same columns in every database. Times are ms since the epoch. */
import type { Plan } from '../../shared/tunnel.ts';

export interface Database {
  accounts: AccountsTable;
  api_keys: ApiKeysTable;
  tunnels: TunnelsTable;
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
}
