/**
 * Reads DNS queries: a header, one question, and perhaps an OPT record, the only one that is read (RFC 1035 section
 * 4.1, RFC 6891). Every byte is read once, and nothing in a packet can redirect the reader.
 */

/**
 * Maximum size of a DNS response over UDP: larger ones are lost on networks that fragment them (the advice of
 * dnsflagday.net, 2020).
 */
export const DNS_UDP_MAX_BYTES = 1232;
/**
 * Maximum size of a DNS response over UDP relative to the size of its query, so that the relay cannot be used to
 * flood others.
 */
export const DNS_UDP_FACTOR = 4;

/** Numbers of the DNS protocol that this server knows (RFC 1035, RFC 6891). */

export const RecordType = { NS: 2, SOA: 6, HINFO: 13, TXT: 16, OPT: 41, IXFR: 251, ANY: 255 } as const;

/** Types from here on are questions about a zone or several types, not records: AXFR among them. */
export const FIRST_META_TYPE = 128;

export const CLASS_IN = 1;

/** The low four bits are in the header, the others in the OPT record. */
export const ResponseCode = {
  ok: 0,
  formatError: 1,
  serverFailure: 2,
  noSuchName: 3,
  notImplemented: 4,
  refused: 5,
  badVersion: 16,
} as const;
export type ResponseCode = (typeof ResponseCode)[keyof typeof ResponseCode];

export const HEADER_BYTES = 12;
/** Length of an OPT record without options. */
const OPT_BYTES = 11;

/** Bits of the header's second 16-bit word. */
const Flag = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
} as const;
const OPCODE_MASK = 0x7800;

export interface Query {
  readonly id: number;
  /** opcode and RD, which the response repeats */
  readonly flags: number;
  /** the question as sent, byte for byte: resolvers vary upper and lower case and check it in the response */
  readonly question: Buffer;
  /** as {@link readWireName} returns it */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** `undefined` without an OPT record */
  readonly edns: Edns | undefined;
  /** length of the packet in bytes */
  readonly length: number;
}

interface Edns {
  /** bytes of a UDP response that the peer accepts */
  readonly payloadSize: number;
  readonly version: number;
  /** the DO bit, which the response repeats (RFC 3225 section 3) */
  readonly dnssecOk: boolean;
}

/** A query that cannot be served, and the response code for it. */
export interface BadQuery {
  readonly id: number;
  readonly flags: number;
  readonly code: ResponseCode;
}

const DNSSEC_OK = 0x8000;
const REPEATED_FLAGS = OPCODE_MASK | Flag.recursionDesired;

/** @returns `undefined` for packets without a response: not a query, or one with a malformed question */
export function readQuery(packet: Buffer): Query | BadQuery | undefined {
  if (packet.length < HEADER_BYTES) return undefined;
  const id = packet.readUInt16BE(0);
  const allFlags = packet.readUInt16BE(2);
  // Two servers that respond to responses would never stop.
  if ((allFlags & Flag.response) !== 0) return undefined;
  const flags = allFlags & REPEATED_FLAGS;
  if ((flags & OPCODE_MASK) !== 0) return { id, flags, code: ResponseCode.notImplemented };
  if (!hasOneQuestion(packet)) return { id, flags, code: ResponseCode.formatError };
  const name = readWireName(packet, HEADER_BYTES);
  if (name === undefined) return undefined;
  const typeAt = HEADER_BYTES + name.length;
  const end = typeAt + 4;
  if (packet.length < end) return undefined;
  const edns = readEdns(packet, end);
  if (edns === 'broken') return { id, flags, code: ResponseCode.formatError };
  return {
    id,
    flags,
    question: packet.subarray(HEADER_BYTES, end),
    name,
    type: packet.readUInt16BE(typeAt),
    class: packet.readUInt16BE(typeAt + 2),
    edns,
    length: packet.length,
  };
}

/** One question (RFC 9619) and no records, except one of the additional ones. */
function hasOneQuestion(packet: Buffer): boolean {
  return (
    packet.readUInt16BE(4) === 1 &&
    packet.readUInt16BE(6) === 0 &&
    packet.readUInt16BE(8) === 0 &&
    packet.readUInt16BE(10) <= 1
  );
}

