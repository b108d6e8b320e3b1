/** A tunnel as the REST interface shows it (docs/protocol.md section 3.3). */
import { formatDuration } from '../../../shared/duration.ts';
import type { Tunnel } from '../../../shared/tunnel.ts';
import type { LiveTunnel } from '../../tunnels/live-tunnel.ts';
import { type Addresses, tunnelUrls } from '../../tunnels/urls.ts';
import {
  accessView,
  address,
  count,
  localPort,
  normalizedDuration,
  object,
  text,
  timestamp,
  uuid,
} from '../json-schema.ts';
import { resource } from './resource.ts';

interface Source extends ReturnType<typeof tunnelUrls> {
  readonly tunnel: LiveTunnel;
  readonly isOnline: boolean;
}

export const TUNNEL = resource<Source, Tunnel>({
  id: { schema: uuid, of: ({ tunnel }) => tunnel.id },
  slug: { schema: text, of: ({ tunnel }) => tunnel.slug },
  client_id: { schema: uuid, of: ({ tunnel }) => tunnel.account.id },
  local_port: { schema: localPort, of: ({ tunnel }) => tunnel.localPort },
  name: {
    schema: { ...text, description: 'as requested, or empty' },
    of: ({ tunnel }) => tunnel.name,
  },
  ttl: { schema: normalizedDuration, of: ({ tunnel }) => formatDuration(tunnel.ttl) },
  mode: { schema: { const: 'relay' }, of: () => 'relay' },
  created_at: { schema: timestamp, of: ({ tunnel }) => rfc3339(tunnel.createdAt) },
  expires_at: { schema: timestamp, of: ({ tunnel }) => rfc3339(tunnel.expiresAt) },
  idle_ttl: { schema: { type: 'boolean' }, of: ({ tunnel }) => tunnel.idle },
  bytes_in: {
    schema: { ...count, description: 'bytes from visitors handed to the client' },
    of: ({ tunnel }) => tunnel.bytesIn,
  },
  bytes_out: {
    schema: { ...count, description: 'bytes from the client to visitors' },
    of: ({ tunnel }) => tunnel.bytesOut,
  },
  requests: { schema: count, of: ({ tunnel }) => tunnel.requests },
  online: {
    schema: { type: 'boolean', description: 'whether its client is there' },
    of: ({ isOnline }) => isOnline,
  },
  access: { schema: accessView, of: ({ tunnel }) => tunnel.access?.view() ?? {} },
  public_url: {
    schema: { ...address, description: 'the address to hand out' },
    of: ({ public_url }) => public_url,
  },
  urls: {
    schema: object({ subdomain: address, 'path?': address, 'account?': address, 'domain?': address }),
    of: ({ urls }) => urls,
  },
});

/**
 * @param online ids of the tunnels whose client is there
 * @returns the tunnel object
 */
export function viewTunnel(tunnel: LiveTunnel, addresses: Addresses, online: ReadonlySet<string>): Tunnel {
  return TUNNEL.view({ tunnel, isOnline: online.has(tunnel.id), ...tunnelUrls(tunnel, addresses) });
}

/** @returns in UTC with milliseconds, as JavaScript writes ISO strings */
function rfc3339(wallTime: number): string {
  return new Date(wallTime).toISOString();
}
