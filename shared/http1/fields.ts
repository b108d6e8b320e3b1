/** Parses the field lines of messages (RFC 9112 section 5) strictly, into positions in the bytes. */

// The characters of HTTP/1.1 heads, as bytes.

export const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const COLON = 0x3a;

const TOKEN = 1;
const VALUE = 2;
const TARGET = 4;

const classes = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  // Bytes from 0x80 up are allowed in targets and values: the standard does not allow them, but all parsers agree on
  // them.
  const isVisible = byte > SPACE && byte !== 0x7f;
  const isToken = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte));
  // A target has no fragment.
  const isTarget = isVisible && byte !== 0x23;
  const isValue = isVisible || byte === SPACE || byte === TAB;
  classes[byte] = (isToken ? TOKEN : 0) | (isValue ? VALUE : 0) | (isTarget ? TARGET : 0);
}

/** One past the last byte of a token that begins at `start` (RFC 9110 section 5.6.2); `start` without a token. */
export function tokenEnd(bytes: Buffer, start: number): number {
  return endOf(TOKEN, bytes, start);
}

/** One past the last byte that a field value or a reason phrase may contain (RFC 9110 section 5.5). */
export function valueEnd(bytes: Buffer, start: number): number {
  return endOf(VALUE, bytes, start);
}

/** One past the last byte of a request target. */
export function targetEnd(bytes: Buffer, start: number): number {
  return endOf(TARGET, bytes, start);
}

function endOf(wanted: number, bytes: Buffer, start: number): number {
  const { length } = bytes;
  let position = start;
  while (position < length && ((classes[bytes[position] ?? 0] ?? 0) & wanted) !== 0) position += 1;
  return position;
}

/** Whether CR and LF are at the position. */
export function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF;
}

/**
 * Which lines are accepted. `strict`: those that end in CRLF. `lenient`: also those that end in LF alone, as many small
 * services write them; they are passed on with CRLF. A CR elsewhere is in neither case part of a line.
 */
export type LineRules = 'strict' | 'lenient';

/**
 * One past the first empty line that follows another line, or 0 if there is none.
 *
 * @param from the first three bytes before it were searched already
 */
export function endOfLines(bytes: Buffer, from: number, rules: LineRules): number {
  if (rules === 'strict') {
    const at = bytes.indexOf('\r\n\r\n', from, 'latin1');
    return at === -1 ? 0 : at + 4;
  }
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (isLineEnd(bytes, at + 1)) return at + 3;
  }
  return 0;
}

/** The same lines, each with CRLF at its end. */
export function withLineEnds(bytes: Buffer): Buffer {
  const pieces: Uint8Array[] = [];
  let start = 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] === CR) continue;
    pieces.push(bytes.subarray(start, at), LINE_END);
    start = at + 1;
  }
  return start === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(start)]);
}

/** No Buffer, which the window in a browser does not have: it loads this file for the names of fields. */
const LINE_END = Uint8Array.of(CR, LF);

/** Whether the bytes at a position equal a text, ignoring case; the text must be in lower case. */
export function equalsIgnoringCase(bytes: Buffer, start: number, end: number, lower: string): boolean {
  if (end - start !== lower.length) return false;
  for (let index = 0; index < lower.length; index++) {
    const byte = bytes[start + index] ?? 0;
    const isUpper = byte >= 0x41 && byte <= 0x5a;
    if ((isUpper ? byte + 0x20 : byte) !== lower.charCodeAt(index)) return false;
  }
  return true;
}

/** The positions of a field line and its parts. */
interface FieldPlace {
  readonly bytes: Buffer;
  /** start of the line, which is its name */
  readonly start: number;
  readonly nameEnd: number;
  /** start of the value, without the white space around it */
  readonly valueStart: number;
  readonly valueEnd: number;
  /** one past the CRLF of the line */
  readonly end: number;
}

/** One field line. Strings are created on demand, because most fields are only passed on. */
export class Field {
  readonly #bytes: Buffer;
  /** Start of the line, which is its name. */
  readonly start: number;
  readonly #nameEnd: number;
  readonly #valueStart: number;
  readonly #valueEnd: number;
  /** One past the CRLF of the line. */
  readonly end: number;

