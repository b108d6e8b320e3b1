/** The request head as the local service gets it (RFC 9110 section 7.6; contract.md, Inbound requests). */
import type { BlockList } from 'node:net';
import { type RequestHead, fieldValue } from '../../shared/http1/head.ts';
import { hopByHop } from '../../shared/http1/hop-by-hop.ts';

/** Where a request came from. */
export interface Peer {
  /** IP address */
  readonly address: string;
  readonly proto: 'http' | 'https';
  /** Whether it is a proxy whose forwarded fields are believed. */
  readonly trusted: boolean;
}

const FORWARDED = new Set(['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-prefix']);

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
  /** Whether an offered WebSocket goes along; any other upgrade never does. */
  readonly upgrade: boolean;
}

/** Writes the head for a tunnel's client: field names in their case and order, duplicates kept. */
export function tunnelRequestHead(
  head: RequestHead,
  peer: Peer,
  { target, prefix, upgrade }: ForwardedHead,
): string {
  const dropped = hopByHop(head.fields);
  let text = `${head.method} ${target} HTTP/1.${head.minor}\r\n`;
  for (const { name, lower, value } of head.fields) {
    if (lower === 'upgrade' ? upgrade : !dropped(lower) && !FORWARDED.has(lower))
      text += `${name}: ${value}\r\n`;
  }
  if (upgrade) text += 'Connection: Upgrade\r\n';
  text += forwardedFields(head, peer);
  if (prefix !== '') text += `X-Forwarded-Prefix: ${prefix}\r\n`;
  return `${text}\r\n`;
}

/** Writes the head for the relay's own HTTP server. */
export function relayRequestHead(head: RequestHead, target: string): string {
  const dropped = hopByHop(head.fields);
  let text = `${head.method} ${target} HTTP/1.${head.minor}\r\n`;
  for (const { name, lower, value } of head.fields) {
    if (!dropped(lower)) text += `${name}: ${value}\r\n`;
  }
  return `${text}\r\n`;
}

function forwardedFields(head: RequestHead, peer: Peer): string {
  const sent = (lower: string): string | undefined =>
    peer.trusted ? fieldValue(head.fields, lower) : undefined;
  const list = peer.trusted
    ? head.fields.filter(({ lower }) => lower === 'x-forwarded-for').map(({ value }) => `${value}, `)
    : [];
  const host = sent('x-forwarded-host') ?? fieldValue(head.fields, 'host');
  return (
    `X-Forwarded-For: ${list.join('')}${peer.address}\r\n` +
    (host === undefined ? '' : `X-Forwarded-Host: ${host}\r\n`) +
    `X-Forwarded-Proto: ${sent('x-forwarded-proto') ?? peer.proto}\r\n`
  );
}