/** The rest of the packet is one OPT record, as announced, or empty. */
function readEdns(packet: Buffer, at: number): Edns | 'broken' | undefined {
  if (packet.readUInt16BE(10) === 0) return packet.length === at ? undefined : 'broken';
  if (packet.length < at + OPT_BYTES) return 'broken';
  const isOpt = packet[at] === 0 && packet.readUInt16BE(at + 1) === RecordType.OPT;
  if (!isOpt || packet.length !== at + OPT_BYTES + packet.readUInt16BE(at + 9)) return 'broken';
  return {
    payloadSize: packet.readUInt16BE(at + 3),
    version: packet[at + 6] ?? 0,
    dnssecOk: (packet.readUInt16BE(at + 7) & DNSSEC_OK) !== 0,
  };
}

/* Writes responses to queries (RFC 1035 section 4.1, RFC 6891). */

/** Bytes of a UDP response that every peer accepts (RFC 1035 section 4.2.1). */
const UDP_MIN_BYTES = 512;
const POINTER = 0xc000;
/** Length of a record whose owner is a pointer, without its data. */
const RECORD_BYTES = 12;

export interface Content {
  readonly code: ResponseCode;
  /** whether the relay is the authority for the name; default false */
  readonly authoritative?: boolean;
  readonly answers?: readonly DnsRecord[];
  /** reason for an empty answer: the SOA record of the zone (RFC 2308) */
  readonly authority?: readonly DnsRecord[];
  /** where the zone's name, which owns all records, begins in that of the question; default 0 */
  readonly apexOffset?: number;
}

export type Transport = 'udp' | 'tcp';

/** @returns only a header, because the question could not be read */
export function writeRefusal({ id, flags, code }: BadQuery): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(Flag.response | flags | code, 2);
  return header;
}

/**
 * @returns the response; without its records and with TC set if it is too large for the transport, so that a resolver
 *   queries again over TCP, which cannot be spoofed
 */
export function writeResponse(query: Query, content: Content, transport: Transport): Buffer {
  const response = write(query, content, 0);
  return response.length <= maxBytes(query, transport) ? response : writeTruncated(query);
}

/** @returns a response that only redirects to TCP; never larger than the question */
export function writeTruncated(query: Query): Buffer {
  return write(query, { code: 0, authoritative: true }, Flag.truncated);
}

/**
 * The source of a packet over UDP may be spoofed, so responses are limited to a size that makes an attack not
 * worthwhile.
 */
function maxBytes({ edns, length }: Query, transport: Transport): number {
  if (transport === 'tcp') return 0xffff;
  const accepted = Math.max(edns?.payloadSize ?? 0, UDP_MIN_BYTES);
  return Math.min(accepted, DNS_UDP_MAX_BYTES, DNS_UDP_FACTOR * length);
}

function write(query: Query, content: Content, moreFlags: number): Buffer {
  const { code, authoritative = false, answers = [], authority = [], apexOffset = 0 } = content;
  const records = [...answers, ...authority];
  const recordBytes = records.reduce((sum, { data }) => sum + RECORD_BYTES + data.length, 0);
  const optBytes = query.edns === undefined ? 0 : OPT_BYTES;
  const packet = Buffer.alloc(HEADER_BYTES + query.question.length + recordBytes + optBytes);
  packet.writeUInt16BE(query.id, 0);
  const authorityFlag = authoritative ? Flag.authoritative : 0;
  packet.writeUInt16BE(Flag.response | query.flags | authorityFlag | moreFlags | (code & 0xf), 2);
  packet.writeUInt16BE(1, 4);
  packet.writeUInt16BE(answers.length, 6);
  packet.writeUInt16BE(authority.length, 8);
  packet.writeUInt16BE(query.edns === undefined ? 0 : 1, 10);
  query.question.copy(packet, HEADER_BYTES);
  let at = HEADER_BYTES + query.question.length;
  for (const record of records) at = writeRecord(packet, at, record, HEADER_BYTES + apexOffset);
  if (query.edns !== undefined) writeOpt(packet, at, code, query.edns.dnssecOk);
  return packet;
}

function writeRecord(packet: Buffer, at: number, { type, ttl, data }: DnsRecord, owner: number): number {
  packet.writeUInt16BE(POINTER | owner, at);
  packet.writeUInt16BE(type, at + 2);
  packet.writeUInt16BE(CLASS_IN, at + 4);
  packet.writeUInt32BE(ttl, at + 6);
  packet.writeUInt16BE(data.length, at + 10);
  return at + RECORD_BYTES + data.copy(packet, at + RECORD_BYTES);
}

