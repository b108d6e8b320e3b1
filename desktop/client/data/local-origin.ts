/** What a service that sees itself at its local address receives as `Origin` and `Referer`. */
import type { Field } from '../../../shared/http1/fields.ts';

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' };

/**
 * Finds the pages of the tunnel in the fields of a request: an `Origin`, or the beginning of a `Referer`, that equals
 * the scheme and host that the visitor used (RFC 6454 section 5). Both keep their meaning when they are replaced
 * together with `Host`: a request that comes from the same origin at the public address still does, and one from
 * another site still does not.
 *
 * The relay sets the forwarded fields, so a visitor cannot choose what counts as the tunnel's address. In the path form,
 * the tunnels of a relay share an origin, which is therefore not the tunnel's. A repeated field is ambiguous.
 *
 * @param local origin of the local service
 * @returns the new values of the fields that change; `undefined` if there are none
 */
export function localPages(fields: readonly Field[], local: string): ReadonlyMap<Field, string> | undefined {
  const origin = onlyField(fields, 'origin');
  const referer = onlyField(fields, 'referer');
  if (origin === undefined && referer === undefined) return undefined;
  const site = publicOrigin(fields);
  if (site === undefined) return undefined;
  const pages = new Map<Field, string>();
  if (origin?.value === site) pages.set(origin, local);
  const page = referer?.value ?? '';
  // Any other character would continue the name or the port, or make a user name of it.
  if (referer !== undefined && page.startsWith(site) && /^(?:[/?#]|$)/.test(page.slice(site.length)))
    pages.set(referer, local + page.slice(site.length));
  return pages.size === 0 ? undefined : pages;
}

/** @returns the origin of the tunnel's pages for this visitor, as browsers write it (RFC 6454 section 6.2) */
function publicOrigin(fields: readonly Field[]): string | undefined {
  const host = onlyField(fields, 'x-forwarded-host')?.value.toLowerCase() ?? '';
  const scheme = onlyField(fields, 'x-forwarded-proto')?.value ?? '';
  const port = DEFAULT_PORTS[scheme];
  const isShared = fields.some((field) => field.is('x-forwarded-prefix'));
  if (host === '' || port === undefined || isShared) return undefined;
  return `${scheme}://${host.endsWith(port) ? host.slice(0, -port.length) : host}`;
}

/** @returns `undefined` if there are several */
function onlyField(fields: readonly Field[], lower: string): Field | undefined {
  let found: Field | undefined;
  for (const field of fields) {
    if (!field.is(lower)) continue;
    if (found !== undefined) return undefined;
    found = field;
  }
  return found;
}
