/** What a domain may be that a user brings (docs/protocol.md section 12.1). */
import type { ValueRule } from './value-rules.ts';
import { isIPv6 } from './host.ts';
import { PROOF_LABEL } from './domains.ts';

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
