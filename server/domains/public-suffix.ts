/** What the list of public suffixes (https://publicsuffix.org) says about domains: loaded when the API is. */
import { parse } from 'tldts';

/** Whether others register their names below the domain: `com`, `co.uk`, `github.io`. */
export function isPublicSuffix(domain: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(domain, { allowPrivateDomains: true });
  return publicSuffix === domain && (isIcann === true || isPrivate === true);
}

/** Whether a domain is what was registered: it has records of its own, beside which there is no CNAME. */
export function isApex(domain: string): boolean {
  return parse(domain).domain === domain;
}