  constructor({ bytes, start, nameEnd, valueStart, valueEnd: valueStop, end }: FieldPlace) {
    this.#bytes = bytes;
    this.start = start;
    this.#nameEnd = nameEnd;
    this.#valueStart = valueStart;
    this.#valueEnd = valueStop;
    this.end = end;
  }

  /** as sent */
  get name(): string {
    return this.#bytes.toString('latin1', this.start, this.#nameEnd);
  }

  /** length of the name in bytes */
  get nameLength(): number {
    return this.#nameEnd - this.start;
  }

  /** The byte of the name at that index, with letters in lower case. */
  letter(index: number): number {
    return (this.#bytes[this.start + index] ?? 0) | 0x20;
  }

  /** Whether the name begins with this text, which must be in lower case. */
  begins(lower: string): boolean {
    const end = this.start + lower.length;
    return end <= this.#nameEnd && equalsIgnoringCase(this.#bytes, this.start, end, lower);
  }

  /** the name in lower case */
  get lower(): string {
    return this.name.toLowerCase();
  }

  /** without the white space around it */
  get value(): string {
    return this.#bytes.toString('latin1', this.#valueStart, this.#valueEnd);
  }

  /** Whether the line has the usual form `name: value`, without other white space. */
  get isPlain(): boolean {
    return this.#valueStart === this.#nameEnd + 2 && this.end === this.#valueEnd + 2 && this.#hasSpace;
  }

  /** Whether this is the name, given in lower case. */
  is(lower: string): boolean {
    return equalsIgnoringCase(this.#bytes, this.start, this.#nameEnd, lower);
  }

  /** Whether the value equals this text, ignoring case; the text must be in lower case. */
  hasValue(lower: string): boolean {
    return equalsIgnoringCase(this.#bytes, this.#valueStart, this.#valueEnd, lower);
  }

  get #hasSpace(): boolean {
    return this.#bytes[this.#nameEnd + 1] === SPACE;
  }
}

/**
 * Parses field lines up to and including the final empty line, which must be the end of the bytes.
 *
 * @param start start of the first line
 * @returns `undefined` if a line is malformed
 */
export function parseFields(bytes: Buffer, start: number): Field[] | undefined {
  const fields: Field[] = [];
  const last = bytes.length - 2;
  let position = start;
  while (position < last) {
    const field = parseField(bytes, position);
    if (field === undefined) return undefined;
    fields.push(field);
    position = field.end;
  }
  return position === last && isLineEnd(bytes, last) ? fields : undefined;
}

function parseField(bytes: Buffer, start: number): Field | undefined {
  const nameEnd = tokenEnd(bytes, start);
  if (nameEnd === start || bytes[nameEnd] !== COLON) return undefined;
  let from = nameEnd + 1;
  const lineEnd = valueEnd(bytes, from);
  if (!isLineEnd(bytes, lineEnd)) return undefined;
  while (from < lineEnd && isBlank(bytes[from])) from += 1;
  // HTTP has only these two white space characters; JavaScript would also trim others, such as 0xa0.
  let to = lineEnd;
  while (to > from && isBlank(bytes[to - 1])) to -= 1;
  return new Field({ bytes, start, nameEnd, valueStart: from, valueEnd: to, end: lineEnd + 2 });
}

/** Whether it is one of the two white space characters of HTTP. */
export function isBlank(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB;
}

/** The value of the first field of that name; the name must be in lower case. */
export function fieldValue(fields: readonly Field[], lower: string): string | undefined {
  for (const field of fields) if (field.is(lower)) return field.value;
  return undefined;
}

/**
 * The members of a comma-separated list field, in lower case, with all its lines combined (RFC 9110 section 5.6.1).
 * Only for lists of tokens: a quoted comma would be treated as a separator.
 */
export function listMembers(fields: readonly Field[], lower: string): string[] {
  const members: string[] = [];
  for (const field of fields) if (field.is(lower)) addMembers(members, field.value.toLowerCase());
  return members;
}

/** Looks at each character at most twice: a hostile list has thousands of members, and every head has some list. */
function addMembers(members: string[], value: string): void {
  let start = 0;
  while (start < value.length) {
    const comma = value.indexOf(',', start);
    let to = comma === -1 ? value.length : comma;
    let from = start;
    start = to + 1;
    while (from < to && isBlank(value.charCodeAt(from))) from += 1;
    while (to > from && isBlank(value.charCodeAt(to - 1))) to -= 1;
    if (from < to) members.push(value.slice(from, to));
  }
}

const TAG = /"[^"]*"|[()]|<([^<>]*)>/g;

/**
 * Replaces the addresses in angle brackets in a `Link` field (RFC 8288 section 3), or an `If` field (RFC 4918 section
 * 10.4.2), where those in parentheses are no addresses.
 */
export function mapTags(value: string, map: (address: string) => string): string {
  let isInside = false;
  return value.replace(TAG, (all: string, address?: string) => {
    if (address === undefined) isInside = all === '(' || (isInside && all !== ')');
    return address === undefined || isInside ? all : `<${map(address)}>`;
  });
}

/** End of the bytes written into {@link joined}'s own memory; the rest of that memory is unused. */
const ends = new WeakMap<ArrayBufferLike, number>();

/** Size of the smallest allocation in bytes. */
const ROOM_MIN = 512;

/**
 * Joins bytes that arrive in pieces, and copies each byte only a few times, even for tiny pieces: the result has spare
 * memory after it, which the next call with that result, or with the end of it, uses.
 *
 * @param held the bytes so far; must not be joined to anything else afterwards
 * @returns the joined bytes
 */
export function joined(held: Buffer, piece: Buffer): Buffer {
  const size = held.length + piece.length;
  const end = held.byteOffset + held.length;
  const hasRoom = ends.get(held.buffer) === end && end + piece.length <= held.buffer.byteLength;
  const all = hasRoom
    ? Buffer.from(held.buffer, held.byteOffset, size)
    : Buffer.allocUnsafeSlow(Math.max(2 * size, ROOM_MIN)).subarray(0, size);
  if (!hasRoom) held.copy(all);
  piece.copy(all, held.length);
  ends.set(all.buffer, all.byteOffset + size);
  return all;
}

/** Content negotiation between the two formats of Culvert's own responses (RFC 9110 section 12.5.1). */

const QUALITY = /;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)/i;

