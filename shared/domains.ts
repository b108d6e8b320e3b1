import { API_ERRORS, ApiError, invalidDomain } from './errors.ts';
import { isIPv6 } from './host.ts';
import type { ValueRule } from './value-rules.ts';

/** Domains that users bring to their tunnels, as the REST interface has them (docs/protocol.md section 12). */

/** What the TXT record that proves whose a domain is has before the domain in its name. */
export const PROOF_LABEL = '_culvert';

export type DomainStatus = 'pending' | 'verified';

/** A record that has to be entered where the domain's DNS is kept. */
export interface DnsRecord {
  type: 'A' | 'AAAA' | 'CNAME' | 'TXT';
  name: string;
  value: string;
}

export interface Domain {
  /** UUID */
  id: string;
  /** in lower case, other characters than ASCII in punycode */
  domain: string;
  status: DomainStatus;
  records: DnsRecord[];
  /** RFC 3339, UTC */
  created_at: string;
  /** RFC 3339, UTC; `null` for one that is not verified */
  verified_at: string | null;
  /** since when its records are not as they should be, RFC 3339, UTC; `null` where they are, or were never looked at again */
  failing_since: string | null;
  /** when the relay lets go of it if nothing changes, RFC 3339, UTC; `null` if it does not */
  ends_at: string | null;
}

/** What was found when a domain was looked at. */
export interface DomainCheck {
  /** `proof`: the TXT record; `address`: where the domain leads */
  what: 'proof' | 'address';
  ok: boolean;
  /** what the DNS has instead; none where there is nothing, or it is right */
  found: string[];
  /** what is wrong, as a sentence; `''` where nothing is */
  problem: string;
}

/** A domain that was just looked at. */
export interface CheckedDomain extends Domain {
  checks: DomainCheck[];
}

/* What a domain may be that a user brings (docs/protocol.md section 12.1). */

/** @limit RFC 1035 section 2.3.4, less the label of its proof and a dot: that is a name, too. */
export const DOMAIN_MAX_LENGTH = 253 - (PROOF_LABEL.length + 1);

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const IPV4 = /^\d+(?:\.\d+){3}$/;

/** A domain in the one spelling that is kept, or what is wrong with it, to complete "the domain …". */
export type DomainReading = { readonly name: string } | { readonly problem: string };

/**
 * Reads a domain: in upper or lower case, with one trailing dot or without, with other characters than ASCII (UTS #46) or in
 * punycode.
 */
export function readDomain(text: string): DomainReading {
  if (/[/@?#]/.test(text)) return { problem: 'must be given alone, without https:// or a path' };
  const given = text.endsWith('.') ? text.slice(0, -1) : text;
  if (isIPv6(given.replaceAll(/[[\]]/g, ''))) return { problem: 'must be a name, not an IP address' };
  if (given.includes(':')) return { problem: 'must be given without a port' };
  if (given.startsWith('*')) return { problem: 'must be one host: a wildcard cannot be taken' };
  const name = asciiOf(given);
  if (name === undefined) return { problem: `must be a host name, like app.example.com` };
  if (IPV4.test(name)) return { problem: 'must be a name, not an IP address' };
  if (name.length > DOMAIN_MAX_LENGTH)
    return { problem: `must have at most ${DOMAIN_MAX_LENGTH} characters` };
  const labels = name.split('.');
  if (labels.length === 1) return { problem: 'must have at least two labels, like app.example.com' };
  const isName = labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  return isName ? { name } : { problem: 'must be a host name, like app.example.com' };
}

/** A domain, as an option, a file or a form takes it. */
export const DOMAIN_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && 'name' in readDomain(value),
  accepted: 'a domain of yours without https:// and port, such as app.example.com',
};

/** In lower case and punycode; `undefined` for what cannot be a host. */
function asciiOf(given: string): string | undefined {
  // What a URL would decode or drop is not part of a name.
  if (given === '' || /[%\s\\[\]<>^|\p{Cc}]/u.test(given)) return undefined;
  return URL.canParse(`http://${given}`) ? new URL(`http://${given}`).hostname : undefined;
}

/* Requests that name a domain, as the REST interface accepts them (docs/protocol.md section 12). */

/**
 * Reads the body of a request for a domain.
 *
 * @param body parsed JSON
 * @returns the domain in the one spelling that is kept
 * @throws ApiError
 */
export function readAddDomain(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  return readGivenDomain((body as { readonly domain?: unknown }).domain);
}

/** @throws ApiError for what is not a domain */
export function readGivenDomain(value: unknown): string {
  const reading = typeof value === 'string' ? readDomain(value) : { problem: 'must be a text' };
  if ('problem' in reading) throw new ApiError(invalidDomain(reading.problem));
  return reading.name;
}
