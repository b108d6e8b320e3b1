/** Cookies that are between the relay and a browser: no local service sees or sets one. */
import { cookieName } from '../../../shared/http1/cookies.ts';
import type { Field } from '../../../shared/http1/fields.ts';

/**
 * In the subdomain form with https: browsers accept it from its own host only, for all of it (RFC 6265bis section 4.1.3).
 */
export const HOST_NOTICE_COOKIE = '__Host-culvert-notice';
export const NOTICE_COOKIE = 'culvert-notice';

/** Who has been let in; named like those of the notice. */
export const HOST_PASS_COOKIE = '__Host-culvert-pass';
export const PASS_COOKIE = 'culvert-pass';
/** What all of their names have in them. */
const MARK = 'culvert-';

const OWN: ReadonlySet<string> = new Set([HOST_NOTICE_COOKIE, NOTICE_COOKIE, HOST_PASS_COOKIE, PASS_COOKIE]);

/**
 * The value of a `Cookie` field without them; all others stay as they are.
 *
 * @returns `''` if there are no others
 */
export function withoutOwnCookies(value: string): string {
  if (!value.includes(MARK)) return value;
  const pairs = value.split(';').filter((pair) => !OWN.has(cookieName(pair)));
  return pairs.join(';').trim();
}

/** @returns name of the cookie with a pass, for the form of the address */
export function passCookieName(form: 'host' | 'path', secure: boolean): string {
  return secure && form === 'host' ? HOST_PASS_COOKIE : PASS_COOKIE;
}

/** @returns value of the `Set-Cookie` field that makes a visitor known to the gate of one tunnel */
export function passCookie({
  value,
  prefix,
  secure,
  seconds,
}: {
  readonly value: string;
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  readonly secure: boolean;
  readonly seconds: number;
}): string {
  const name = passCookieName(prefix === '' ? 'host' : 'path', secure);
  return `${name}=${value}; Path=${prefix || '/'}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
}

/** Whether a field, which is a `Set-Cookie`, sets one of them, which a picture could do before its page was ever visited. */
export function setsOwnCookie(field: Field): boolean {
  const [pair = ''] = field.value.split(';', 1);
  // Browsers send a cookie without a name as its value alone, which reads as another one's name and value.
  return OWN.has(cookieName(pair.replace(NAMELESS, '')));
}

const NAMELESS = /^[ \t=]+/;
