import { escapeUnprintable } from '../../../../shared/unprintable.ts';
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

/* The decoded query of an address. */

/** Nobody reads more as a table. */
const MOST_PARAMETERS = 200;

interface AddressParameters {
  /** in order, including repeated names */
  readonly shown: readonly (readonly [name: string, value: string])[];
  /** the number of parameters left out */
  readonly more: number;
}

/**
 * Parses the parameters in the start line of a message as `application/x-www-form-urlencoded` (WHATWG URL, section
 * 5.1), with characters made visible that hide or reverse text. A line without a query, such as that of a response, has
 * none.
 */
export function addressParameters(startLine: string): AddressParameters {
  const target = startLine.split(' ')[1] ?? '';
  const at = target.indexOf('?');
  const all = at < 0 ? [] : [...new URLSearchParams(target.slice(at + 1))];
  return {
    shown: all
      .slice(0, MOST_PARAMETERS)
      .map(([name, value]) => [escapeUnprintable(name), escapeUnprintable(value)]),
    more: Math.max(0, all.length - MOST_PARAMETERS),
  };
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
