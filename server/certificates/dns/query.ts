/**
 * Reads DNS queries: a header, one question, and perhaps an OPT record, of which nothing else is looked at (RFC 1035 section 4.1,
 * RFC 6891). Every byte is looked at once, and nothing in a packet makes it read elsewhere.
 */
import { Flag, HEADER_BYTES, OPCODE_MASK, OPT_BYTES, RecordType, ResponseCode } from './constants.ts';
import { readWireName } from './wire-name.ts';

export interface Query {
  readonly id: number;
  /** opcode and RD, which a response repeats */
  readonly flags: number;
  /** the question as it was sent, byte for byte: resolvers vary upper and lower case and look for it in the response */
  readonly question: Buffer;
  /** as {@link readWireName} gives it */
  readonly name: string;
  readonly type: number;
  readonly class: number;
  /** `undefined` without an OPT record */
  readonly edns: Edns | undefined;
  /** bytes of the packet */
  readonly length: number;
}

export interface Edns {
  /** bytes of a UDP response that the peer takes */
  readonly payloadSize: number;
  readonly version: number;
  /** the DO bit, which a response repeats (RFC 3225 section 3) */
  readonly dnssecOk: boolean;
}

/** A query that cannot be served, and the code that says so. */
export interface BadQuery {
  readonly id: number;
  readonly flags: number;
  readonly code: ResponseCode;
}

const DNSSEC_OK = 0x8000;
const REPEATED_FLAGS = OPCODE_MASK | Flag.recursionDesired;

/** @returns `undefined` for what deserves no response: no query, or one whose question is broken */
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

/** One question (RFC 9619), no records, except one of those that come last. */
function hasOneQuestion(packet: Buffer): boolean {
  return (
    packet.readUInt16BE(4) === 1 &&
    packet.readUInt16BE(6) === 0 &&
    packet.readUInt16BE(8) === 0 &&
    packet.readUInt16BE(10) <= 1
  );
}

/** The rest of the packet is one OPT record, as announced, or nothing. */
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
