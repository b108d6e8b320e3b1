/**
 * Heads of HTTP/1.1 messages (RFC 9112 sections 2 to 5), read strictly: what another parser might read in a second way is
 * refused. They are read as bytes, each looked at once, and strings are made only of what somebody asks for, because every
 * request and every response passes through here.
 */
import { CR, isLineEnd, SPACE, targetEnd, tokenEnd, valueEnd } from './characters.ts';
import { type Field, parseFields } from './fields.ts';

export interface RequestHead {
  /** the head as received, from the first byte to the empty line, both included */
  readonly bytes: Buffer;
  readonly method: string;
  readonly target: string;
  /** the minor version: HTTP/1.0 or HTTP/1.1 */
  readonly minor: 0 | 1;
  readonly fields: readonly Field[];
}

export interface ResponseHead {
  /** the head as received, from the first byte to the empty line, both included */
  readonly bytes: Buffer;
  readonly status: number;
  readonly minor: 0 | 1;
  readonly fields: readonly Field[];
}

/** Why a request head is refused; each is an entry of `VISITOR_ERRORS`. */
export type RequestFault = 'bad-request' | 'version-not-supported' | 'uri-too-long' | 'head-too-large';

export interface RequestLimits {
  /** bytes of the request target */
  readonly target: number;
  /** number of field lines */
  readonly fields: number;
}

const ZERO = 0x30;
const NINE = 0x39;
const NAME = new TextEncoder().encode('HTTP/');
/** Bytes of `HTTP/1.1`. */
const VERSION_LENGTH = 8;

/**
 * Reads a request head.
 *
 * @param bytes the head, from the first byte to the empty line, both included; they belong to it from then on
 */
export function parseRequestHead(bytes: Buffer, limits: RequestLimits): RequestHead | RequestFault {
  const methodEnd = tokenEnd(bytes, 0);
  const end = targetEnd(bytes, methodEnd + 1);
  const version = end + 1;
  const isLine =
    methodEnd > 0 &&
    bytes[methodEnd] === SPACE &&
    end > methodEnd + 1 &&
    bytes[end] === SPACE &&
    isLineEnd(bytes, version + VERSION_LENGTH);
  const minor = isLine ? readVersion(bytes, version) : undefined;
  if (minor === undefined) return 'bad-request';
  if (minor === 'other') return 'version-not-supported';
  if (end - methodEnd - 1 > limits.target) return 'uri-too-long';
  const fields = parseFields(bytes, version + VERSION_LENGTH + 2);
  if (fields === undefined) return 'bad-request';
  if (fields.length > limits.fields) return 'head-too-large';
  const method = bytes.toString('latin1', 0, methodEnd);
  return { bytes, method, target: bytes.toString('latin1', methodEnd + 1, end), minor, fields };
}

/**
 * Reads a response head.
 *
 * @param bytes the head, from the first byte to the empty line, both included; they belong to it from then on
 * @returns `undefined` for a broken head
 */
export function parseResponseHead(bytes: Buffer): ResponseHead | undefined {
  const minor = readVersion(bytes, 0);
  const status = readStatus(bytes, VERSION_LENGTH + 1);
  if (minor === undefined || minor === 'other' || bytes[VERSION_LENGTH] !== SPACE || status === undefined)
    return undefined;
  const codeEnd = VERSION_LENGTH + 4;
  // The reason may be missing, and the space before it, too.
  const reasonStart = bytes[codeEnd] === CR ? codeEnd : codeEnd + 1;
  if (reasonStart > codeEnd && bytes[codeEnd] !== SPACE) return undefined;
  const end = valueEnd(bytes, reasonStart);
  const fields = isLineEnd(bytes, end) ? parseFields(bytes, end + 2) : undefined;
  return fields && { bytes, status, minor, fields };
}

/** Where the field lines begin: just after the first line. */
export function fieldsStart({ bytes, fields }: Pick<RequestHead, 'bytes' | 'fields'>): number {
  return fields[0]?.start ?? bytes.length - 2;
}

/** The minor version of `HTTP/1.0` and `HTTP/1.1`; `other` for any other; `undefined` when it is not a version. */
function readVersion(bytes: Buffer, at: number): 0 | 1 | 'other' | undefined {
  for (let index = 0; index < NAME.length; index++) if (bytes[at + index] !== NAME[index]) return undefined;
  const major = digit(bytes, at + 5);
  const minor = digit(bytes, at + 7);
  if (major === undefined || bytes[at + 6] !== 0x2e || minor === undefined) return undefined;
  return major === 1 && (minor === 0 || minor === 1) ? minor : 'other';
}

/** Three digits, the first not 0. */
function readStatus(bytes: Buffer, at: number): number | undefined {
  const hundreds = digit(bytes, at);
  const tens = digit(bytes, at + 1);
  const ones = digit(bytes, at + 2);
  if (hundreds === undefined || tens === undefined || ones === undefined || hundreds === 0) return undefined;
  return hundreds * 100 + tens * 10 + ones;
}

function digit(bytes: Buffer, at: number): number | undefined {
  const byte = bytes[at];
  return byte !== undefined && byte >= ZERO && byte <= NINE ? byte - ZERO : undefined;
}
