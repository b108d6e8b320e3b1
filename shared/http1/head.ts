/**
 * Parses heads of HTTP/1.1 messages (RFC 9112 sections 2 to 5) strictly: what another parser might read differently is
 * rejected. Each byte is looked at once, and strings are created only on demand, because every request and every
 * response passes through here.
 */
import {
  CR,
  isLineEnd,
  SPACE,
  targetEnd,
  tokenEnd,
  valueEnd,
  type Field,
  endOfLines,
  joined,
  type LineRules,
  parseFields,
  withLineEnds,
} from './fields.ts';

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

/** Why a request head is rejected; an entry of `VISITOR_ERRORS`. */
type RequestFault = 'bad-request' | 'version-not-supported' | 'uri-too-long' | 'head-too-large';

interface RequestLimits {
  /** bytes of the request target */
  readonly target: number;
  /** number of field lines */
  readonly fields: number;
}

const ZERO = 0x30;
const NINE = 0x39;
const NAME = new TextEncoder().encode('HTTP/');
/** Length of `HTTP/1.1` in bytes. */
const VERSION_LENGTH = 8;

/**
 * Reads a request head.
 *
 * @param bytes the head, from the first byte to the empty line, both included; the caller must not use them afterwards
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
 * @param bytes the head, from the first byte to the empty line, both included; the caller must not use them afterwards
 * @returns `undefined` for a broken head
 */
export function parseResponseHead(bytes: Buffer): ResponseHead | undefined {
  const minor = readVersion(bytes, 0);
  const status = readStatus(bytes, VERSION_LENGTH + 1);
  if (minor === undefined || minor === 'other' || bytes[VERSION_LENGTH] !== SPACE || status === undefined)
    return undefined;
  const codeEnd = VERSION_LENGTH + 4;
  // The reason and the space before it are optional.
  const reasonStart = bytes[codeEnd] === CR ? codeEnd : codeEnd + 1;
  if (reasonStart > codeEnd && bytes[codeEnd] !== SPACE) return undefined;
  const end = valueEnd(bytes, reasonStart);
  const fields = isLineEnd(bytes, end) ? parseFields(bytes, end + 2) : undefined;
  return fields && { bytes, status, minor, fields };
}

/**
 * Reads a response head of a local service: as {@link parseResponseHead}, but several equal values of `Content-Length` are
 * one (RFC 9112 section 6.3), also in the bytes of the result.
 */
export function parseServiceHead(bytes: Buffer): ResponseHead | undefined {
  const head = parseResponseHead(bytes);
  if (head === undefined) return undefined;
  let first: Field | undefined;
  let values: string[] | undefined;
  for (const field of head.fields) {
    if (!field.is('content-length')) continue;
    if (first !== undefined || field.value.includes(','))
      (values ??= first ? [first.value] : []).push(field.value);
    first ??= field;
  }
  const [value, ...others] = new Set(
    values
      ?.join()
      .split(',')
      .map((text) => text.trim()),
  );
  if (first === undefined || value === undefined || others.length > 0) return head;
  const writer = new HeadWriter(head.bytes, 0);
  writer.keep(0, fieldsStart(head));
  for (const field of head.fields) {
    if (field === first) writer.text(`${field.name}: ${value}\r\n`);
    else if (!field.is('content-length')) writer.keepField(field);
  }
  writer.text('\r\n');
  return parseResponseHead(writer.end());
}

/**
 * The first line of a response head that is malformed; if there is none, the last one, whose end may be missing.
 *
 * @param bytes from the first byte of the head on
 */
export function refusedLine(bytes: Buffer): Buffer {
  for (let start = 0; ;) {
    const at = bytes.indexOf(LF, start);
    const end = at > start && bytes[at - 1] === CR ? at - 1 : at;
    const line = bytes.subarray(start, at === -1 ? bytes.length : end);
    if (at === -1 || !isHeadLine(line, start === 0)) return line;
    start = at + 1;
  }
}

function isHeadLine(line: Buffer, isFirst: boolean): boolean {
  const head = Buffer.concat([line, Buffer.from(line.length === 0 ? '\r\n' : END)]);
  return (isFirst ? parseResponseHead(head) : parseFields(head, 0)) !== undefined;
}

/** Start of the field lines, just after the first line. */
export function fieldsStart({ bytes, fields }: Pick<RequestHead, 'bytes' | 'fields'>): number {
  return fields[0]?.start ?? bytes.length - 2;
}

/** The minor version of `HTTP/1.0` and `HTTP/1.1`; `other` for any other; `undefined` if it is not a version. */
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

/* Collects the bytes of a message head as they arrive. */

const HEAD_READER_CR = 13;
const LF = 10;
const END = '\r\n\r\n';

/** Why the bytes cannot become a head: they exceed the limit, or a line does not end in CRLF. */
type HeadReaderFault = 'too-large' | 'malformed';

export interface HeadEnd {
  /** the head, including the empty line */
  readonly head: Buffer;
  /** the bytes after it */
  readonly rest: Buffer;
}

