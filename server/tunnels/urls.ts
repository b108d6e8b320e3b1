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
  tunnel: Pick<LiveTunnel, 'slug' | 'account' | 'domain'>,
  { publicUrl, tunnelDomain, serviceDomain, pathForm }: Addresses,
): { public_url: string; urls: TunnelUrls } {
  const { slug, account, domain } = tunnel;
  const port = publicUrl.port === '' ? '' : `:${publicUrl.port}`;
  const below = (parent: string) => `${publicUrl.protocol}//${slug}.${parent}${port}`;
  const urls: TunnelUrls = {
    subdomain: below(tunnelDomain),
    ...(pathForm && { path: `${publicUrl.origin}/t/${slug}` }),
  };
  if (account.subdomain !== null) urls.account = below(`${account.subdomain}.${serviceDomain}`);
  if (domain !== null) urls.domain = `${publicUrl.protocol}//${domain}${port}`;
  return { public_url: urls.domain ?? urls.account ?? urls.subdomain, urls };
}
