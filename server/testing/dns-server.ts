/**
 * A DNS server for tests, over UDP and TCP (RFC 1035), with configurable records and failures. It follows aliases like
 * a resolver.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, isIP, type Server, type Socket as TcpSocket } from 'node:net';

const TYPES = { A: 1, NS: 2, CNAME: 5, TXT: 16, AAAA: 28 } as const;
type DnsType = keyof typeof TYPES;

const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;
/** The response instead of records; `silent`: none at all. */
type DnsFault = 'SERVFAIL' | 'REFUSED' | 'silent';

/** The most that fits into one answer over UDP (RFC 1035 section 2.3.4); larger ones use TCP. */
const UDP_MAX_BYTES = 512;
const HEADER_BYTES = 12;
const ALIASES_MAX = 8;
const TRUNCATED = 0x0200;
/** An answer, with recursion. */
const ANSWER_FLAGS = 0x8180;

interface Entry {
  readonly name: string;
  readonly type: DnsType;
  readonly value: string;
}

interface Question {
  readonly id: number;
  readonly name: string;
  readonly type: number;
  /** as sent */
  readonly bytes: Buffer;
}

export class DnsServer {
  /** queried names, with the type */
  readonly asked: string[] = [];
  readonly #udp: Socket = createSocket('udp4');
  readonly #tcp: Server;
  readonly #connections = new Set<TcpSocket>();
  #entries: Entry[] = [];
  readonly #faults = new Map<string, DnsFault>();

  /** On a free port of 127.0.0.1. */
  static async start(): Promise<DnsServer> {
    const server = new DnsServer();
    server.#tcp.listen(0, '127.0.0.1');
    await once(server.#tcp, 'listening');
    server.#udp.bind((server.#tcp.address() as AddressInfo).port, '127.0.0.1');
    await once(server.#udp, 'listening');
    return server;
  }

  private constructor() {
    this.#udp.on('message', (bytes, { port, address }) => {
      const answer = this.#answer(bytes, UDP_MAX_BYTES);
      if (answer !== undefined) this.#udp.send(answer, port, address);
    });
    this.#udp.on('error', () => {});
    this.#tcp = createServer((socket) => this.#serve(socket));
    this.#tcp.on('error', () => {});
  }

  /** In the form of `CULVERT_RESOLVER`. */
  get address(): string {
    return `127.0.0.1:${(this.#tcp.address() as AddressInfo).port}`;
  }

  /**
   * Sets the records of a name and type.
   *
   * @param name in lower case; `*.` before a domain is for all names below it that have no records at all
   */
  set(name: string, type: DnsType, ...values: readonly string[]): void {
    const others = this.#entries.filter((entry) => entry.name !== name || entry.type !== type);
    this.#entries = [...others, ...values.map((value) => ({ name, type, value }))];
  }

  /** Sets records as the REST interface lists them. */
  enter(records: readonly { readonly type: DnsType; readonly name: string; readonly value: string }[]): void {
    for (const { type, name, value } of records) this.set(name, type, value);
  }

  /** Removes all records of a name and below it. */
  clear(name: string): void {
    this.#entries = this.#entries.filter((entry) => entry.name !== name && !entry.name.endsWith(`.${name}`));
    this.#faults.delete(name);
  }

  /** Makes lookups of a name fail, or succeed again. */
  fail(name: string, fault: DnsFault | undefined): void {
    if (fault === undefined) this.#faults.delete(name);
    else this.#faults.set(name, fault);
  }

