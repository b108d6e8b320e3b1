/**
 * The PROXY protocol, versions 1 and 2 (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt): the header with
 * which a TCP load balancer reports the visitor's address at the beginning of each connection.
 */
import { isIPv4, type Socket, SocketAddress } from 'node:net';
import { joined } from '../../shared/http1/fields.ts';
import { isIPv6, uriHost } from '../../shared/networks.ts';
import type { Clock } from '../clock.ts';
import { plainAddress } from './request-head.ts';

/** How long a connection from a load balancer may take to send its PROXY protocol header. */
export const PROXY_HEADER_TIMEOUT_MS = 5000;
/**
 * Maximum size of a PROXY protocol header (version 2). The addresses need at most 232 bytes; the rest is for
 * extensions such as the certificate that a client has presented to the load balancer.
 */
export const PROXY_HEADER_MAX_BYTES = 4096;

interface ProxyHeader {
  /** IP address of the visitor; `undefined` if the balancer opened the connection itself, or does not know the address */
  readonly source: string | undefined;
  /** bytes of the header, after which the visitor's own bytes begin */
  readonly length: number;
}

const V1_START = Buffer.from('PROXY ');
/** Longest header of version 1, with its CRLF (section 2.1). */
const V1_MAX_BYTES = 107;
const V2_START = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Bytes of a header of version 2 before its addresses. */
const V2_FIXED_BYTES = 16;

/**
 * Reads a header from the beginning of a connection.
 *
 * @param bytes all that have arrived so far
 * @returns `incomplete` if more bytes are needed; `malformed` if no further bytes could make it a header
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'incomplete' | 'malformed' {
  if (startsLike(bytes, V1_START)) return readV1(bytes);
  return startsLike(bytes, V2_START) ? readV2(bytes) : 'malformed';
}

/** Whether bytes begin with a text, or with a part of it if there are fewer. */
function startsLike(bytes: Buffer, start: Buffer): boolean {
  const length = Math.min(bytes.length, start.length);
  return bytes.compare(start, 0, length, 0, length) === 0;
}

const V1_UNKNOWN = /^PROXY UNKNOWN(?: [\x20-\x7e]*)?$/;
const V1_KNOWN = /^PROXY (TCP4|TCP6) ([\da-fA-F.:]+) ([\da-fA-F.:]+) (\d{1,5}) (\d{1,5})$/;

function readV1(bytes: Buffer): ReturnType<typeof readProxyHeader> {
  const end = bytes.subarray(0, V1_MAX_BYTES).indexOf('\r\n');
  if (end === -1) return bytes.length < V1_MAX_BYTES ? 'incomplete' : 'malformed';
  const line = bytes.toString('latin1', 0, end);
  const length = end + 2;
  if (V1_UNKNOWN.test(line)) return { source: undefined, length };
  const [, family, source = '', target = '', ...ports] = V1_KNOWN.exec(line) ?? [];
  if (family === undefined || !ports.every(isPort)) return 'malformed';
  const isAddress = family === 'TCP4' ? isIPv4 : isIPv6;
  return isAddress(source) && isAddress(target) ? { source: written(source), length } : 'malformed';
}

function isPort(text: string): boolean {
  return String(Number(text)) === text && Number(text) <= 0xff_ff;
}

const LOCAL = 0;
const PROXY = 1;
/** Bytes of both addresses, with their ports, by address family: unspecified, IPv4, IPv6, Unix (section 2.2). */
const ADDRESS_BYTES = [0, 12, 36, 216] as const;
/** Unspecified, stream, datagram. */
const TRANSPORTS = 3;

function readV2(bytes: Buffer): ReturnType<typeof readProxyHeader> {
  if (bytes.length < V2_FIXED_BYTES) return 'incomplete';
  const [version, command] = nibbles(bytes, 12);
  const length = V2_FIXED_BYTES + bytes.readUInt16BE(14);
  if (version !== 2 || command > PROXY || length > PROXY_HEADER_MAX_BYTES) return 'malformed';
  if (bytes.length < length) return 'incomplete';
  // Everything after the fixed part of such a header is to be ignored.
  if (command === LOCAL) return { source: undefined, length };
  const [family, transport] = nibbles(bytes, 13);
  const end = V2_FIXED_BYTES + (ADDRESS_BYTES[family] ?? Infinity);
  const header = bytes.subarray(0, length);
  if (end > length || transport >= TRANSPORTS || !hasValidExtensions(header, end)) return 'malformed';
  const isKnown = family === 1 || family === 2;
  return { source: isKnown ? addressAt(header, V2_FIXED_BYTES, family) : undefined, length };
}

