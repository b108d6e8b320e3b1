/** Tunnels as the REST interface shows them (docs/protocol.md section 3). */
import type { Access, AccessView } from './access.ts';

/** The tunnel object. */
export interface Tunnel {
  /** UUID */
  id: string;
  slug: string;
  client_id: string;
  local_port: number;
  /** the requested name, or `''` */
  name: string;
  /** normalized duration string */
  ttl: string;
  mode: 'relay';
  /** RFC 3339, UTC, milliseconds */
  created_at: string;
  /** RFC 3339, UTC, milliseconds */
  expires_at: string;
  idle_ttl: boolean;
  bytes_in: number;
  bytes_out: number;
  requests: number;
  /** who may come in; `{}`: everybody */
  access: AccessView;
  /** the address to hand out */
  public_url: string;
  urls: TunnelUrls;
}

export interface TunnelUrls {
  subdomain: string;
  /** only if the relay has the path form */
  path?: string;
  /** only if the owner has an account subdomain */
  account?: string;
}

/** What `GET /v1/account` returns; `null` means "unlimited". */
export interface Account {
  client_id: string;
  name: string;
  plan: Plan;
  subdomain: string | null;
  limits: {
    default_ttl: string;
    max_ttl: string;
    creates_per_minute: number;
    create_burst: number;
    max_tunnels: number | null;
    max_connections: number | null;
  };
}

export const PLANS = ['free', 'dev', 'team'] as const;
export type Plan = (typeof PLANS)[number];

/** How long a relay lets tunnels live, in seconds. */
export interface TtlLimits {
  readonly defaultTtl: number;
  readonly maxTtl: number;
}

/** A create request as read: defaults filled in, `ttl` in seconds. */
export interface CreateTunnel {
  localPort: number;
  /** `''` for none */
  name: string;
  ttl: number;
  idleTtl: boolean;
  /** who may come in */
  access: Access;
}
