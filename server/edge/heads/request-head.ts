/** The request head as the local service receives it (RFC 9110 section 7.6; docs/protocol.md section 4.2). */
import type { BlockList } from 'node:net';
import { type Field, fieldValue } from '../../../shared/http1/fields.ts';
import { HeadWriter } from '../../../shared/http1/head-writer.ts';
import { fieldsStart, type RequestHead } from '../../../shared/http1/head.ts';
import { isHopByHop, namedByConnection } from '../../../shared/http1/hop-by-hop.ts';
import { provenance, VISITOR_FIELD } from '../../../shared/http1/proxy-fields.ts';
import { withoutOwnCookies } from './own-cookies.ts';

/** Where a request came from. */
export interface Peer {
  /** IP address */
  readonly address: string;
  readonly proto: 'http' | 'https';
  /** Whether it is a proxy whose forwarding fields are believed. */
  readonly trusted: boolean;
}

/** An IPv4 address behind an IPv6 socket, as IPv4. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

export function isTrusted(address: string, proxies: BlockList): boolean {
  return proxies.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

export interface ForwardedHead {
  /** in origin form, or as sent */
  readonly target: string;
  /** `/t/{slug}` in the path form, else empty */
  readonly prefix: string;
  /** Whether an offered WebSocket upgrade is passed on; any other upgrade never is. */
  readonly upgrade: boolean;
  /** Whether `Authorization` was meant for the relay. */
  readonly hidesAuthorization: boolean;
  /** who the visitor is, where the tunnel's gate has found out */
  readonly visitor: string | undefined;
}

/** Writes the head for a tunnel's client: case and order of field names and duplicates are kept. */
export function tunnelRequestHead(
  head: RequestHead,
  peer: Peer,
  { target, prefix, upgrade, hidesAuthorization, visitor }: ForwardedHead,
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
    if (field.is('cookie')) writeCookies(writer, field);
    else writer.keepField(field);
  }
  writer.text(added);
  return writer.end();
}

/**
 * Writes the head for the relay's own HTTP server.
 *
 * @param address where it comes from, if that has limits; what the request itself says about that is removed
 */
export function relayRequestHead(head: RequestHead, target: string, address: string | undefined): Buffer {
  const added = address === undefined ? '\r\n' : `X-Forwarded-For: ${address}\r\n\r\n`;
  const named = namedByConnection(head.fields);
  const writer = startRequest(head, target, added.length);
  for (const field of head.fields) {
    if (!isHopByHop(field, named) && !field.is('x-forwarded-for')) writer.keepField(field);
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

/** What is not visible ASCII is written as in a URL: field values have no agreed encoding (RFC 9110 section 5.5). */
function writtenVisitor(visitor: string): string {
  return visitor.replaceAll(/[^\x20-\x24\x26-\x7e]/gu, (character) => encodeURIComponent(character));
}

function writeCookies(writer: HeadWriter, field: Field): void {
  const value = withoutOwnCookies(field.value);
  if (value === field.value) writer.keepField(field);
  else if (value !== '') writer.text(`${field.name}: ${value}\r\n`);
}

/** Whether a field makes a claim about the origin of the request, which the peer may not make. */
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
