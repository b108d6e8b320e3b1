/** The request head as the local service receives it (RFC 9110 section 7.6; protocol.md section 4.2). */
import { randomBytes } from 'node:crypto';
import type { BlockList } from 'node:net';
import { cookieName, type Field, fieldValue } from '../../shared/http1/fields.ts';
import { fieldsStart, HeadWriter, type RequestHead } from '../../shared/http1/head.ts';
import { isHopByHop, namedByConnection, provenance, VISITOR_FIELD } from '../../shared/http1/hop-by-hop.ts';
import { ARRIVAL_SECONDS, SIGN_IN_SECONDS } from '../access/sign-in.ts';

/**
 * Maximum size of a request's headers, including the request line (protocol.md section 4.5: 431 above).
 * @limit visitor: Request headers, including the request line | 431 `head-too-large`
 */
export const REQUEST_HEAD_MAX_BYTES = 16 * 1024;
/**
 * Maximum number of header fields in a request (protocol.md section 4.5: 431 above).
 * @limit visitor: Header fields in a request | 431 `head-too-large`
 */
export const REQUEST_FIELDS_MAX = 200;
/**
 * Maximum size of a request's path and query (protocol.md section 4.5: 414 above).
 * @limit visitor: Path and query of a request | 414 `uri-too-long`
 */
export const REQUEST_TARGET_MAX_BYTES = 8 * 1024;

/** The sender of a request. */
export interface Peer {
  /** IP address */
  readonly address: string;
  readonly proto: 'http' | 'https';
  /** Whether it is a proxy whose forwarded fields are trusted. */
  readonly trusted: boolean;
  /**
   * Whether the certificate of its connection is valid for a host, in lower case and without a port; `undefined` where
   * every connection serves one host only, or any.
   */
  readonly covers?: (host: string) => boolean;
  /** of a connection to a TLS or TCP tunnel: its tunnel, and both ends as clients learn them */
  readonly raw?: { readonly tunnelId: string; readonly peers: string };
}

/** An IPv4 address behind an IPv6 socket, as IPv4. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

export function isTrusted(address: string, proxies: BlockList): boolean {
  return proxies.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

interface ForwardedHead {
  /** in origin form, or as sent */
  readonly target: string;
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  /** the new value of a field, in the path form; `undefined` for a field that passes unchanged */
  readonly mapField?: ((field: Field) => string | undefined) | undefined;
  /** Whether an offered WebSocket upgrade is passed on; any other upgrade never is. */
  readonly upgrade: boolean;
  /** Whether `Authorization` was meant for the relay. */
  readonly hidesAuthorization: boolean;
  /** the visitor's identity, if the access check has found one */
  readonly visitor: string | undefined;
}

/** Writes the head for a tunnel's client: case and order of field names and duplicates are kept. */
export function tunnelRequestHead(
  head: RequestHead,
  peer: Peer,
  { target, prefix, mapField, upgrade, hidesAuthorization, visitor }: ForwardedHead,
): Buffer {
  const added =
    (upgrade ? 'Connection: Upgrade\r\n' : '') +
    forwardedFields(head, peer) +
    (visitor === undefined ? '' : `${VISITOR_FIELD}: ${writtenVisitor(visitor)}\r\n`) +
    (prefix === '' ? '\r\n' : `X-Forwarded-Prefix: ${prefix}\r\n\r\n`);
  const named = namedByConnection(head.fields);
  const writer = startRequest(head, target, added.length);
  for (const field of head.fields) {
    const passes = field.is('upgrade')
      ? upgrade
      : !isHopByHop(field, named) && !isRemoved(field, peer.trusted);
    if (!passes || (hidesAuthorization && field.is('authorization'))) continue;
    const mapped = mapField?.(field);
    if (mapped !== undefined) writer.text(`${field.name}: ${mapped}\r\n`);
    else if (field.is('cookie')) writeCookies(writer, field);
    else writer.keepField(field);
  }
  writer.text(added);
  return writer.end();
}

/** Tells the relay's own HTTP server the address of the visitor. */
export const VISITOR_ADDRESS_FIELD = 'Culvert-Address';

/**
 * Writes the head for the relay's own HTTP server.
 *
 * @param visitor address of the sender
 * @param limited the same, if it is limited; the claims of the request itself about both are removed
 */
export function relayRequestHead(
  head: RequestHead,
  target: string,
  visitor: string,
  limited: string | undefined,
): Buffer {
  const added =
    `${VISITOR_ADDRESS_FIELD}: ${visitor}\r\n` +
    (limited === undefined ? '\r\n' : `X-Forwarded-For: ${limited}\r\n\r\n`);
  const named = namedByConnection(head.fields);
  const writer = startRequest(head, target, added.length);
  for (const field of head.fields) {
    const isClaim = field.is('x-forwarded-for') || field.is(VISITOR_ADDRESS_FIELD.toLowerCase());
    if (!isClaim && !isHopByHop(field, named)) writer.keepField(field);
  }
  writer.text(added);
  return writer.end();
}

function startRequest(head: RequestHead, target: string, extra: number): HeadWriter {
  const writer = new HeadWriter(head.bytes, extra);
  if (target === head.target) writer.keep(0, fieldsStart(head));
  else writer.text(`${head.method} ${target} HTTP/1.${head.minor}\r\n`);
  return writer;
}

/**
 * Characters other than visible ASCII are percent-encoded: field values have no agreed encoding (RFC 9110 section
 * 5.5).
 */
function writtenVisitor(visitor: string): string {
  return visitor.replaceAll(/[^\x20-\x24\x26-\x7e]/gu, (character) => encodeURIComponent(character));
}

