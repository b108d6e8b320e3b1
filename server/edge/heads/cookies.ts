/**
 * `Set-Cookie` as it leaves a tunnel: a cookie belongs to the tunnel that sets it (docs/protocol.md section 4.3). It is read
 * as browsers read it (RFC 6265bis section 5): parts end at every semicolon, even within quotes, and if an attribute is
 * given several times, the last one counts.
 */
import type { Field } from '../../../shared/http1/fields.ts';
import { setsOwnCookie } from './own-cookies.ts';

const DOMAIN = /;\s*domain\s*(?:=[^;]*)?(?=;|$)/gi;
const DOMAIN_OR_PATH = /;\s*(?:domain|(path))\s*(?:=([^;]*))?(?=;|$)/gi;
/** Characters beyond which browsers ignore the value of an attribute. */
const ATTRIBUTE_MAX = 1024;
/** What a client that resolves paths would turn into another path. */
const RESOLVED = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Limits a cookie to the host that sets it. Its `Domain` is dropped, even if it names just this host: there may one day be
 * other people's hosts below it, because a name that a tunnel had can become the subdomain of an account.
 */
export function cookieOfHost(value: string): string {
  return value.replace(DOMAIN, '');
}

/** Maps the fields of a tunnel that has its own host: it may not set the relay's own cookies. */
export function ownCookies(field: Field): Field | string | undefined {
  if (!field.is('set-cookie')) return field;
  return setsOwnCookie(field) ? undefined : cookieOfHost(field.value);
}

/**
 * Limits a cookie of a tunnel in the path form to that tunnel: its `Domain` is dropped, and it gets one `Path`, at or below
 * the prefix.
 *
 * @param prefix `/t/{slug}`
 * @param target what was asked for below the prefix; its folder is the path of a cookie that names none
 */
export function cookieBelow(value: string, prefix: string, target: string): string {
  let path = '';
  const rest = value.replace(DOMAIN_OR_PATH, (_all, isPath?: string, given = '') => {
    if (isPath !== undefined) path = given.trim();
    return '';
  });
  const end = rest.includes(';') ? rest.indexOf(';') : rest.length;
  const scope = pathBelow(path.startsWith('/') ? path : folderOf(target), prefix);
  // Before the other attributes, because browsers need not read many of them.
  return `${rest.slice(0, end)}; Path=${scope}${rest.slice(end)}`;
}

/** The folder of a target (RFC 6265bis section 5.1.4), empty for the root. */
function folderOf(target: string): string {
  const path = target.split('?', 1)[0] ?? '';
  return path.slice(0, path.lastIndexOf('/'));
}

function pathBelow(path: string, prefix: string): string {
  const isOwn = path === prefix || path.startsWith(`${prefix}/`);
  const moved = isOwn ? path : prefix + (path === '/' ? '' : path);
  return moved.length > ATTRIBUTE_MAX || moved.includes(';') || RESOLVED.test(moved) ? prefix : moved;
}
