/** The public addresses of a tunnel (docs/protocol.md section 4.1). */
import type { TunnelUrls } from '../../shared/tunnel.ts';
import type { LiveTunnel } from './live-tunnel.ts';

/** What addresses are made of. */
export interface Addresses {
  /** The relay's own address, without a path; its scheme and port are those of all tunnels. */
  readonly publicUrl: URL;
  readonly tunnelDomain: string;
  readonly serviceDomain: string;
  /** whether tunnels have an address below the relay's own, too */
  readonly pathForm: boolean;
}

/** @returns all addresses of a tunnel, and the one to hand out */
export function tunnelUrls(
  tunnel: Pick<LiveTunnel, 'slug' | 'account'>,
  { publicUrl, tunnelDomain, serviceDomain, pathForm }: Addresses,
): { public_url: string; urls: TunnelUrls } {
  const { slug, account } = tunnel;
  const port = publicUrl.port === '' ? '' : `:${publicUrl.port}`;
  const below = (domain: string) => `${publicUrl.protocol}//${slug}.${domain}${port}`;
  const urls: TunnelUrls = {
    subdomain: below(tunnelDomain),
    ...(pathForm && { path: `${publicUrl.origin}/t/${slug}` }),
  };
  if (account.subdomain === null) return { public_url: urls.subdomain, urls };
  const own = below(`${account.subdomain}.${serviceDomain}`);
  return { public_url: own, urls: { ...urls, account: own } };
}
