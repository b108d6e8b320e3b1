/**
 * HPACK (RFC 7541) for the relay's side of a connection: reads the heads of requests, and writes those of responses.
 * A field is checked once, when it enters a table: a visitor names most fields of a request by their index.
 */
import { CONNECTION_FIELDS } from '../../../shared/http1/hop-by-hop.ts';
import { decodeHuffman, encodeHuffman, huffmanLength } from './huffman.ts';

/** What a field of a request is to the request. */
export type FieldKind =
  | 'plain'
  | 'method'
  | 'scheme'
  | 'authority'
  | 'path'
  | 'host'
  | 'cookie'
  | 'length'
  | 'accept'
  | 'priority'
  | 'protocol'
  | 'websocket-key'
  /** makes the message malformed (RFC 9113 sections 8.2 and 8.3) */
  | 'malformed';

/** A field of a request, one character per byte. */
export interface HeaderField {
  readonly name: string;
  readonly value: string;
  readonly kind: FieldKind;
  /** as HTTP/1.1 has it, with its line end; empty for a malformed field and for a pseudo-field */
  readonly line: string;
}

/** Bytes that a field counts for in addition to its name and its value (RFC 7541 section 4.1). */
const OVERHEAD = 32;
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** Without blanks at its ends (RFC 9113 section 8.2.1). */
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/;
const KINDS: ReadonlyMap<string, FieldKind> = new Map([
  [':method', 'method'],
  [':scheme', 'scheme'],
  [':authority', 'authority'],
  [':path', 'path'],
  ['host', 'host'],
  ['cookie', 'cookie'],
  ['content-length', 'length'],
  ['accept', 'accept'],
  ['priority', 'priority'],
  [':protocol', 'protocol'],
  ['sec-websocket-key', 'websocket-key'],
]);

/** The name and the value of a field, judged as a field of a request. */
export function headerField(name: string, value: string): HeaderField {
  const kind = KINDS.get(name) ?? 'plain';
  if (name.charCodeAt(0) === 0x3a)
    return { name, value, kind: kind === 'plain' ? 'malformed' : kind, line: '' };
  if (!isField(name, value)) return { name, value, kind: 'malformed', line: '' };
  return { name, value, kind, line: `${name}: ${value}\r\n` };
}

/** Whether a field may stand in an HTTP/2 message: no pseudo-field, and nothing that only HTTP/1.1 has. */
function isField(name: string, value: string): boolean {
  if (!NAME.test(name) || !VALUE.test(value) || CONNECTION_FIELDS.has(name)) return false;
  return name !== 'te' || value === 'trailers';
}

/** How much of a table a field takes, and of a head (RFC 9113 section 6.5.2). */
export function sizeOf({ name, value }: Pick<HeaderField, 'name' | 'value'>): number {
  return name.length + value.length + OVERHEAD;
}

/* The static table (RFC 7541 appendix A). */