const EMPTY = Buffer.alloc(0);

export class HeadReader {
  #held: Buffer = EMPTY;
  /** The last bytes, if they made the head too large. */
  #beyond: Buffer = EMPTY;
  readonly #limit: number;
  readonly #rules: LineRules;

  /**
   * @param limit bytes of the largest accepted head
   * @param rules `lenient` for responses of local services
   */
  constructor(limit: number, rules: LineRules = 'strict') {
    this.#limit = limit;
    this.#rules = rules;
  }

  /** Whether part of a head has arrived. */
  get partial(): boolean {
    return this.#held.length > 0;
  }

  /** The bytes held so far, latin1. */
  get text(): string {
    return this.#held.toString('latin1') + this.#beyond.toString('latin1');
  }

  /** Consumes the next bytes. Returns `undefined` while the head is incomplete. */
  push(chunk: Buffer): HeadEnd | HeadReaderFault | undefined {
    const from = Math.max(0, this.#held.length - END.length + 1);
    if (this.#held.length > 0 && this.#isTooMuch(chunk, from)) {
      this.#beyond = chunk;
      return this.#isStrict && hasBareLineFeed(chunk, 0, this.#held.at(-1)) ? 'malformed' : 'too-large';
    }
    const bytes = this.#held.length === 0 ? chunk : joined(this.#held, chunk);
    const end = endOfLines(bytes, from, this.#rules);
    const length = end === 0 ? bytes.length : end;
    if (end === 0) this.#held = bytes;
    if (bytes[0] === HEAD_READER_CR || bytes[0] === LF || (end === 0 && this.#isHopeless(bytes, from))) {
      this.#held = bytes;
      return 'malformed';
    }
    if (length > this.#limit) {
      this.#held = bytes;
      return 'too-large';
    }
    if (end === 0) return undefined;
    this.#held = EMPTY;
    const head = length === bytes.length ? bytes : bytes.subarray(0, length);
    return { head: this.#isStrict ? head : withLineEnds(head), rest: bytes.subarray(length) };
  }

  get #isStrict(): boolean {
    return this.#rules === 'strict';
  }

  /**
   * Whether the bytes can never become a head, so that nobody should wait for its end: a line has another ending, or a
   * response is of another protocol.
   */
  #isHopeless(bytes: Buffer, from: number): boolean {
    if (this.#isStrict) return hasBareLineFeed(bytes, from);
    return !'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7));
  }

  /** Whether no head can end within the limit, determined without copying all data. */
  #isTooMuch(chunk: Buffer, from: number): boolean {
    const room = this.#limit - this.#held.length;
    if (chunk.length <= room) return false;
    return (
      endOfLines(Buffer.concat([this.#held.subarray(from), chunk.subarray(0, room)]), 0, this.#rules) === 0
    );
  }
}

/** @param before the byte before them, if any */
function hasBareLineFeed(bytes: Buffer, from: number, before?: number): boolean {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if ((at === 0 ? before : bytes[at - 1]) !== HEAD_READER_CR) return true;
  }
  return false;
}

/** Writes a new head from a received one. Copies the kept parts in pieces as large as possible. */
export class HeadWriter {
  readonly #source: Buffer;
  #target: Buffer;
  #length = 0;
  /** Start of the next piece of the source to copy. */
  #from = 0;
  #to = 0;

  /**
   * @param source the received head
   * @param extra approximate number of additional bytes
   */
  constructor(source: Buffer, extra: number) {
    this.#source = source;
    this.#target = Buffer.allocUnsafe(source.length + extra);
  }

  /** Keeps bytes of the source. */
  keep(start: number, end: number): void {
    if (start !== this.#to) {
      this.#flush();
      this.#from = start;
    }
    this.#to = end;
  }

  /** Keeps a field line, in plain form. */
  keepField(field: Field): void {
    if (field.isPlain) this.keep(field.start, field.end);
    else this.text(`${field.name}: ${field.value}\r\n`);
  }

  /** Writes a text, one byte per character. */
  text(text: string): void {
    this.#flush();
    this.#reserve(text.length);
    this.#length += this.#target.write(text, this.#length, 'latin1');
  }

  /** Writes bytes from another source. */
  bytes(bytes: Buffer): void {
    this.#flush();
    this.#reserve(bytes.length);
    this.#length += bytes.copy(this.#target, this.#length);
  }

  /** The new head. */
  end(): Buffer {
    this.#flush();
    return this.#length === this.#target.length ? this.#target : this.#target.subarray(0, this.#length);
  }

  #flush(): void {
    const from = this.#from;
    this.#from = this.#to;
    if (this.#to === from) return;
    this.#reserve(this.#to - from);
    this.#length += this.#source.copy(this.#target, this.#length, from, this.#to);
  }

  #reserve(bytes: number): void {
    const size = this.#length + bytes;
    if (size <= this.#target.length) return;
    const larger = Buffer.allocUnsafe(2 * size);
    this.#target.copy(larger, 0, 0, this.#length);
    this.#target = larger;
  }
}
