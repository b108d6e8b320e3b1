import { parseDuration } from '../../../shared/duration.ts';
import type { Account, Tunnel } from '../../../shared/tunnel.ts';
import type { AccountView } from '../../shared/snapshot.ts';

/** What the window shows of an account. */
export function accountView(account: Account, nameDomain: string): AccountView {
  return {
    name: account.name,
    plan: account.plan,
    nameDomain,
    allowsNames: account.plan !== 'free',
    defaultTtl: parseDuration(account.limits.default_ttl) ?? 3600,
    maxTtl: parseDuration(account.limits.max_ttl) ?? 3600,
  };
}

/**
 * The domain below which a tunnel has its name, with the port if it is not the scheme's own.
 *
 * @returns `undefined` if the tunnel has only a path address
 */
export function nameDomainOf({
  slug,
  public_url,
  urls,
}: Pick<Tunnel, 'slug' | 'public_url' | 'urls'>): string | undefined {
  // A domain of somebody's may begin like the tunnel's name.
  const named = public_url === urls.domain ? (urls.account ?? urls.subdomain) : public_url;
  const host = URL.parse(named)?.host;
  return host?.startsWith(`${slug}.`) === true ? host.slice(slug.length + 1) : undefined;
}
