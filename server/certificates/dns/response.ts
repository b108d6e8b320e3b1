/** Writes responses to queries (RFC 1035 section 4.1, RFC 6891). */
import { DNS_UDP_FACTOR, DNS_UDP_MAX_BYTES } from '../../limits.ts';
import { CLASS_IN, Flag, HEADER_BYTES, OPT_BYTES, RecordType, type ResponseCode } from './constants.ts';
import type { BadQuery, Query } from './query.ts';
import type { DnsRecord } from './records.ts';

/** Bytes of a UDP response that everybody takes (RFC 1035 section 4.2.1). */
const UDP_MIN_BYTES = 512;
const POINTER = 0xc000;
const DNSSEC_OK = 0x8000;
/** Of a record whose owner is a pointer, without its data. */
const RECORD_BYTES = 12;

export interface Content {
  readonly code: ResponseCode;
  /** whether the relay is the authority for the name; default false */
  readonly authoritative?: boolean;
  readonly answers?: readonly DnsRecord[];
  /** why there is no answer: the SOA record of the zone (RFC 2308) */
  readonly authority?: readonly DnsRecord[];
  /** where the zone's name, which owns all records, begins in that of the question; default 0 */
  readonly apexOffset?: number;
}

export type Transport = 'udp' | 'tcp';

/** @returns header alone: what was asked could not be read */
export function writeRefusal({ id, flags, code }: BadQuery): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(Flag.response | flags | code, 2);
  return header;
}

/**
 * @returns the response; without its records and with TC set where it is too large for the transport, so that a resolver asks
 *     again over TCP, which nobody can do in the name of another
 */
export function writeResponse(query: Query, content: Content, transport: Transport): Buffer {
  const response = write(query, content, 0);
  return response.length <= maxBytes(query, transport) ? response : writeTruncated(query);
}

/** @returns a response that says nothing but to ask over TCP; never larger than the question */
export function writeTruncated(query: Query): Buffer {
  return write(query, { code: 0, authoritative: true }, Flag.truncated);
}

/** A response goes to whoever a packet over UDP says it is from, so it is not worth while to send one in another's name. */
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

/** RFC 6891 section 6.1.2; the root's name before it is the zero that is there. */
function writeOpt(packet: Buffer, at: number, code: number, dnssecOk: boolean): void {
  packet.writeUInt16BE(RecordType.OPT, at + 1);
  packet.writeUInt16BE(DNS_UDP_MAX_BYTES, at + 3);
  packet.writeUInt8(code >> 4, at + 5);
  packet.writeUInt16BE(dnssecOk ? DNSSEC_OK : 0, at + 7);
}
