/**
 * Keeps the answers of a path-form tunnel below its prefix (contract.md, Inbound requests): it shares an origin with
 * the API and with every other path tunnel.
 */
import type { Field } from '../../shared/http1/fields.ts';
import { hostname } from './authority.ts';

/** Fields by which a page would reach beyond its prefix. */
const DROPPED = ['service-worker-allowed', 'clear-site-data', 'strict-transport-security'];
const COOKIE_ATTRIBUTE = /^[ \t]*([^= \t]*)[ \t]*=?[ \t]*([^ \t]*)/;
const ABSOLUTE = /^(https?:)?\/\/([^/?#]*)(.*)$/i;

/**
 * Makes the map for the fields of one response.
 *
 * @param prefix `/t/{slug}`
 * @param atPrefix whether the request was for the bare prefix, without a path behind it
 * @param ownHosts names by which the relay is known to this visitor, in lower case, without port
 * @returns the value to pass on, or `undefined` to drop the field
 */
export function belowPrefix(
  prefix: string,
  atPrefix: boolean,
  ownHosts: readonly string[],
): (field: Field) => string | undefined {
  return (field) => {
    if (DROPPED.some((name) => field.is(name))) return undefined;
    const { value } = field;
    if (field.is('location')) return location(value, prefix, ownHosts);
    return field.is('set-cookie') ? cookie(value, prefix, atPrefix) : value;
  };
}

function location(value: string, prefix: string, ownHosts: readonly string[]): string {
  const [, scheme, host, rest = ''] = ABSOLUTE.exec(value) ?? [];
  if (host === undefined) return value.startsWith('/') ? below(value, prefix) : value;
  if (!ownHosts.includes(hostname(host))) return value;
  return `${scheme ?? ''}//${host}${below(rest, prefix)}`;
}

/** A path moved below the prefix, unless a service that knows its prefix has put it there. */
function below(path: string, prefix: string): string {
  if (path === prefix || path.startsWith(`${prefix}/`) || path.startsWith(`${prefix}?`)) return path;
  return prefix + path;
}

function cookie(value: string, prefix: string, atPrefix: boolean): string {
  const [pair = '', ...attributes] = value.split(';');
  let hasPath = false;
  const scoped = attributes.flatMap((attribute) => {
    const [, name = '', given = ''] = COOKIE_ATTRIBUTE.exec(attribute) ?? [];
    if (name.toLowerCase() === 'domain') return [];
    if (name.toLowerCase() !== 'path' || !given.startsWith('/')) return [attribute];
    hasPath = true;
    return [` Path=${below(given === '/' ? '' : given, prefix)}`];
  });
  // Without a path the browser takes the folder of the request, which for the bare prefix is everybody's `/t`.
  if (!hasPath && atPrefix) scoped.push(` Path=${prefix}`);
  return [pair, ...scoped].join(';');
}
