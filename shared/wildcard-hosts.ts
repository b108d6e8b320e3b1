/** Hosts of a wildcard tunnel: `{any}--{slug}` below the tunnel domain (protocol.md section 4.7). */

const LABEL = /^[a-z0-9-]{1,63}$/;
const SEPARATOR = '--';

/** The label that stands for all hosts of a wildcard tunnel. */
export function wildcardLabel(slug: string): string {
  return `*${SEPARATOR}${slug}`;
}

/**
 * The slugs of wildcard tunnels that have a label among their hosts, longest first: if several exist, the longest
 * wins. A label in punycode (RFC 5890 section 2.3.2.1) is displayed as different text, so it belongs to none.
 *
 * @param label in lower case
 */
export function wildcardSlugsOf(label: string): string[] {
  if (!label.includes(SEPARATOR) || !LABEL.test(label) || label.startsWith('xn--')) return [];
  const slugs: string[] = [];
  for (let at = label.indexOf(SEPARATOR, 1); at !== -1; at = label.indexOf(SEPARATOR, at + 1)) {
    const slug = label.slice(at + SEPARATOR.length);
    if (slug !== '' && !slug.startsWith('-') && !slug.endsWith('-')) slugs.push(slug);
  }
  return slugs;
}

/** Whether a domain stands for all hosts one label below another: `*.example.com`. */
export function isWildcardDomain(domain: string): boolean {
  return domain.startsWith('*.');
}

/** The domain without `*.`. */
export function baseOfWildcard(domain: string): string {
  return isWildcardDomain(domain) ? domain.slice(2) : domain;
}

/** The wildcard domain that has a host among its own; `undefined` for a host without a label that `*` stands for. */
export function wildcardDomainOf(host: string): string | undefined {
  const [first = '', ...rest] = host.split('.');
  return rest.length > 1 && LABEL.test(first) && !first.startsWith('xn--')
    ? `*.${rest.join('.')}`
    : undefined;
}
