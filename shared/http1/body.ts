import { isLineEnd, type Field, joined, parseFields } from './fields.ts';
import type { RequestHead, ResponseHead } from './head.ts';
import { provenance, steersVisitors } from './hop-by-hop.ts';

/** Finds the end of a message body in the bytes that carry it, without copying them. */

const EMPTY: Buffer = Buffer.alloc(0);

/** Thrown for a body that violates its framing. Nothing after it on the connection may be read. */
export class BodyError extends Error {
  /** The line that violates it, or the part of it that has arrived; empty if it is not a line. */
  readonly line: Buffer;

  constructor(message: string, line: Buffer = EMPTY) {
    super(message);
    this.line = line;
  }
}

export interface BodyTracker {
  /** Whether the body is complete. */
  readonly done: boolean;
  /**
   * Consumes the next bytes.
   *
   * @param start where the body continues in the chunk
   * @returns one past the last byte that belongs to the body
   * @throws BodyError
   */
  advance(chunk: Buffer, start: number): number;
}

/* The length of a message's body (RFC 9112 section 6.3), derived from its head, or an error. */

export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly length: number }
  | { readonly kind: 'chunked' }
  /** responses only: the body ends with the connection */
  | { readonly kind: 'until-close' };

/** Why the framing of a request is rejected; an entry of `VISITOR_ERRORS`. */
type FramingFault = 'bad-request' | 'not-implemented';

const NONE: Framing = { kind: 'none' };
const CHUNKED: Framing = { kind: 'chunked' };
const UNTIL_CLOSE: Framing = { kind: 'until-close' };

