/**
 * `Set-Cookie` as it leaves a tunnel: a cookie belongs to the tunnel that sets it (docs/protocol.md section 4.3). Read as
 * browsers do (RFC 6265bis section 5): parts end at every semicolon, also within quotes, and of one attribute given
 * several times the last one counts.
 */
import type { Field } from '../../shared/http1/fields.ts';

const DOMAIN = /;\s*domain\s*(?:=[^;]*)?(?=;|$)/gi;
const DOMAIN_OR_PATH = /;\s*(?:domain|(path))\s*(?:=([^;]*))?(?=;|$)/gi;
/** Characters beyond which browsers ignore the value of an attribute. */
const ATTRIBUTE_MAX = 1024;
/** What a client that resolves paths would make another path of. */
const RESOLVED = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Leaves a cookie to the host that sets it. Its `Domain` is dropped, also one that names just this host: below that there
 * may one day be hosts of others, because a name that a tunnel had can become the subdomain of an account.
 */
export function cookieOfHost(value: string): string {
  return value.replace(DOMAIN, '');
}

/** The map for the fields of a tunnel that has a host of its own. */
export function ownCookies(field: Field): Field | string {
  return field.is('set-cookie') ? cookieOfHost(field.value) : field;
}

/**
 * Leaves a cookie of a tunnel in the path form to that tunnel: its `Domain` is dropped, and it has one `Path`, at or below
 * the prefix.
 *
 * @param prefix `/t/{slug}`
 * @param target what was asked for below the prefix, whose folder is the path of a cookie that gives none
 */
export function cookieBelow(value: string, prefix: string, target: string): string {
  let path = '';
  const rest = value.replace(DOMAIN_OR_PATH, (_all, isPath?: string, given = '') => {
    if (isPath !== undefined) path = given.trim();
    return '';
  });
  const end = rest.includes(';') ? rest.indexOf(';') : rest.length;
  const scope = pathBelow(path.startsWith('/') ? path : folderOf(target), prefix);
  // In front of the others, because browsers need not read many of them.
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
