import type { DomainView } from '../../ipc/tunnel-views.ts';
import { t } from '../../messages/translate.ts';

/** Splits a tunnel's address into parts of different visual weight. */

interface AddressParts {
  readonly before: string;
  /** the part that differs between tunnels */
  readonly slug: string;
  readonly after: string;
}

/** An address without its scheme. */
export function withoutScheme(url: string): string {
  return url.replace(/^https?:\/\//, '');
}

/** Whether it is that of a TLS or TCP tunnel, which has connections instead of requests, and which no browser opens. */
export function isRaw({ url }: { readonly url: string }): boolean {
  return !/^https?:\/\//.test(url);
}

/** What a tunnel has, for texts that speak of it. */
export type Counted = 'connections' | 'requests';

export function countedBy({ url }: { readonly url?: string } = {}): Counted {
  return url !== undefined && isRaw({ url }) ? 'connections' : 'requests';
}

/** Splits `https://shop-demo.tunnels.example.com` around its slug. The scheme and a trailing slash are left out. */
export function addressParts(url: string, slug: string): AddressParts {
  const shown = withoutScheme(url).replace(/\/$/, '');
  if (shown.startsWith(`${slug}.`)) return { before: '', slug, after: shown.slice(slug.length) };
  const path = `/t/${slug}`;
  if (shown.endsWith(path)) return { before: shown.slice(0, -slug.length), slug, after: '' };
  return { before: '', slug: shown, after: '' };
}

/* The domain choice of a new tunnel. */

/** The value for adding a new domain. */
export const NEW_DOMAIN = 'new';

export interface DomainDraft {
  /** the domain, empty for none, or {@link NEW_DOMAIN} */
  readonly choice: string;
  readonly isVerified: boolean;
}

export const NO_DOMAIN: DomainDraft = { choice: '', isVerified: false };

/** @returns the request for main, or why the draft is invalid */
export function readDomainDraft({
  choice,
  isVerified,
}: DomainDraft): { domain: string } | { problem: string } {
  if (choice === '' || isVerified) return { domain: choice };
  if (choice === NEW_DOMAIN) return { problem: t('domain.addFirst') };
  return { problem: t('domain.notVerified', { choice }) };
}

export function domainLabel({ domain, status }: DomainView): string {
  return status === 'verified' ? domain : t('domain.notVerifiedChoice', { domain });
}

/** The list with a changed domain. */
export function withDomain(domains: readonly DomainView[], changed: DomainView): readonly DomainView[] {
  const others = domains.filter(({ id }) => id !== changed.id);
  return others.length === domains.length
    ? [...domains, changed]
    : domains.map((one) => (one.id === changed.id ? changed : one));
}
