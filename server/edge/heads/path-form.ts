/**
 * Keeps the responses of a path-form tunnel below its prefix (docs/protocol.md section 4.4): it shares an origin with
 * the API and with every other path tunnel. docs/decisions/0011-path-form.md says why each field goes.
 */
import type { Field } from '../../../shared/http1/fields.ts';
import { hostname } from '../../../shared/host.ts';
import { challengeBelow } from './challenges.ts';
import { cookieBelow } from './cookies.ts';
import type { FieldMap } from './response-head.ts';
import { setsOwnCookie } from './own-cookies.ts';

/** Fields that tell browsers something about the whole origin or its host, or that they remember for it. */
const DROPPED = [
  'accept-ch',
  'accept-ch-lifetime',
  'alt-svc',
  'clear-site-data',
  'critical-ch',
  'critical-origin-trial',
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
 * Field lines that every final response gets. The script of a service worker is refused here, so browsers must not take one
 * from their cache that they received as something else.
 */
export const PATH_FORM_FIELDS = 'Vary: Service-Worker\r\n';
const ABSOLUTE = /^(https?:)?\/\/([^/?#]*)(.*)$/is;

/** A path-form tunnel as one request addresses it. */
export interface PathForm {
  /** `/t/{slug}` */
  readonly prefix: string;
  /** what was asked for below it, in origin form */
  readonly target: string;
  /** whether that was the bare prefix, without a slash after it */
  readonly isBare: boolean;
  /** names by which this visitor knows the relay, in lower case, without port */
  readonly ownHosts: readonly string[];
}

/** Makes the map for the fields of the responses to one request. */
export function belowPrefix({ prefix, target, isBare, ownHosts }: PathForm): FieldMap {
  return (field: Field) => {
    if (DROPPED.some((name) => field.is(name))) return undefined;
    if (field.is('location')) return location(field.value, prefix, ownHosts);
    if (field.is('set-cookie'))
      return setsOwnCookie(field) ? undefined : cookieBelow(field.value, prefix, target);
    if (field.is('www-authenticate')) return challengeBelow(field.value, prefix, isBare);
    return field;
  };
}

/** Whether a target is the prefix itself, without a slash after it: its folder belongs to all tunnels. */
export function isBarePrefix(target: string, prefix: string): boolean {
  return target.split('?', 1)[0]?.includes(`${prefix}/`) !== true;
}

function location(value: string, prefix: string, ownHosts: readonly string[]): string {
  const [, scheme, host, rest = ''] = ABSOLUTE.exec(value) ?? [];
  if (host === undefined) return value.startsWith('/') ? below(value, prefix) : value;
  if (!ownHosts.includes(hostname(host))) return value;
  return `${scheme ?? ''}//${host}${below(rest, prefix)}`;
}

/** A path moved below the prefix, unless a service that knows its prefix has already put it there. */
function below(path: string, prefix: string): string {
  if (path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`)) return path;
  return prefix + path;
}