function writeCookies(writer: HeadWriter, field: Field): void {
  const value = withoutOwnCookies(field.value);
  if (value === field.value) writer.keepField(field);
  else if (value !== '') writer.text(`${field.name}: ${value}\r\n`);
}

/** Whether a field makes a claim about the origin of the request that the peer may not make. */
function isRemoved(field: Field, trusted: boolean): boolean {
  const said = provenance(field);
  return said === 'claim' || (said === 'named' && !trusted);
}

function forwardedFields({ fields }: RequestHead, { address, proto, trusted }: Peer): string {
  let list = address;
  if (trusted) {
    const given = fields.filter((field) => field.is('x-forwarded-for')).map(({ value }) => value);
    list = [...given, address].join(', ');
  }
  const host = (trusted ? fieldValue(fields, 'x-forwarded-host') : undefined) ?? fieldValue(fields, 'host');
  const scheme = (trusted ? fieldValue(fields, 'x-forwarded-proto') : undefined) ?? proto;
  const hostLine = host === undefined ? '' : `X-Forwarded-Host: ${host}\r\n`;
  return `X-Forwarded-For: ${list}\r\n${hostLine}X-Forwarded-Proto: ${scheme}\r\n`;
}

/* Cookies between the relay and a browser: no local service sees or sets one. */

/**
 * In the subdomain form with https: browsers accept it from its own host only, for all of it (RFC 6265bis section 4.1.3).
 */
export const HOST_NOTICE_COOKIE = '__Host-culvert-notice';
export const NOTICE_COOKIE = 'culvert-notice';

/** The access cookie; named like those of the notice. */
const HOST_PASS_COOKIE = '__Host-culvert-pass';
const PASS_COOKIE = 'culvert-pass';
/** The cookie of a browser that signs in, at a tunnel; named like those of the notice. */
const HOST_SIGN_IN_COOKIE = '__Host-culvert-sign-in';
const SIGN_IN_COOKIE = 'culvert-sign-in';
/** The same at the relay's own host. */
const HOST_RELAY_SIGN_IN_COOKIE = '__Host-culvert-relay-sign-in';
const RELAY_SIGN_IN_COOKIE = 'culvert-relay-sign-in';
/** A part of all of their names. */
const MARK = 'culvert-';

const OWN: ReadonlySet<string> = new Set([
  HOST_NOTICE_COOKIE,
  NOTICE_COOKIE,
  HOST_PASS_COOKIE,
  PASS_COOKIE,
  HOST_SIGN_IN_COOKIE,
  SIGN_IN_COOKIE,
  HOST_RELAY_SIGN_IN_COOKIE,
  RELAY_SIGN_IN_COOKIE,
]);

/**
 * The value of a `Cookie` field without the relay's own cookies; all others stay unchanged.
 *
 * @returns `''` if there are no others
 */
function withoutOwnCookies(value: string): string {
  if (!value.includes(MARK)) return value;
  const pairs = value.split(';').filter((pair) => !OWN.has(cookieName(pair)));
  return pairs.join(';').trim();
}

/** @returns name of the access cookie, for the form of the address */
export function passCookieName(form: 'host' | 'path', secure: boolean): string {
  return secure && form === 'host' ? HOST_PASS_COOKIE : PASS_COOKIE;
}

/** @returns value of the `Set-Cookie` field with an access cookie for one tunnel */
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

/** @returns a `Set-Cookie` that ends an access cookie */
export function endedPassCookie(prefix: string, secure: boolean): string {
  return passCookie({ value: '', prefix, secure, seconds: 0 });
}

/** A browser that signs in, as one of its cookies identifies it. */
export interface SigningBrowser {
  /** values that the request has */
  readonly values: readonly string[];
  /** one of them, or a new one */
  readonly value: string;
  /** a `Set-Cookie` that keeps it */
  readonly cookie: string;
}

const BROWSER = /^[\w-]{22}$/;

/**
 * Identifies the browser that a sign-in begins in, or that opens a link for one browser. It keeps its value: several tabs may sign in at the same time.
 *
 * @param cookies of the request, by name
 * @param at a tunnel with its prefix, `/t/{slug}` in the path form, else empty; or the relay's own host
 * @param seconds how long the browser keeps it; by default as long as a sign-in may take
 */
export function signingBrowser(
  cookies: (name: string) => string[],
  at: { readonly prefix: string } | 'relay',
  secure: boolean,
  seconds = SIGN_IN_SECONDS + ARRIVAL_SECONDS,
): SigningBrowser {
  const isRelay = at === 'relay';
  const prefix = isRelay ? '' : at.prefix;
  const [host, plain] = isRelay
    ? [HOST_RELAY_SIGN_IN_COOKIE, RELAY_SIGN_IN_COOKIE]
    : [HOST_SIGN_IN_COOKIE, SIGN_IN_COOKIE];
  const name = secure && prefix === '' ? host : plain;
  const values = cookies(name).filter((value) => BROWSER.test(value));
  const value = values[0] ?? randomBytes(16).toString('base64url');
  const cookie = `${name}=${value}; Path=${prefix || '/'}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  return { values, value, cookie };
}

/**
 * Whether a `Set-Cookie` field sets one of the relay's own cookies. An embedded image could do so before its page was
 * ever visited.
 */
export function setsOwnCookie(field: Field): boolean {
  const [pair = ''] = field.value.split(';', 1);
  // Browsers send a cookie without a name as its value alone, which reads as another cookie's name and value.
  return OWN.has(cookieName(pair.replace(NAMELESS, '')));
}

const NAMELESS = /^[ \t=]+/;
