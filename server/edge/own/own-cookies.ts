/** Cookies that are between the relay and a browser: no local service sees or sets one. */
import type { Field } from '../../../shared/http1/fields.ts';

/**
 * In the subdomain form with https: browsers accept it from its own host only, for all of it (RFC 6265bis section 4.1.3).
 */
export const HOST_NOTICE_COOKIE = '__Host-culvert-notice';
export const NOTICE_COOKIE = 'culvert-notice';

const OWN: ReadonlySet<string> = new Set([HOST_NOTICE_COOKIE, NOTICE_COOKIE]);

/**
 * The value of a `Cookie` field without them; all others stay as they are.
 *
 * @returns `''` if there are no others
 */
export function withoutOwnCookies(value: string): string {
  if (!value.includes(NOTICE_COOKIE)) return value;
  const pairs = value.split(';').filter((pair) => !OWN.has(nameOf(pair)));
  return pairs.join(';').trim();
}

/** The values of all cookies of that name, in order: a sibling host may have set more than one. */
export function cookieValues(fields: readonly Field[], name: string): string[] {
  return fields
    .filter((field) => field.is('cookie'))
    .flatMap((field) => field.value.split(';'))
    .filter((pair) => nameOf(pair) === name)
    .map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
}

/** Whether a `Set-Cookie` field sets one of them, which a picture could do before its page was ever visited. */
export function setsOwnCookie(field: Field): boolean {
  return field.is('set-cookie') && OWN.has(nameOf(field.value.split(';', 1)[0] ?? ''));
}

function nameOf(pair: string): string {
  const end = pair.indexOf('=');
  return (end === -1 ? pair : pair.slice(0, end)).trim();
}