  async stop(): Promise<void> {
    for (const socket of this.#connections) socket.destroy();
    this.#udp.close();
    this.#tcp.close();
    await once(this.#tcp, 'close');
  }

  /** Each message has its length before it (RFC 1035 section 4.2.2). */
  #serve(socket: TcpSocket): void {
    this.#connections.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => {});
    socket.on('close', () => this.#connections.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const length = received.readUInt16BE(0);
        const answer = this.#answer(received.subarray(2, 2 + length), Infinity);
        received = received.subarray(2 + length);
        if (answer !== undefined) socket.write(Buffer.concat([words(answer.length), answer]));
      }
    });
  }

  #answer(bytes: Buffer, maxBytes: number): Buffer | undefined {
    const question = readQuestion(bytes);
    const type = typeOf(question.type);
    this.asked.push(`${question.name} ${type ?? question.type}`);
    const fault = this.#faults.get(question.name);
    if (fault === 'silent') return undefined;
    if (fault !== undefined) return write(question, RCODES[fault], []);
    const found = this.#follow(question.name, type);
    if (found === undefined) return write(question, RCODES.SERVFAIL, []);
    const code = found.length > 0 || this.#exists(question.name) ? RCODES.NOERROR : RCODES.NXDOMAIN;
    const answer = write(question, code, found);
    return answer.length <= maxBytes ? answer : write(question, code, [], TRUNCATED);
  }

  /** The records of a name and of its aliases; `undefined` for aliases in a circle. */
  #follow(name: string, type: DnsType | undefined): Entry[] | undefined {
    const chain: Entry[] = [];
    for (let current = name; chain.length < ALIASES_MAX;) {
      const here = this.#recordsOf(current);
      const alias = here.find((entry) => entry.type === 'CNAME');
      if (alias === undefined || type === 'CNAME')
        return [...chain, ...here.filter((entry) => entry.type === type)];
      chain.push(alias);
      current = alias.value;
    }
    return undefined;
  }

  #recordsOf(name: string): Entry[] {
    const own = this.#entries.filter((entry) => entry.name === name);
    if (own.length > 0) return own;
    const wildcard = this.#entries.filter(
      (entry) => entry.name.startsWith('*.') && name.endsWith(entry.name.slice(1)),
    );
    return wildcard.map((entry) => ({ ...entry, name }));
  }

  #exists(name: string): boolean {
    return this.#recordsOf(name).length > 0 || this.#entries.some((entry) => entry.name.endsWith(`.${name}`));
  }
}

function typeOf(code: number): DnsType | undefined {
  return (Object.keys(TYPES) as DnsType[]).find((type) => TYPES[type] === code);
}