const STATIC_PAIRS: readonly (readonly [name: string, value: string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...(
    'accept-language accept-ranges accept access-control-allow-origin age allow authorization cache-control ' +
    'content-disposition content-encoding content-language content-length content-location content-range ' +
    'content-type cookie date etag expect expires from host if-match if-modified-since if-none-match if-range ' +
    'if-unmodified-since last-modified link location max-forwards proxy-authenticate proxy-authorization range ' +
    'referer refresh retry-after server set-cookie strict-transport-security transfer-encoding user-agent vary via ' +
    'www-authenticate'
  )
    .split(' ')
    .map((name) => [name, ''] as const),
];
const STATIC = STATIC_PAIRS.map(([name, value]) => headerField(name, value));

/* Fields that were sent before, newest first (RFC 7541 section 2.3.2). */

/** Size of a dynamic table that either side keeps, in bytes: the default of RFC 9113 section 6.5.2. */
export const TABLE_BYTES = 4096;
/** No table holds more fields than this: a power of two. */
const SLOTS = TABLE_BYTES / OVERHEAD;

class DynamicTable<F extends Pick<HeaderField, 'name' | 'value'>> {
  readonly #slots: (F | undefined)[] = [];
  readonly #onEvicted: ((field: F) => void) | undefined;
  #inserted = 0;
  #count = 0;
  #size = 0;
  #max = TABLE_BYTES;

  constructor(onEvicted?: (field: F) => void) {
    this.#onEvicted = onEvicted;
  }

  /** how many fields were ever inserted */
  get inserted(): number {
    return this.#inserted;
  }

  get max(): number {
    return this.#max;
  }

  /** @param index 0 is the newest */
  at(index: number): F | undefined {
    return index < this.#count ? this.#slots[(this.#inserted - 1 - index) % SLOTS] : undefined;
  }

  /** @returns whether it fits; a field that does not empties the table (RFC 7541 section 4.4) */
  insert(field: F): boolean {
    const size = sizeOf(field);
    this.#shrinkTo(Math.max(0, this.#max - size));
    if (size > this.#max) return false;
    this.#slots[this.#inserted % SLOTS] = field;
    this.#inserted += 1;
    this.#count += 1;
    this.#size += size;
    return true;
  }

  resize(max: number): void {
    this.#max = max;
    this.#shrinkTo(max);
  }

  #shrinkTo(size: number): void {
    while (this.#size > size) {
      const oldest = (this.#inserted - this.#count) % SLOTS;
      const field = this.#slots[oldest];
      if (field === undefined) return;
      this.#slots[oldest] = undefined;
      this.#count -= 1;
      this.#size -= sizeOf(field);
      this.#onEvicted?.(field);
    }
  }
}

/* Reading */

/** A block of fields that violates HPACK, which ends the connection (RFC 7541 section 2.1, RFC 9113 section 4.3). */
export class CompressionError extends Error {}

/** An integer that needs more bytes is longer than any block. */
const INTEGER_SHIFT_MAX = 21;

export class HeaderDecoder {
  readonly #table = new DynamicTable<HeaderField>();
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;

  /**
   * Reads a whole block.
   *
   * @param onField gets each field in order
   * @throws CompressionError
   */
  decode(block: Buffer, onField: (field: HeaderField) => void): void {
    this.#bytes = block;
    this.#at = 0;
    let mayResize = true;
    while (this.#at < block.length) {
      const byte = block[this.#at] ?? 0;
      if (byte >= 0x80) onField(this.#fieldAt(this.#integer(7)));
      else if (byte >= 0x40) onField(this.#literal(6, true));
      else if (byte >= 0x20) {
        if (!mayResize) throw new CompressionError('a change of size within a block');
        this.#resize();
        continue;
      } else onField(this.#literal(4, false));
      mayResize = false;
    }
  }

  #resize(): void {
    const max = this.#integer(5);
    if (max > TABLE_BYTES) throw new CompressionError('a table above its limit');
    this.#table.resize(max);
  }

  #literal(prefixBits: number, isIndexed: boolean): HeaderField {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#text() : this.#fieldAt(index).name;
    const field = headerField(name, this.#text());
    if (isIndexed) this.#table.insert(field);
    return field;
  }

  #fieldAt(index: number): HeaderField {
    const field = index <= STATIC.length ? STATIC[index - 1] : this.#table.at(index - STATIC.length - 1);
    if (field === undefined) throw new CompressionError('no field has this index');
    return field;
  }

  /** RFC 7541 section 5.1. */
  #integer(prefixBits: number): number {
    const mask = 2 ** prefixBits - 1;
    const first = this.#bytes[this.#at++];
    if (first === undefined) throw new CompressionError('a block that breaks off');
    let value = first & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= INTEGER_SHIFT_MAX; shift += 7) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new CompressionError('an integer without an end');
  }

  /** RFC 7541 section 5.2. */
  #text(): string {
    const isHuffman = (this.#bytes[this.#at] ?? 0) >= 0x80;
    const length = this.#integer(7);
    const start = this.#at;
    const end = start + length;
    if (end > this.#bytes.length) throw new CompressionError('a text beyond its block');
    this.#at = end;
    if (!isHuffman) return this.#bytes.toString('latin1', start, end);
    const text = decodeHuffman(this.#bytes, start, end);
    if (text === undefined) throw new CompressionError('an invalid Huffman code');
    return text;
  }
}

/* Writing */

/** Fields whose values differ in nearly every response: they would only push others out of the table. */
const VARYING: ReadonlySet<string> = new Set(
  (
    'content-length content-range etag last-modified location age expires link content-md5 digest content-digest ' +
    'repr-digest x-request-id traceparent server-timing'
  ).split(' '),
);
/** Fields with secrets, which no intermediary may index either (RFC 7541 section 7.1.3). */
const SECRET: ReadonlySet<string> = new Set(['set-cookie', 'authorization', 'proxy-authorization']);
/** Longer values are seldom repeated, and take much of the table. */
const INDEXED_VALUE_MAX = 256;

const STATIC_NAMES = new Map<string, number>();
const STATIC_FIELDS = new Map<string, number>();
for (const [index, [name, value]] of STATIC_PAIRS.entries()) {
  if (!STATIC_NAMES.has(name)) STATIC_NAMES.set(name, index + 1);
  if (value !== '') STATIC_FIELDS.set(`${name}\0${value}`, index + 1);
}

interface SentField {
  readonly name: string;
  readonly value: string;
  readonly key: string;
}

export class HeaderEncoder {
  /** by name and value: the number of the insertion */
  readonly #known = new Map<string, number>();
  readonly #table = new DynamicTable<SentField>(({ key }) => this.#known.delete(key));
  /** the least size that was set since the last block, and the one set last */
  #resized: { least: number; last: number } | undefined;
  #bytes = Buffer.allocUnsafeSlow(1024);
  #at = 0;

  /** The visitor keeps a table of this size (RFC 9113 section 6.5.2). The next block announces it. */
  resize(bytes: number): void {
    const last = Math.min(bytes, TABLE_BYTES);
    if (this.#resized === undefined && last === this.#table.max) return;
    this.#resized = { least: Math.min(last, this.#resized?.least ?? last), last };
  }

  /** Starts a block. */
  begin(): void {
    this.#at = 0;
    if (this.#resized === undefined) return;
    const { least, last } = this.#resized;
    this.#resized = undefined;
    for (const size of least < last ? [least, last] : [last]) {
      this.#table.resize(size);
      this.#reserve(8);
      this.#integer(0x20, 5, size);
    }
  }

  /** Adds a field; the name in lower case, both one character per byte. */
  add(name: string, value: string): void {
    this.#reserve(name.length + value.length + 24);
    const key = `${name}\0${value}`;
    const known = this.#indexOf(key);
    if (known !== undefined) return this.#integer(0x80, 7, known);
    const nameIndex = STATIC_NAMES.get(name) ?? 0;
    if (SECRET.has(name)) this.#integer(0x10, 4, nameIndex);
    else if (VARYING.has(name) || value.length > INDEXED_VALUE_MAX) this.#integer(0, 4, nameIndex);
    else {
      this.#integer(0x40, 6, nameIndex);
      if (this.#table.insert({ name, value, key })) this.#known.set(key, this.#table.inserted);
    }
    if (nameIndex === 0) this.#text(name);
    this.#text(value);
  }

  /** @returns the block, to be sent before the next one begins */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#at));
  }

  #indexOf(key: string): number | undefined {
    const fixed = STATIC_FIELDS.get(key);
    if (fixed !== undefined) return fixed;
    const inserted = this.#known.get(key);
    return inserted === undefined ? undefined : STATIC.length + 1 + this.#table.inserted - inserted;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#at + bytes));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }

  #integer(first: number, prefixBits: number, value: number): void {
    const mask = 2 ** prefixBits - 1;
    if (value < mask) {
      this.#bytes[this.#at++] = first | value;
      return;
    }
    this.#bytes[this.#at++] = first | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest >>>= 7) this.#bytes[this.#at++] = (rest & 0x7f) | 0x80;
    this.#bytes[this.#at++] = rest;
  }

  #text(text: string): void {
    const coded = huffmanLength(text);
    if (coded < text.length) {
      this.#integer(0x80, 7, coded);
      this.#at = encodeHuffman(text, this.#bytes, this.#at);
    } else {
      this.#integer(0, 7, text.length);
      this.#at += this.#bytes.write(text, this.#at, 'latin1');
    }
  }
}
