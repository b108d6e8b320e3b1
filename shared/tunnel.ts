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
  /** whether its client is there */
  online: boolean;
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
  /** only if the tunnel has a domain of its owner's */
  domain?: string;
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
    max_domains: number | null;
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
  /** a domain of the account, in the one spelling that is kept; `''` for none */
  domain: string;
}

/** A create request as read, with what is to happen if the account has such a tunnel already. */
export interface WantedTunnel extends CreateTunnel {
  /** Whether the account's own live tunnel of that name is the one that is meant. */
  takeOver: boolean;
}
