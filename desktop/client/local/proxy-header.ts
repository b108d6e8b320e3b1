/**
 * Where a raw connection comes from, and the header of the PROXY protocol, version 2, that tells a local service
 * (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt).
 */
import { isIPv4, isIPv6 } from 'node:net';
import { uriHost } from '../../../shared/networks.ts';

interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** Both ends of a visitor's connection to the relay. */
export interface Peers {
  readonly visitor: Endpoint;
  /** where the visitor has connected to */
  readonly target: Endpoint;
}

/** @param text two addresses with ports, divided by a space @returns `undefined` for any other text */
export function parsePeers(text: string | undefined): Peers | undefined {
  const [visitor, target, ...more] = (text ?? '').split(' ').map(parseEndpoint);
  return visitor !== undefined && target !== undefined && more.length === 0 ? { visitor, target } : undefined;
}

function parseEndpoint(text: string): Endpoint | undefined {
  const [, v6, v4 = '', digits] = /^(?:\[([\da-f:.]+)\]|([\d.]+)):(\d{1,5})$/i.exec(text) ?? [];
  const port = Number(digits);
  const isAddress = v6 === undefined ? isIPv4(v4) : isIPv6(v6);
  return isAddress && port <= 0xff_ff ? { address: v6 ?? v4, port } : undefined;
}

/** As in the address of a URL. */
export function describeEndpoint({ address, port }: Endpoint): string {
  return `${uriHost(address)}:${port}`;
}

const START = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Version 2, with the command LOCAL or PROXY. */
const LOCAL = 0x20;
const PROXY = 0x21;
/** TCP over IPv4 or IPv6. */
const TCP4 = 0x11;
const TCP6 = 0x21;

/** @param peers if they are unknown, the header says that the connection is the client's own */
export function proxyHeader(peers: Peers | undefined): Buffer {
  if (peers === undefined) return Buffer.concat([START, Buffer.of(LOCAL, 0, 0, 0)]);
  const { visitor, target } = peers;
  const isV4 = isIPv4(visitor.address) && isIPv4(target.address);
  const bytesOf = isV4 ? bytesOfV4 : bytesOfV6;
  const addresses = [...bytesOf(visitor.address), ...bytesOf(target.address)];
  const rest = Buffer.alloc(8);
  rest.writeUInt16BE(addresses.length + 4, 2);
  rest.writeUInt16BE(visitor.port, 4);
  rest.writeUInt16BE(target.port, 6);
  rest[0] = PROXY;
  rest[1] = isV4 ? TCP4 : TCP6;
  return Buffer.concat([START, rest.subarray(0, 4), Buffer.from(addresses), rest.subarray(4)]);
}

function bytesOfV4(address: string): number[] {
  return address.split('.').map(Number);
}

/** An IPv4 address beside an IPv6 one is mapped (RFC 4291 section 2.5.5.2). */
function bytesOfV6(address: string): number[] {
  const text = isIPv4(address) ? `::ffff:${address}` : address;
  // The form of a URL has neither leading zeros nor an IPv4 part.
  const [start = '', end] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const [before, after] = [groupsOf(start), groupsOf(end ?? '')];
  const groups = [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
  return groups.flatMap((group) => [group >> 8, group & 0xff]);
}

function groupsOf(part: string): number[] {
  const groups = part.split(':').filter(Boolean);
  return groups.map((group) => Number.parseInt(group, 16));
}
