/** Numbers of the DNS protocol that this server knows (RFC 1035, RFC 6891). */

export const RecordType = { NS: 2, SOA: 6, HINFO: 13, TXT: 16, OPT: 41, IXFR: 251, ANY: 255 } as const;

/** Types from here to the last are questions about a zone or several types, and no records: AXFR among them. */
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
/** Of an OPT record without options. */
export const OPT_BYTES = 11;

/** Bits of the header's second 16-bit word. */
export const Flag = {
  response: 0x8000,
  authoritative: 0x0400,
  truncated: 0x0200,
  recursionDesired: 0x0100,
} as const;
export const OPCODE_MASK = 0x7800;
