import * as yup from 'yup';
import { API_ERRORS, ApiError, type Clause, type ErrorValues, withValues } from './errors.ts';
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
import { isIPv6 } from './networks.ts';
import { baseOfWildcard } from './wildcard-hosts.ts';
import type { ValueRule } from './value-rules.ts';

/** Domains that users bring to their tunnels, as the REST interface has them (protocol.md section 12). */

/** The label before the domain in the name of the TXT record that proves ownership. */
export const PROOF_LABEL = '_culvert';

/** Copied into a form of a DNS provider: names, addresses, and the text of a proof. */
const COPIED: Field<string> = {
  ...TEXT,
  accepts: yup
    .string()
    .matches(/^[\w*.:=-]{1,300}$/)
    .required(),
};

/** A record that the owner has to create in the DNS. */
const RECORD = object(
  { type: oneOf(['A', 'AAAA', 'CNAME', 'TXT', 'NS']), name: COPIED, value: COPIED },
  'DnsRecord',
);
export type DnsRecord = TypeOf<typeof RECORD>;

export const DOMAIN = object(
  {
    id: UUID,
    domain: described(COPIED, 'the domain in lower case and in punycode'),
    status: oneOf(['pending', 'verified']),
    records: listOf(RECORD, 'the DNS records to create'),
    created_at: SHOWN_TIME,
    /** `null` for one that is not verified */
    verified_at: TIME_OR_NULL,
    /** `null` if they are right, or if the relay has not checked them again */
    failing_since: described(TIME_OR_NULL, 'since when the DNS records of a verified domain have been wrong'),
    /** `null` if it does not */
    ends_at: described(TIME_OR_NULL, 'when the relay releases the domain if its records are not corrected'),
  },
  'Domain',
);
export const DOMAIN_LIST = object({ domains: listOf(DOMAIN, 'oldest first') }, 'DomainList');
export type Domain = TypeOf<typeof DOMAIN>;
export type DomainStatus = Domain['status'];

/** What was found when the records of a domain were checked. */
const CHECK = object(
  {
    what: described(
      oneOf(['proof', 'address']),
      'which record was checked: the TXT record, or the one that points to the relay',
    ),
    ok: FLAG,
    found: listOf(TEXT_OR_EMPTY, 'the values that were found in the DNS instead'),
    problem: described(TEXT_OR_EMPTY, 'what is wrong, or an empty string'),
  },
  'DomainCheck',
);
export type DomainCheck = TypeOf<typeof CHECK>;

/** A domain whose records were just checked. */
export const CHECKED_DOMAIN = object({ ...DOMAIN.fields, checks: listOf(CHECK) }, 'CheckedDomain');
export type CheckedDomain = TypeOf<typeof CHECKED_DOMAIN>;

/* What domains are accepted (protocol.md section 12.1). */

/**
 * Maximum length of a custom domain: 253 characters (RFC 1035 section 2.3.4), less the label of its proof and a
 * dot, because the proof's name counts as well.
 */
export const DOMAIN_MAX_LENGTH = 253 - (PROOF_LABEL.length + 1);

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const IPV4 = /^\d+(?:\.\d+){3}$/;

/** A domain in its canonical spelling, or what is wrong with it, to complete "the domain …". */
type DomainReading = { readonly name: string } | { readonly problem: Clause };

function problem(code: string, text: string, values: ErrorValues = {}): DomainReading {
  return { problem: { code, text, values } };
}

const NO_HOST_NAME = problem('host_name', 'must be a host name, such as app.example.com');
const IS_ADDRESS = problem('address', 'must be a name, not an IP address');

/**
 * Reads a domain: in upper or lower case, with one trailing dot or without, with other characters than ASCII (UTS #46)
 * or in punycode. `*.example.com` stands for all hosts one label below `example.com`.
 */
export function readDomain(text: string): DomainReading {
  if (/[/@?#]/.test(text)) return problem('alone', 'must be given alone, without https:// or a path');
  const given = text.endsWith('.') ? text.slice(0, -1) : text;
  if (isIPv6(given.replaceAll(/[[\]]/g, ''))) return IS_ADDRESS;
  if (given.includes(':')) return problem('port', 'must be given without a port');
  const base = baseOfWildcard(given);
  if (base.includes('*'))
    return problem('wildcard', 'may contain * only as its first label, as in *.example.com');
  if (base !== given) {
    const reading = readDomain(base);
    return 'name' in reading ? { name: `*.${reading.name}` } : reading;
  }
  const name = asciiOf(given);
  if (name === undefined) return NO_HOST_NAME;
  if (IPV4.test(name)) return IS_ADDRESS;
  if (name.length > DOMAIN_MAX_LENGTH)
    return problem('long', `must have at most ${DOMAIN_MAX_LENGTH} characters`, { max: DOMAIN_MAX_LENGTH });
  const labels = name.split('.');
  if (labels.length === 1) return problem('labels', 'must have at least two labels, such as app.example.com');
  const isName = labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '');
  return isName ? { name } : NO_HOST_NAME;
}

/** A domain, as an option, a file or a form takes it. */
export const DOMAIN_RULE: ValueRule = {
  code: 'domain',
  accepts: (value) => typeof value === 'string' && 'name' in readDomain(value),
  accepted:
    'a domain that you own, without https:// and without a port, such as app.example.com or *.example.com',
};

/** In lower case and punycode; `undefined` for what cannot be a host. */
function asciiOf(given: string): string | undefined {
  // What a URL would decode or drop is not part of a name.
  if (given === '' || /[%\s\\[\]<>^|\p{Cc}]/u.test(given)) return undefined;
  return URL.canParse(`http://${given}`) ? new URL(`http://${given}`).hostname : undefined;
}

/* Requests that name a domain, as the REST interface accepts them (protocol.md section 12). */

export const ADD_DOMAIN_SCHEMA = objectSchema(
  { domain: { type: 'string', description: 'the domain, such as `app.example.com` or `*.example.com`' } },
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

/** @throws ApiError for what is not a domain */
export function readGivenDomain(value: unknown): string {
  const reading = typeof value === 'string' ? readDomain(value) : problem('text', 'must be a text');
  if ('problem' in reading) throw new ApiError(withValues(API_ERRORS.invalidDomain, reading));
  return reading.name;
}