/**
 * Whether the visitor prefers HTML to JSON, according to its `Accept` field. A visitor that accepts neither gets JSON.
 */
export function prefersHtml(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const html = quality(accept, ['text/html', 'application/xhtml+xml', 'text/*']);
  return html > 0 && html >= quality(accept, ['application/json', 'application/*']);
}

function quality(accept: string, types: readonly string[]): number {
  let best = 0;
  for (const range of accept.toLowerCase().split(',')) {
    const type = (range.split(';', 1)[0] ?? '').trim();
    if (types.includes(type)) best = Math.max(best, Number(QUALITY.exec(range)?.[1] ?? 1));
  }
  return best;
}

/* Parses request cookies as browsers send them (RFC 6265bis section 5.8.4). */

/** @returns the values of all cookies of that name, in order: a sibling host may have set another one */
export function cookieValues(fields: readonly Field[], name: string): string[] {
  return fields.flatMap((field) => (field.is('cookie') ? cookiesIn(field.value, name) : []));
}

/** @returns the same from the value of one `Cookie` field */
export function cookiesIn(text: string, name: string): string[] {
  if (!text.includes(name)) return [];
  const pairs = text.split(';').filter((pair) => cookieName(pair) === name);
  return pairs.map((pair) => pair.slice(pair.indexOf('=') + 1).trim());
}

/** @returns the name in a `name=value` of a `Cookie` or `Set-Cookie` field */
export function cookieName(pair: string): string {
  const end = pair.indexOf('=');
  return (end === -1 ? pair : pair.slice(0, end)).trim();
}
