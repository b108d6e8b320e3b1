/** What the REST interface shows (docs/protocol.md sections 3.3 and 3.6). */
import { formatDuration } from '../../shared/duration.ts';
import type { Account, Tunnel, TtlLimits } from '../../shared/tunnel.ts';
import type { AccountRecord } from '../store/records.ts';
import { PLAN_RULES, ttlLimitsOf } from '../accounts/plans.ts';
import { CREATE_BURST, CREATES_PER_MINUTE } from '../limits.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { type Addresses, tunnelUrls } from '../tunnels/urls.ts';

/** @returns the tunnel object */
export function viewTunnel(tunnel: LiveTunnel, addresses: Addresses): Tunnel {
  return {
    id: tunnel.id,
    slug: tunnel.slug,
    client_id: tunnel.account.id,
    local_port: tunnel.localPort,
    name: tunnel.name,
    ttl: formatDuration(tunnel.ttl),
    mode: 'relay',
    created_at: timestamp(tunnel.createdAt),
    expires_at: timestamp(tunnel.expiresAt),
    idle_ttl: tunnel.idle,
    bytes_in: tunnel.bytesIn,
    bytes_out: tunnel.bytesOut,
    requests: tunnel.requests,
    ...tunnelUrls(tunnel, addresses),
  };
}

/**
 * @param ttl what the relay allows everybody
 * @returns what `GET /v1/account` answers
 */
export function viewAccount(account: AccountRecord, ttl: TtlLimits): Account {
  const { maxTunnels, maxConnections } = PLAN_RULES[account.plan];
  const { defaultTtl, maxTtl } = ttlLimitsOf(account.plan, ttl);
  return {
    client_id: account.id,
    name: account.name,
    plan: account.plan,
    subdomain: account.subdomain,
    limits: {
      default_ttl: formatDuration(defaultTtl),
      max_ttl: formatDuration(maxTtl),
      creates_per_minute: CREATES_PER_MINUTE,
      create_burst: CREATE_BURST,
      max_tunnels: maxTunnels,
      max_connections: maxConnections,
    },
  };
}

/** @returns RFC 3339 in UTC with milliseconds, which is what ISO strings of JavaScript are */
function timestamp(wallTime: number): string {
  return new Date(wallTime).toISOString();
}
