/**
 * Keeps the responses of a path-form tunnel below its prefix (protocol.md section 4.4): it shares an origin with
 * the API and with every other path-form tunnel. docs/decisions/0011-path-form.md explains each dropped field.
 */
import { cookieName, type Field, mapTags } from '../../shared/http1/fields.ts';
import { hostname } from '../../shared/networks.ts';
import { setsOwnCookie } from './request-head.ts';
import type { FieldMap } from './response-head.ts';

/** Fields that affect the whole origin or its host, or that browsers remember for it. */
const DROPPED = [
  'accept-ch',
  'accept-ch-lifetime',
  'clear-site-data',
  'critical-ch',
  'critical-origin-trial',
  // The relay's own pages tell windows of this origin apart by it.
  'cross-origin-opener-policy',
  'expect-ct',
  'nel',
  'origin-agent-cluster',
  'origin-trial',
  'public-key-pins',
  'public-key-pins-report-only',
  'report-to',
  'reporting-endpoints',
  'sec-session-challenge',
  'sec-session-registration',
  'secure-session-challenge',
  'secure-session-registration',
  'service-worker-allowed',
  'set-cookie2',
  'set-login',
  'strict-transport-security',
  'use-as-dictionary',
];
/**
 * Field lines that every final response gets. The script of a service worker is refused here, so browsers must not
 * take one from their cache that they received as something else.
 */
