import * as yup from 'yup';
import { API_ERRORS, ApiError, invalidDomain } from './errors.ts';
import {
  described,
  type Field,
  FLAG,
  listOf,
  object,
  objectSchema,
  oneOf,
  SHOWN_TIME,
  TEXT,
  TEXT_OR_EMPTY,
  TIME_OR_NULL,
  type TypeOf,
  UUID,
} from './fields.ts';
import { isIPv6 } from './host.ts';
import type { ValueRule } from './value-rules.ts';

/** Users' own domains in the REST interface (docs/protocol.md section 12). */

/** The label in front of a domain in the name of the TXT record that proves its ownership. */
export const PROOF_LABEL = '_culvert';

/** Copied into a form of a DNS provider: names, addresses, and the text of a proof. */
const COPIED: Field<string> = {
  ...TEXT,
  accepts: yup
    .string()
    .matches(/^[\w.:=-]{1,300}$/)
    .required(),
};

/** A DNS record that the owner of the domain has to create. */
export interface DnsRecord {
  type: 'A' | 'AAAA' | 'CNAME' | 'TXT';
  name: string;
  value: string;
}

export interface Domain {
  /** UUID */
  id: string;
  /** in lower case and punycode */
  domain: string;
  status: DomainStatus;
  records: DnsRecord[];
  /** RFC 3339, UTC */
  created_at: string;
  /** RFC 3339, UTC; `null` if it is not verified */
  verified_at: string | null;
  /** since when its records have been wrong, RFC 3339, UTC; `null` if they are right, or were not checked again */
  failing_since: string | null;
  /** when the relay gives up the domain if nothing changes, RFC 3339, UTC; `null` if it does not */
  ends_at: string | null;
}

/** The result of checking one record of a domain. */
export interface DomainCheck {
  /** `proof`: the TXT record; `address`: what the domain points to */
  what: 'proof' | 'address';
  ok: boolean;
  /** what the DNS has instead; empty if there is nothing, or it is right */
  found: string[];
  /** the problem as a sentence; `''` without one */
  problem: string;
}

/** A domain whose records were just checked. */
export interface CheckedDomain extends Domain {
  checks: DomainCheck[];
}

/* The accepted domains of users (docs/protocol.md section 12.1). */

/** @limit RFC 1035 section 2.3.4, minus the label of its proof and a dot, because the proof has a name as well. */
export const DOMAIN_MAX_LENGTH = 253 - (PROOF_LABEL.length + 1);

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const IPV4 = /^\d+(?:\.\d+){3}$/;

/** A domain in its canonical spelling, or the problem, which completes "the domain …". */
export type DomainReading = { readonly name: string } | { readonly problem: string };

/**
 * Reads a domain in upper or lower case, with or without a trailing dot, with characters outside ASCII (UTS #46) or in
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

/** A domain in an option, a file or a form. */
export const DOMAIN_RULE: ValueRule = {
  accepts: (value) => typeof value === 'string' && 'name' in readDomain(value),
  accepted: 'a domain of yours without https:// and port, such as app.example.com',
};

/** In lower case and punycode; `undefined` if it cannot be a host. */
function asciiOf(given: string): string | undefined {
  // A URL parser would decode or drop these characters.
  if (given === '' || /[%\s\\[\]<>^|\p{Cc}]/u.test(given)) return undefined;
  return URL.canParse(`http://${given}`) ? new URL(`http://${given}`).hostname : undefined;
}

/* Requests of the REST interface that name a domain (docs/protocol.md section 12). */

export const ADD_DOMAIN_SCHEMA = objectSchema(
  { domain: { type: 'string', description: 'such as `app.example.com`' } },
  'AddDomain',
);

/**
 * Reads the body of a request for a domain.
 *
 * @param body parsed JSON
 * @returns the domain in its canonical spelling
 * @throws ApiError
 */
export function readAddDomain(body: unknown): string {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError(API_ERRORS.invalidBody);
  return readGivenDomain((body as { readonly domain?: unknown }).domain);
}

/** @throws ApiError if the value is not a domain */
export function readGivenDomain(value: unknown): string {
  const reading = typeof value === 'string' ? readDomain(value) : { problem: 'must be a text' };
  if ('problem' in reading) throw new ApiError(invalidDomain(reading.problem));
  return reading.name;
}
