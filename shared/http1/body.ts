import {
  CR,
  endOfLines,
  type Field,
  isBlank,
  isLineEnd,
  joined,
  LF,
  type LineRules,
  parseFields,
  withLineEnds,
} from './fields.ts';
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
      return new ChunkedBody({ onPayload, onTrailers }, 'strict');
    case 'until-close':
      return new UntilCloseBody();
  }
}

/**
 * A tracker for the body of a response of a local service, whose chunks may have lines that end in LF alone, and sizes that
 * blanks follow.
 */
export function trackServiceBody(framing: Framing, handlers: ChunkedHandlers): BodyTracker {
  return framing.kind === 'chunked' ? new ChunkedBody(handlers, 'lenient') : trackBody(framing);
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

const LINE_END = Buffer.from('\r\n');
/**
 * Maximum number of bytes in a chunk-size line of a chunked body: 15 hexadecimal digits stay below 2^60, the
 * rest is for extensions.
 */
const SIZE_LINE_MAX = 1024;
/** Maximum number of bytes in the trailer section of a chunked body. */
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

type State = 'size' | 'data' | 'data-cr' | 'data-lf' | 'trailers' | 'done';

interface ChunkedHandlers {
  /** receives the content without its framing */
  readonly onPayload?: ((piece: Buffer) => void) | undefined;
  /** receives the trailer fields at the end, if there are any */
  readonly onTrailers?: ((fields: readonly Field[]) => void) | undefined;
  /** receives the body in strict framing, without extensions of chunks: no line of it until the line is complete */
  readonly onWire?: ((piece: Buffer) => void) | undefined;
}

class ChunkedBody implements BodyTracker {
  #state: State = 'size';
  /** the part of the size line that has arrived */
  #line = '';
  #heldCr = false;
  /** the part of the trailer section that has arrived */
  #held = EMPTY;
  #left = 0;
  /** where the bytes of the current chunk begin that are still to be handed to `onWire` */
  #unsent = 0;
  readonly #handlers: ChunkedHandlers;
  readonly #rules: LineRules;

  constructor(handlers: ChunkedHandlers, rules: LineRules) {
    this.#handlers = handlers;
    this.#rules = rules;
  }

  get done(): boolean {
    return this.#state === 'done';
  }

  advance(chunk: Buffer, start: number): number {
    let position = start;
    this.#unsent = start;
    while (position < chunk.length && this.#state !== 'done') {
      position = this.#state === 'data' ? this.#skipData(chunk, position) : this.#step(chunk, position);
    }
    this.#flush(chunk, position);
    return position;
  }

  #skipData(chunk: Buffer, position: number): number {
    const end = Math.min(chunk.length, position + this.#left);
    this.#handlers.onPayload?.(chunk.subarray(position, end));
    this.#left -= end - position;
    if (this.#left === 0) this.#state = 'data-cr';
    return end;
  }

  #step(chunk: Buffer, position: number): number {
    switch (this.#state) {
      case 'size':
        return this.#collect(chunk, position);
      case 'data-cr':
        if (chunk[position] === LF && this.#rules === 'lenient') return this.#endData(chunk, position);
        expect(chunk, position, CR);
        this.#state = 'data-lf';
        return position + 1;
      case 'data-lf':
        expect(chunk, position, LF);
        this.#state = 'size';
        return position + 1;
      case 'trailers':
        return this.#collectTrailers(chunk, position);
      case 'data':
      case 'done':
        return position;
    }
  }

  /** Hands over the bytes of the chunk up to there. */
  #flush(chunk: Buffer, end: number): void {
    if (end > this.#unsent) this.#handlers.onWire?.(chunk.subarray(this.#unsent, end));
    this.#unsent = end;
  }

  /** Hands over other bytes instead of those of the chunk from `start` to `end`. */
  #replace(chunk: Buffer, start: number, end: number, bytes: Buffer): void {
    this.#flush(chunk, Math.max(start, this.#unsent));
    this.#handlers.onWire?.(bytes);
    this.#unsent = end;
  }

  /** Chunk data that ends with LF alone. */
  #endData(chunk: Buffer, position: number): number {
    this.#replace(chunk, position, position + 1, LINE_END);
    this.#state = 'size';
    return position + 1;
  }

  #collect(chunk: Buffer, position: number): number {
    const at = chunk.indexOf(LF, position);
    const stop = at === -1 ? chunk.length : at;
    const held = this.#line;
    const piece = chunk.toString('latin1', position, Math.min(stop, position + SIZE_LINE_MAX + 2));
    // What is held was searched before, and has a CR only at its end.
    const found = this.#heldCr ? -1 : piece.indexOf('\r');
    const cr = this.#heldCr ? held.length - 1 : found === -1 ? -1 : held.length + found;
    const length = held.length + piece.length;
    if ((cr === -1 ? length : cr) > SIZE_LINE_MAX) throw sizeError(held + piece, 'chunk-size line too long');
    // Reject lines with any other ending, instead of waiting for more.
    const isBroken = cr === -1 ? at !== -1 && this.#rules === 'strict' : cr !== length - 1;
    if (isBroken) throw sizeError(held + piece, 'malformed chunk size');
    this.#line = at === -1 ? held + piece : '';
    this.#heldCr = at === -1 && cr !== -1;
    if (at === -1) {
      this.#flush(chunk, position);
      this.#unsent = stop;
      return stop;
    }
    const size = (held + piece).slice(0, cr === -1 ? undefined : cr);
    let end = size.length;
    if (this.#rules === 'lenient') while (isBlank(size.charCodeAt(end - 1))) end -= 1;
    const digits = SIZE_LINE.exec(size.slice(0, end))?.[1];
    if (digits === undefined) throw sizeError(size, 'malformed chunk size');
    if (held !== '' || cr === -1 || digits !== size)
      this.#replace(chunk, position, at + 1, Buffer.from(`${digits}\r\n`));
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? 'trailers' : 'data';
    return at + 1;
  }

  #collectTrailers(chunk: Buffer, position: number): number {
    const before = this.#held.length;
    const piece = chunk.subarray(position, position + TRAILERS_MAX);
    const bytes = before === 0 ? piece : joined(this.#held, piece);
    const end = endOfSection(bytes, before, this.#rules);
    if ((end === 0 ? bytes.length : end) > TRAILERS_MAX) throw new BodyError('trailers too long');
    const stop = end === 0 ? position + piece.length : position + end - before;
    if (end === 0) {
      // Reject these before the end of the section: data is passed on immediately, and a parser with other line endings
      // would find the end of the body, and a request after it, within what are trailers here.
      if (this.#rules === 'strict' && breaksLines(bytes, Math.max(0, before - 1)))
        throw new BodyError('malformed trailers');
      // A copy, because receivers of the piece may change it.
      this.#held = before === 0 ? Buffer.from(bytes) : bytes;
      this.#flush(chunk, Math.max(position, this.#unsent));
      this.#unsent = stop;
      return stop;
    }
    const lines = bytes.subarray(0, end);
    const section = this.#rules === 'strict' ? lines : withLineEnds(lines);
    const fields = parseFields(section, 0);
    const refused = fields?.find(isForbiddenTrailer);
    if (fields === undefined || refused !== undefined)
      throw new BodyError(
        'malformed trailers',
        refused && Buffer.from(`${refused.name}: ${refused.value}`, 'latin1'),
      );
    if (fields.length > 0) this.#handlers.onTrailers?.(fields);
    this.#replace(chunk, position, stop, section);
    this.#state = 'done';
    return stop;
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
function endOfSection(bytes: Buffer, looked: number, rules: LineRules): number {
  if (isLineEnd(bytes, 0)) return 2;
  if (bytes[0] === LF && rules === 'lenient') return 1;
  return endOfLines(bytes, Math.max(0, looked - 3), rules);
}

/** Whether a line does not end in CRLF. A CR at the end of the bytes may still become one. */
function breaksLines(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === LF && bytes[at - 1] !== CR) return true;
    if (bytes[at] === CR && at + 1 < bytes.length && bytes[at + 1] !== LF) return true;
  }
  return false;
}

function expect(chunk: Buffer, position: number, wanted: number): void {
  if (chunk[position] !== wanted) throw new BodyError('malformed chunk', chunk.subarray(position));
}

function sizeError(line: string, why: string): BodyError {
  return new BodyError(why, Buffer.from(line, 'latin1'));
}
