/**
 * What the gate learns from a request apart from its cookies: credentials of the Basic scheme (RFC 7617), whether it is a CORS
 * preflight, and which page sends it.
 */
import { hostname } from '../../shared/host.ts';
import { type Field, fieldValue } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import type { HeldAccess } from './held-access.ts';

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

const BASIC = /^basic +([\w+/=-]+) *$/i;

/** @returns those that a request carries, where the gate asks for any; `undefined` for none, or for another scheme's */
export function gateCredentials(fields: readonly Field[], access: HeldAccess): Credentials | undefined {
  if (!access.hasUsers) return undefined;
  const [, encoded] = BASIC.exec(fieldValue(fields, 'authorization') ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  return colon === -1 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Fields that make frameworks treat a request as one of another method, also in the spellings that they fold. */
const METHOD_OVERRIDE = /^x[^a-z\d](?:http[^a-z\d])?method(?:[^a-z\d]override)?$/;

/**
 * Whether a request is what browsers send ahead of another one (Fetch Standard section 4.8), without credentials. It has no
 * body, and no field that would make a framework take it for a request of another method.
 */
export function isPreflight({ method, fields }: RequestHead, hasBody: boolean): boolean {
  return (
    method === 'OPTIONS' &&
    !hasBody &&
    fieldValue(fields, 'origin') !== undefined &&
    fieldValue(fields, 'access-control-request-method') !== undefined &&
    !fields.some(({ lower }) => METHOD_OVERRIDE.test(lower))
  );
}

/** How a visitor's request reaches the relay. */
export interface Way {
  /** Whether it comes through a proxy whose `X-Forwarded-Host` is believed. */
  readonly trusted: boolean;
  /** Whether tunnels are visited with https. */
  readonly secure: boolean;
}

/**
 * Whether a page of another origin than the one that was asked for sends a request (RFC 6454 section 7). A browser adds
 * cookies and passwords of the host to the WebSockets of any page of the same site, and lets that page read them. Other
 * programs send no `Origin`. Ports are compared only if `Host` has one, because some proxies leave it out.
 *
 * @returns false without `Origin`
 */
export function isFromElsewhere({ fields }: RequestHead, { trusted, secure }: Way): boolean {
  const origins = fields.filter((field) => field.is('origin'));
  if (origins.length === 0) return false;
  const names = fields.filter((field) => field.is('host') || (trusted && field.is('x-forwarded-host')));
  const hosts = names.flatMap(({ value }) => value.split(',')).map((host) => host.trim().toLowerCase());
  return !origins.every(({ value }) => {
    const [, scheme, authority] = ORIGIN.exec(value.toLowerCase()) ?? [];
    if (scheme === undefined || authority === undefined || (secure && scheme !== 'https')) return false;
    return hosts.some((host) => isSameHost(authority, host, scheme === 'https' ? '443' : '80'));
  });
}

/**
 * Whether a form of the relay was sent from a page of the same host. A page of another host must not act in the name of its
 * visitor.
 */
export function isSentFromHere({ fields }: RequestHead): boolean {
  const site = fieldValue(fields, 'sec-fetch-site');
  if (site !== undefined) return site === 'same-origin';
  // Browsers that say nothing of the site name the page, unless it says nothing of itself, as the door's does not.
  const origin = fieldValue(fields, 'origin');
  const host = fieldValue(fields, 'host')?.toLowerCase();
  return (
    origin === undefined || origin === 'null' || origin.replace(/^https?:\/\//i, '').toLowerCase() === host
  );
}

const ORIGIN = /^(https?):\/\/([^/?#@\s]+)$/;

/** @param port of the origin where it names none */
function isSameHost(origin: string, host: string, port: string): boolean {
  if (hostname(origin) !== hostname(host)) return false;
  const asked = portOf(host);
  return asked === '' || asked === (portOf(origin) || port);
}

/** @returns an empty string without a port */
function portOf(host: string): string {
  return /:(\d+)$/.exec(host)?.[1] ?? '';
}