function readQuestion(bytes: Buffer): Question {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = bytes.readUInt8(at); length > 0; length = bytes.readUInt8(at)) {
    labels.push(bytes.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  const end = at + 1 + 4;
  return {
    id: bytes.readUInt16BE(0),
    name: labels.join('.').toLowerCase(),
    type: bytes.readUInt16BE(at + 1),
    bytes: bytes.subarray(HEADER_BYTES, end),
  };
}

function write({ id, bytes }: Question, code: number, entries: readonly Entry[], flags = 0): Buffer {
  const head = words(id, ANSWER_FLAGS | flags | code, 1, entries.length, 0, 0);
  return Buffer.concat([head, bytes, ...entries.map(writeRecord)]);
}

function writeRecord({ name, type, value }: Entry): Buffer {
  const data = dataOf(type, value);
  const fixed = words(TYPES[type], 1, 0, 0, data.length);
  return Buffer.concat([wireBytes(name), fixed, data]);
}

function dataOf(type: DnsType, value: string): Buffer {
  if (type === 'CNAME' || type === 'NS') return wireBytes(value);
  if (type === 'TXT') return writeText(value);
  return isIP(value) === 4 ? Buffer.from(value.split('.').map(Number)) : writeIPv6(value);
}

/** In pieces of at most 255 bytes. */
function writeText(value: string): Buffer {
  const bytes = Buffer.from(value);
  const pieces: Buffer[] = [];
  for (let start = 0; start === 0 || start < bytes.length; start += 255) {
    const piece = bytes.subarray(start, start + 255);
    pieces.push(Buffer.from([piece.length]), piece);
  }
  return Buffer.concat(pieces);
}

function writeIPv6(value: string): Buffer {
  const [front = '', back] = value.split('::');
  const [before, after] = [groupsOf(front), groupsOf(back ?? '')];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return words(...before, ...zeros, ...after);
}

function groupsOf(part: string): number[] {
  return part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
}

/** DNS messages as a resolver writes and reads them. */

export interface QueryOptions {
  readonly id?: number;
  readonly flags?: number;
  readonly type?: number;
  readonly class?: number;
  /** of the four sections */
  readonly counts?: readonly number[];
  /** the bytes after the question */
  readonly rest?: Buffer;
}

/** A query with the name as bytes on the wire. */
export function dnsQuery(name: Buffer | string, options: QueryOptions = {}): Buffer {
  const { id = 0x1234, flags = 0x0100, type = 16, class: of = 1, rest = Buffer.alloc(0) } = options;
  const counts = options.counts ?? [1, 0, 0, rest.length > 0 ? 1 : 0];
  const wire = typeof name === 'string' ? wireBytes(name) : name;
  return Buffer.concat([words(id, flags, ...counts), wire, words(type, of), rest]);
}

/** An OPT record (RFC 6891). */
export function optRecord({ size = 1232, version = 0, flags = 0, data = Buffer.alloc(0) } = {}): Buffer {
  return Buffer.concat([
    Buffer.from([0]),
    words(41, size),
    Buffer.from([0, version]),
    words(flags, data.length),
    data,
  ]);
}

export function wireBytes(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

export interface DnsResponse {
  readonly id: number;
  readonly code: number;
  readonly authoritative: boolean;
  readonly truncated: boolean;
  readonly recursionDesired: boolean;
  readonly recursionAvailable: boolean;
  /** the name of the question, letters as they are */
  readonly name: string | undefined;
  readonly answers: readonly ReadRecord[];
  readonly authority: readonly ReadRecord[];
  readonly additional: readonly ReadRecord[];
}

interface ReadRecord {
  readonly name: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: Buffer;
}

/** @throws Error when it is not exactly one message */
export function readDnsResponse(packet: Buffer): DnsResponse {
  const flags = packet.readUInt16BE(2);
  if ((flags & 0x8000) === 0) throw new Error('no response');
  let at = 12;
  const name = (): string => {
    const [labels, next] = readName(packet, at);
    at = next;
    return labels.join('.');
  };
  const record = (): ReadRecord => {
    const owner = name();
    const end = at + 10 + packet.readUInt16BE(at + 8);
    const read = {
      name: owner,
      type: packet.readUInt16BE(at),
      class: packet.readUInt16BE(at + 2),
      ttl: packet.readUInt32BE(at + 4),
      data: packet.subarray(at + 10, end),
    };
    at = end;
    return read;
  };
  const records = (section: number): ReadRecord[] =>
    Array.from({ length: packet.readUInt16BE(section) }, () => record());
  const question = packet.readUInt16BE(4) === 0 ? undefined : name();
  if (question !== undefined) at += 4;
  const [answers, authority, additional] = [records(6), records(8), records(10)];
  if (at !== packet.length) throw new Error(`${packet.length - at} bytes too many`);
  return {
    id: packet.readUInt16BE(0),
    code: (flags & 0xf) | (((additional.find(({ type }) => type === 41)?.ttl ?? 0) >>> 24) << 4),
    authoritative: (flags & 0x0400) !== 0,
    truncated: (flags & 0x0200) !== 0,
    recursionDesired: (flags & 0x0100) !== 0,
    recursionAvailable: (flags & 0x0080) !== 0,
    name: question,
    answers: answers ?? [],
    authority: authority ?? [],
    additional: additional ?? [],
  };
}

/** Pointers must lead back. */
function readName(packet: Buffer, start: number): [string[], number] {
  const length = packet.readUInt8(start);
  if (length === 0) return [[], start + 1];
  if (length >= 0xc0) {
    const target = packet.readUInt16BE(start) & 0x3fff;
    if (target >= start) throw new Error('a pointer ahead');
    return [readName(packet, target)[0], start + 2];
  }
  const [labels, next] = readName(packet, start + 1 + length);
  return [[packet.toString('latin1', start + 1, start + 1 + length), ...labels], next];
}

function words(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(2 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, 2 * index);
  return bytes;
}