export const PATH_FORM_FIELDS = 'Vary: Service-Worker\r\n';
/** Such a cookie has to be for the whole host (RFC 6265bis section 4.1.3). Browsers ignore the case of the name. */
const HOST_COOKIE = /^\s*__Host-/i;
/** What precedes the address, as browsers read it (HTML Living Standard section 4.2.5.3). */
const REFRESH = /^(\s*[\d.]+\s*[;,]?\s*(?:url\s*=\s*)?["']?)(.+)$/is;
const ABSOLUTE = /^(https?:)?\/\/([^/?#]*)(.*)$/is;

/** A path-form tunnel as addressed by one request. */
interface PathForm {
  /** `/t/{slug}` */
  readonly prefix: string;
  /** target below the prefix, in origin form */
  readonly target: string;
  /** whether that was the bare prefix, without a slash after it */
  readonly isBare: boolean;
  /** names of the relay that this visitor uses, in lower case, without port */
  readonly ownHosts: readonly string[];
  /** A cookie is left out, because browsers would reject it. */
  readonly onCookieLeftOut: (name: string) => void;
}

/** Makes the map for the fields of the responses to one request. */
export function belowPrefix({ prefix, target, isBare, ownHosts, onCookieLeftOut }: PathForm): FieldMap {
  const move = (address: string): string => moveAddress(address, ownHosts, (path) => below(path, prefix));
  return (field: Field) => {
    if (DROPPED.some((name) => field.is(name))) return undefined;
    if (field.is('location') || field.is('content-location')) return move(field.value);
    if (field.is('link')) return mapTags(field.value, move);
    if (field.is('refresh'))
      return field.value.replace(REFRESH, (_all, start: string, address: string) => start + move(address));
    if (field.is('set-cookie')) {
      if (setsOwnCookie(field)) return undefined;
      if (!HOST_COOKIE.test(field.value)) return cookieBelow(field.value, prefix, target);
      onCookieLeftOut(cookieName(field.value.split(';', 1)[0] ?? ''));
      return undefined;
    }
    if (field.is('www-authenticate')) return challengeBelow(field.value, prefix, isBare);
    return field;
  };
}

/** Whether a target is the prefix itself, without a slash after it: its folder is shared by all tunnels. */
export function isBarePrefix(target: string, prefix: string): boolean {
  return target.split('?', 1)[0]?.includes(`${prefix}/`) !== true;
}

/**
 * Maps a field of a request in which WebDAV names resources of the tunnel, which have their prefix there as in the
 * target of the request.
 *
 * @returns `undefined` for any other field
 */
export function withoutPrefix(
  field: Field,
  { prefix, ownHosts }: Pick<PathForm, 'prefix' | 'ownHosts'>,
): string | undefined {
  const remove = (address: string): string => moveAddress(address, ownHosts, (path) => above(path, prefix));
  if (field.is('destination')) return remove(field.value);
  return field.is('if') ? mapTags(field.value, remove) : undefined;
}

/** An address with another path, if it is one of this host. */
function moveAddress(address: string, ownHosts: readonly string[], move: (path: string) => string): string {
  const [, scheme, host, rest = ''] = ABSOLUTE.exec(address) ?? [];
  if (host === undefined) return address.startsWith('/') ? move(address) : address;
  if (!ownHosts.includes(hostname(host))) return address;
  return `${scheme ?? ''}//${host}${move(rest)}`;
}

/** A path without the prefix, if it is below it. */
function above(path: string, prefix: string): string {
  const rest = path.slice(prefix.length);
  if (!path.startsWith(prefix) || !/^(?:[/?]|$)/.test(rest)) return path;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** A path moved below the prefix, unless a service that knows its prefix has already put it there. */
function below(path: string, prefix: string): string {
  if (path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`)) return path;
  return prefix + path;
}

/*
 * `Set-Cookie` as it leaves a tunnel: a cookie belongs to the tunnel that sets it (protocol.md section 4.3). It
 * is parsed as browsers do (RFC 6265bis section 5): parts end at every semicolon, even within quotes, and if an
 * attribute is given several times, the last one counts.
 */

const DOMAIN = /;\s*domain\s*(?:=[^;]*)?(?=;|$)/gi;
const DOMAIN_OR_PATH = /;\s*(?:domain|(path))\s*(?:=([^;]*))?(?=;|$)/gi;
/** Characters beyond which browsers ignore the value of an attribute. */
const ATTRIBUTE_MAX = 1024;
/** Sequences that a client which resolves paths would change. */
const RESOLVED = /\\|\/(?:\.|%2e){1,2}(?:\/|$)/i;

/**
 * Limits a cookie to the host that sets it. Its `Domain` is dropped, even if it names just this host: one day there
 * may be other people's hosts below it, because the name of a tunnel can become the subdomain of an account.
 */
export function cookieOfHost(value: string): string {
  return value.replace(DOMAIN, '');
}

/** Maps the fields of a tunnel with its own host: it may not set the relay's own cookies. */
export function ownCookies(field: Field): Field | string | undefined {
  if (!field.is('set-cookie')) return field;
  return setsOwnCookie(field) ? undefined : cookieOfHost(field.value);
}

/**
 * Limits a cookie of a tunnel in the path form to that tunnel: its `Domain` is dropped, and it gets one `Path`, at or
 * below the prefix.
 *
 * @param prefix `/t/{slug}`
 * @param target requested below the prefix; its folder is the path of a cookie without one
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

/**
 * `WWW-Authenticate` of a tunnel in the path form. Browsers send a password again, without asking, to whatever names the
 * same realm on the same origin, and unasked to everything in the folder that asked for it (RFC 7617 section 2.2).
 */

/** One Basic challenge and nothing else: the scheme, the realm, and perhaps the charset. */
const BASIC =
  /^basic +realm *= *(?:"((?:[^"\\]|\\[^"\\])*)"|([!#$%&'*+\-.^_`|~0-9a-z]+))( *, *charset *= *"?utf-8"?)?$/i;
/** Schemes whose credentials browsers remember, or answer with those of the system's user. */
const KEPT = /(?:^|[\s,])(?:basic|digest|ntlm|negotiate)(?=[\s,]|$)/i;

/**
 * Limits a challenge to its tunnel: the realm of Basic begins with the prefix, which no other tunnel's realm does.
 * Other schemes whose credentials browsers remember are dropped, and so is Basic if it is not plain, or used at the
 * bare prefix, whose folder is shared.
 *
 * @param prefix `/t/{slug}`
 * @param isBare whether the request was for the prefix itself, without a slash after it
 * @returns the value to pass on, or `undefined` to drop the field
 */
export function challengeBelow(value: string, prefix: string, isBare: boolean): string | undefined {
  if (!KEPT.test(value)) return value;
  const [plain, quoted, token, charset] = BASIC.exec(value) ?? [];
  if (plain === undefined || isBare) return undefined;
  return `Basic realm="${prefix} ${quoted ?? token ?? ''}"${charset === undefined ? '' : ', charset="UTF-8"'}`;
}