/**
 * The visitor's address and the one it has connected to, each with its port and divided by a space.
 *
 * @param bytes of a header that {@link readProxyHeader} has accepted
 * @returns `undefined` if the header has none
 */
export function peersIn(bytes: Buffer): string | undefined {
  if (startsLike(bytes, V1_START)) {
    const [, , source = '', target = '', from = '', to = ''] =
      V1_KNOWN.exec(bytes.toString('latin1').trimEnd()) ?? [];
    return source === '' ? undefined : writePeers([written(source), from], [written(target), to]);
  }
  const [[, command], [family]] = [nibbles(bytes, 12), nibbles(bytes, 13)];
  const size = family === 1 ? 4 : 16;
  if (command === LOCAL || (family !== 1 && family !== 2)) return undefined;
  const [from, to] = [0, 1].map((which) => {
    const port = bytes.readUInt16BE(V2_FIXED_BYTES + 2 * size + 2 * which);
    return [addressAt(bytes, V2_FIXED_BYTES + which * size, family), port] as const;
  });
  return from && to && writePeers(from, to);
}

/** An address and a port. */
type End = readonly [address: string, port: string | number | undefined];

/** Both ends of a connection as {@link peersIn} returns them. */
export function writePeers(...ends: readonly [from: End, to: End]): string {
  return ends.map(([address, port]) => `${uriHost(address)}:${port}`).join(' ');
}

function nibbles(bytes: Buffer, at: number): [number, number] {
  const byte = bytes.readUInt8(at);
  return [byte >> 4, byte & 0xf];
}

/** @param family 1 for IPv4, 2 for IPv6 */
function addressAt(header: Buffer, at: number, family: 1 | 2): string {
  if (family === 1) return header.subarray(at, at + 4).join('.');
  const digits = header.toString('hex', at, at + 16);
  return written(digits.replaceAll(/.{4}(?=.)/g, '$&:'));
}

/** An address in its usual spelling: addresses are compared as text. */
function written(address: string): string {
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  return plainAddress(new SocketAddress({ address, family }).address);
}

/* Type-length-value extensions after the addresses (section 2.2). */

const CRC32C = 3;
const EXTENSION_HEAD_BYTES = 3;

/** @param from offset of the first extension; they fill the rest of the header */
function hasValidExtensions(header: Buffer, from: number): boolean {
  for (let at = from; at < header.length;) {
    if (at + EXTENSION_HEAD_BYTES > header.length) return false;
    const value = at + EXTENSION_HEAD_BYTES;
    const end = value + header.readUInt16BE(at + 1);
    if (end > header.length) return false;
    if (header[at] === CRC32C && !isChecksum(header, value, end)) return false;
    at = end;
  }
  return true;
}

/** Whether the bytes of an extension are the checksum of the header, computed with zeros in their place. */
function isChecksum(header: Buffer, from: number, end: number): boolean {
  if (end - from !== 4) return false;
  const zeroed = Buffer.from(header).fill(0, from, end);
  return header.readUInt32BE(from) === crc32c(zeroed);
}

/** CRC-32C (RFC 3309 appendix B), which differs from the checksum of `node:zlib`. */
export function crc32c(bytes: Buffer): number {
  let crc = 0xff_ff_ff_ff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82_f6_3b_78 : 0);
  }
  return (crc ^ 0xff_ff_ff_ff) >>> 0;
}

interface TakenHeader extends ProxyHeader {
  /** for {@link peersIn} */
  readonly bytes: Buffer;
}

/**
 * Reads the header of a connection, before anything else is read from it.
 *
 * @param socket with a listener for errors
 * @returns `undefined` if it has ended; it is cut if it begins otherwise, or takes too long
 */
export function takeProxyHeader(
  socket: Socket,
  clock: Pick<Clock, 'setTimeout'>,
): Promise<TakenHeader | undefined> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(() => socket.destroy(), PROXY_HEADER_TIMEOUT_MS);
    let arrived: Buffer = Buffer.alloc(0);
    const look = (): void => {
      for (let part: Buffer | null; (part = socket.read() as Buffer | null) !== null;)
        arrived = joined(arrived, part);
      const header = readProxyHeader(arrived);
      if (header === 'malformed') return void socket.destroy();
      if (header === 'incomplete') return;
      const rest = arrived.subarray(header.length);
      if (rest.length > 0) socket.unshift(rest);
      done({ ...header, bytes: arrived.subarray(0, header.length) });
    };
    const end = (): void => void socket.destroy();
    const close = (): void => done(undefined);
    const done = (header: TakenHeader | undefined): void => {
      timer.cancel();
      socket.off('readable', look).off('close', close).off('end', end);
      resolve(header);
    };
    socket.on('readable', look).once('close', close).once('end', end);
  });
}