// Plain digits, no leading zero, below 2^53: every parser reads them as the same number.
const CONTENT_LENGTH = /^(?:0|[1-9]\d{0,14})$/;
const CODING_LIST = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:[ \t]*,[ \t]*[!#$%&'*+\-.^_`|~0-9A-Za-z]+)*$/;

/** The framing of a request, or why it is rejected. */
export function requestFraming(head: RequestHead): Framing | FramingFault {
  const framing = declaredFraming(head.fields, head.minor);
  return framing === undefined ? NONE : framing;
}

/**
 * The framing of a response, or `undefined` if it is ambiguous.
 *
 * @param method the method of the request it responds to
 */
export function responseFraming(head: ResponseHead, method: string): Framing | undefined {
  const framing = declaredFraming(head.fields, head.minor);
  if (typeof framing === 'string') return undefined;
  return method === 'HEAD' || hasNoBody(head.status) ? NONE : (framing ?? UNTIL_CLOSE);
}

/** Whether a response with that status has no body, regardless of its fields. */
function hasNoBody(status: number): boolean {
  // A 205 must not have one, and some browsers read none (RFC 9110 section 15.3.6).
  return status < 200 || status === 204 || status === 205 || status === 304;
}

/** The framing declared by Content-Length and Transfer-Encoding; `undefined` without either. */
function declaredFraming(fields: readonly Field[], minor: 0 | 1): Framing | FramingFault | undefined {
  let length: string | undefined;
  let coding: string | undefined;
  for (const field of fields) {
    if (field.is('content-length')) {
      if (length !== undefined) return 'bad-request';
      length = field.value;
    } else if (field.is('transfer-encoding')) {
      if (coding !== undefined) return 'bad-request';
      coding = field.value;
    }
  }
  if (coding !== undefined) {
    if (length !== undefined || minor === 0 || !CODING_LIST.test(coding)) return 'bad-request';
    if (coding.toLowerCase() === 'chunked') return CHUNKED;
    const onlyChunked = coding.split(',').every((member) => member.trim().toLowerCase() === 'chunked');
    return onlyChunked ? 'bad-request' : 'not-implemented';
  }
  if (length === undefined) return undefined;
  if (!CONTENT_LENGTH.test(length)) return 'bad-request';
  return length === '0' ? NONE : { kind: 'length', length: Number(length) };
}

/**
 * A tracker for the framing.
 *
 * @param onPayload receives the content of a chunked body without its framing
 * @param onTrailers receives its trailer fields at its end, if there are any
 */
export function trackBody(
  framing: Framing,
  onPayload?: (piece: Buffer) => void,
  onTrailers?: (fields: readonly Field[]) => void,
): BodyTracker {
  switch (framing.kind) {
    case 'none':
      return new LengthBody(0);
    case 'length':
      return new LengthBody(framing.length);
    case 'chunked':
      return new ChunkedBody(onPayload, onTrailers);
    case 'until-close':
      return new UntilCloseBody();
  }
}

class LengthBody implements BodyTracker {
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  get done(): boolean {
    return this.#left === 0;
  }

  advance(chunk: Buffer, start: number): number {
    const taken = Math.min(this.#left, chunk.length - start);
    this.#left -= taken;
    return start + taken;
  }
}

class UntilCloseBody implements BodyTracker {
  readonly done = false;

  advance(chunk: Buffer): number {
    return chunk.length;
  }
}

/* The chunked transfer coding (RFC 9112 section 7.1): parses its framing byte by byte, and skips its content. */

const CR = 13;
const LF = 10;
/**
 * @limit Maximum number of bytes in a chunk-size line of a chunked body: 15 hexadecimal digits stay below 2^60, the
 * rest is for extensions.
 */
const SIZE_LINE_MAX = 1024;
/** @limit Maximum number of bytes in the trailer section of a chunked body. */
const TRAILERS_MAX = 8192;
const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const QUOTED = '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"';
const BWS = '[ \\t]*';
// Validates the grammar of extensions (RFC 9112 section 7.1.1), because parsers disagree on the end of malformed ones.
const SIZE_LINE = new RegExp(
  `^([0-9A-Fa-f]{1,13})(?:${BWS};${BWS}${TOKEN}(?:${BWS}=${BWS}(?:${TOKEN}|${QUOTED}))?)*$`,
);
/** Fields about the framing or routing of a message, which have no meaning after it (RFC 9110 section 6.5.1). */
const FORBIDDEN_TRAILERS = new Set([
  'content-length',
  'transfer-encoding',
  'host',
  'trailer',
  'te',
  'connection',
  'upgrade',
  'authorization',
  'content-encoding',
  'content-type',
  'content-range',
]);

type State = 'size' | 'size-lf' | 'data' | 'data-cr' | 'data-lf' | 'trailers' | 'done';

class ChunkedBody implements BodyTracker {
  #state: State = 'size';
  /** the part of the size line that has arrived */
  #line = '';
  /** the part of the trailer section that has arrived */
  #held = EMPTY;
  #left = 0;
  readonly #onPayload: ((piece: Buffer) => void) | undefined;
  readonly #onTrailers: ((fields: readonly Field[]) => void) | undefined;

  constructor(onPayload?: (piece: Buffer) => void, onTrailers?: (fields: readonly Field[]) => void) {
    this.#onPayload = onPayload;
    this.#onTrailers = onTrailers;
  }

  get done(): boolean {
    return this.#state === 'done';
  }

  advance(chunk: Buffer, start: number): number {
    let position = start;
    while (position < chunk.length && this.#state !== 'done') {
      position = this.#state === 'data' ? this.#skipData(chunk, position) : this.#step(chunk, position);
    }
    return position;
  }

  #skipData(chunk: Buffer, position: number): number {
    const end = Math.min(chunk.length, position + this.#left);
    this.#onPayload?.(chunk.subarray(position, end));
    this.#left -= end - position;
    if (this.#left === 0) this.#state = 'data-cr';
    return end;
  }

  #step(chunk: Buffer, position: number): number {
    switch (this.#state) {
      case 'size':
        return this.#collect(chunk, position);
      case 'size-lf':
        expect(chunk[position], LF);
        this.#startChunk();
        return position + 1;
      case 'data-cr':
        expect(chunk[position], CR);
        this.#state = 'data-lf';
        return position + 1;
      case 'data-lf':
        expect(chunk[position], LF);
        this.#state = 'size';
        return position + 1;
      case 'trailers':
        return this.#collectTrailers(chunk, position);
      case 'data':
      case 'done':
        return position;
    }
  }

  #collect(chunk: Buffer, position: number): number {
    const end = chunk.indexOf(CR, position);
    const stop = end === -1 ? chunk.length : end;
    if (this.#line.length + stop - position > SIZE_LINE_MAX)
      throw new BodyError('chunk-size line too long', Buffer.from(this.#line, 'latin1'));
    const piece = chunk.toString('latin1', position, stop);
    // Reject lines with any other ending, instead of waiting for more.
    if (piece.includes('\n')) throw new BodyError('malformed chunk size', Buffer.from(piece, 'latin1'));
    this.#line += piece;
    if (end === -1) return stop;
    this.#state = 'size-lf';
    return end + 1;
  }

  #startChunk(): void {
    const digits = SIZE_LINE.exec(this.#line)?.[1];
    if (digits === undefined) throw new BodyError('malformed chunk size', Buffer.from(this.#line, 'latin1'));
    this.#line = '';
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'data';
  }

  #collectTrailers(chunk: Buffer, position: number): number {
    const before = this.#held.length;
    const piece = chunk.subarray(position, position + TRAILERS_MAX);
    const bytes = before === 0 ? piece : joined(this.#held, piece);
    const end = isLineEnd(bytes, 0) ? 2 : endOfSection(bytes, before);
    if ((end === 0 ? bytes.length : end) > TRAILERS_MAX) throw new BodyError('trailers too long');
    if (end === 0) {
      // Reject these before the end of the section: data is passed on immediately, and a parser with other line endings
      // would find the end of the body, and a request after it, within what are trailers here.
      if (breaksLines(bytes, Math.max(0, before - 1))) throw new BodyError('malformed trailers');
      // A copy, because receivers of the piece may change it.
      this.#held = before === 0 ? Buffer.from(bytes) : bytes;
      return position + piece.length;
    }
    const fields = parseFields(bytes.subarray(0, end), 0);
    if (fields === undefined || fields.some(isForbiddenTrailer)) {
      throw new BodyError('malformed trailers');
    }
    if (fields.length > 0) this.#onTrailers?.(fields);
    this.#state = 'done';
    return position + end - before;
  }
}

/** Includes fields that must not precede a body, since some servers merge trailers into the fields of the head. */
export function isForbiddenTrailer(field: Field): boolean {
  return FORBIDDEN_TRAILERS.has(field.lower) || steersVisitors(field) || provenance(field) !== 'nothing';
}

/**
 * One past the empty line, or 0 if it has not arrived yet.
 *
 * @param looked how many of the bytes were searched for earlier pieces, to search each byte only once
 */
function endOfSection(bytes: Buffer, looked: number): number {
  const at = bytes.indexOf('\r\n\r\n', Math.max(0, looked - 3), 'latin1');
  return at === -1 ? 0 : at + 4;
}

/** Whether a line does not end in CRLF. A CR at the end of the bytes may still become one. */
function breaksLines(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === LF && bytes[at - 1] !== CR) return true;
    if (bytes[at] === CR && at + 1 < bytes.length && bytes[at + 1] !== LF) return true;
  }
  return false;
}

function expect(byte: number | undefined, wanted: number): void {
  if (byte !== wanted) throw new BodyError('malformed chunk');
}