/** RFC 6891 section 6.1.2; the root's name before it is the zero that is already in the buffer. */
function writeOpt(packet: Buffer, at: number, code: number, dnssecOk: boolean): void {
  packet.writeUInt16BE(RecordType.OPT, at + 1);
  packet.writeUInt16BE(DNS_UDP_MAX_BYTES, at + 3);
  packet.writeUInt8(code >> 4, at + 5);
  packet.writeUInt16BE(dnssecOk ? DNSSEC_OK : 0, at + 7);
}

/* Records in wire format (RFC 1035 section 3.2.1), with the zone's own name as their owner. */

export interface DnsRecord {
  readonly type: number;
  /** seconds */
  readonly ttl: number;
  readonly data: Buffer;
}

/**
 * Seconds that resolvers cache a challenge's text, or its absence: the next order of the same name has another text,
 * and it is requested only briefly.
 */
const TEXT_TTL = 1;
/** Seconds that they cache the name server. */
const NAME_SERVER_TTL = 300;
/** RFC 8482 section 4.3 recommends a long time. */
const NO_ANY_TTL = 3600;

/** Numbers of an SOA record (RFC 1035 section 3.3.13): zones are never transferred, so only the last one matters. */
const SOA_NUMBERS = [1, 3600, 600, 86_400, TEXT_TTL];

/** @param text of at most 255 bytes */
export function textRecord(text: string): DnsRecord {
  return { type: RecordType.TXT, ttl: TEXT_TTL, data: characterString(text) };
}

export function nameServerRecord(nameServer: string): DnsRecord {
  return {
    type: RecordType.NS,
    ttl: NAME_SERVER_TTL,
    data: Buffer.from(wireName(nameServer), 'latin1'),
  };
}

/**
 * @param nameServer host name of the relay
 * @param mark a label of the mailbox that identifies the relay's own zone (delegation.ts)
 */
export function authorityRecord(nameServer: string, mark: string): DnsRecord {
  const numbers = Buffer.alloc(4 * SOA_NUMBERS.length);
  for (const [index, number] of SOA_NUMBERS.entries()) numbers.writeUInt32BE(number, 4 * index);
  const names = wireName(nameServer) + wireName(`${mark}.${nameServer}`);
  return {
    type: RecordType.SOA,
    ttl: TEXT_TTL,
    data: Buffer.concat([Buffer.from(names, 'latin1'), numbers]),
  };
}

/** Returned instead of all records, which would make a large response to a small question (RFC 8482). */
export const NO_ANY: DnsRecord = {
  type: RecordType.HINFO,
  ttl: NO_ANY_TTL,
  data: Buffer.concat([characterString('RFC8482'), characterString('')]),
};

/** RFC 1035 section 3.3. */
function characterString(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/**
 * Domain names in wire format: length and bytes of each label, and a zero (RFC 1035 section 3.1), one character for
 * each byte. In a text with dots, a dot within a label would look like one between two.
 */

const LABEL_MAX_BYTES = 63;
const NAME_MAX_BYTES = 255;

/**
 * @param name ASCII, with dots between labels
 * @throws RangeError if a label is empty or longer than 63 bytes, or the name longer than 255
 */
export function wireName(name: string): string {
  const labels = name.toLowerCase().split('.');
  if (labels.some((label) => label === '' || label.length > LABEL_MAX_BYTES))
    throw new RangeError(`no domain name: ${name}`);
  const wire = `${labels.map((label) => String.fromCharCode(label.length) + label).join('')}\0`;
  if (wire.length > NAME_MAX_BYTES) throw new RangeError(`too long a domain name: ${name}`);
  return wire;
}

/** @returns the name with dots between labels; `undefined` if a label contains a dot */
export function textName(wire: string): string | undefined {
  const labels: string[] = [];
  for (let at = 0; wire.charCodeAt(at) > 0; at += 1 + wire.charCodeAt(at))
    labels.push(wire.slice(at + 1, at + 1 + wire.charCodeAt(at)));
  return labels.some((label) => label.includes('.')) ? undefined : labels.join('.');
}

/**
 * Reads a name without compression: a question comes first in its message, so there is nothing it could point to.
 *
 * @returns its bytes with letters in lower case, or `undefined` if there is no name of at most 255 bytes
 */
export function readWireName(packet: Buffer, start: number): string | undefined {
  const limit = Math.min(packet.length, start + NAME_MAX_BYTES);
  let at = start;
  while (at < limit) {
    const length = packet[at] ?? 0;
    at += 1 + length;
    if (length === 0) return packet.toString('latin1', start, at).replaceAll(/[A-Z]/g, lower);
    if (length > LABEL_MAX_BYTES) return undefined;
  }
  return undefined;
}

function lower(letter: string): string {
  return letter.toLowerCase();
}
