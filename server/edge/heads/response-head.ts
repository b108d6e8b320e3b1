/** The response head as the visitor receives it (RFC 9110 section 7.6; docs/protocol.md section 4.3). */
import { STATUS_CODES } from 'node:http';
import { SPACE } from '../../../shared/http1/characters.ts';
import type { Field } from '../../../shared/http1/fields.ts';
import { HeadWriter } from '../../../shared/http1/head-writer.ts';
import { fieldsStart, type ResponseHead } from '../../../shared/http1/head.ts';
import { isHopByHop, namedByConnection } from '../../../shared/http1/hop-by-hop.ts';
import { steersProxy } from '../../../shared/http1/proxy-fields.ts';

/** What is written after the fields of every final response, for a connection that stays open and for one that ends. */
export interface ResponseEnding {
  readonly stays: string;
  readonly ends: string;
}

export const PLAIN_ENDING: ResponseEnding = { stays: '\r\n', ends: 'Connection: close\r\n\r\n' };

/** Writes more fields, each a whole line, before an ending. */
export function endingWith(lines: string, { stays, ends }: ResponseEnding): ResponseEnding {
  return { stays: lines + stays, ends: lines + ends };
}

/**
 * Keeps what tunnels show out of search engines: they follow the strictest of several rules, so a service cannot take it
 * back.
 */
export const NOINDEX_ENDING: ResponseEnding = endingWith('X-Robots-Tag: noindex\r\n', PLAIN_ENDING);

/**
 * `coding`: `Transfer-Encoding` and `Trailer`, where the body is sent without its chunks or not at all. `length`:
 * `Content-Length` too, where there cannot be a body: some parsers would wait for one, or take the next response for it.
 */
export type Omission = 'nothing' | 'coding' | 'length';

export interface ResponseOptions {
  /** Whether the connection ends with this response. */
  readonly close: boolean;
  readonly ending: ResponseEnding;
  /** Which fields about the length of the body do not apply to what the visitor receives. */
  readonly omits: Omission;
  /** Keeps a tunnel's fields from affecting others; `undefined` where all fields pass. */
  readonly mapField: FieldMap | undefined;
}

/** Returns a field that passes as it is, a new value for it, or `undefined` to drop it. */
export type FieldMap = (field: Field) => Field | string | undefined;

/** Room for what is written besides the fields that are kept. */
const EXTRA = 96;
/** Bytes of `HTTP/1.1 200`. */
const STATUS_END = 12;

/**
 * Writes a final response head.
 *
 * @param body bytes that go out after it, in one piece with it
 */
export function finalResponseHead(head: ResponseHead, options: ResponseOptions, body: Buffer): Buffer {
  const { close, ending, omits, mapField } = options;
  const named = namedByConnection(head.fields);
  const writer = startResponse(head, body);
  // A 426 exists to say which protocol is wanted (RFC 9110 section 15.5.22).
  const wantsUpgrade = head.status === 426;
  for (const field of head.fields) {
    if (wantsUpgrade && field.is('upgrade')) {
      writer.text('Connection: Upgrade\r\n');
      writer.keepField(field);
      continue;
    }
    if (!isDropped(field, named, omits)) writeField(writer, field, mapField);
  }
  // The only one without a body that still says so (RFC 9110 section 15.3.6).
  if (head.status === 205) writer.text('Content-Length: 0\r\n');
  writer.text(close ? ending.ends : ending.stays);
  return withBody(writer, body);
}

/**
 * Writes an interim response (1xx), or the 101 that accepts a WebSocket.
 *
 * @param rest bytes that go out after it, in one piece with it
 */
export function interimResponseHead(
  head: ResponseHead,
  mapField: FieldMap | undefined,
  rest: Buffer,
): Buffer {
  const named = namedByConnection(head.fields);
  const switches = head.status === 101;
  const writer = startResponse(head, rest);
  for (const field of head.fields) {
    if (field.is('upgrade') ? !switches : isDropped(field, named, 'length')) continue;
    writeField(writer, field, mapField);
  }
  writer.text(switches ? 'Connection: Upgrade\r\n\r\n' : '\r\n');
  return withBody(writer, rest);
}

/**
 * Writes the final response to a preflight without credentials: the status, the fields that answer it (Fetch Standard section
 * 4.8), and no body. Everything else is for visitors who have access.
 */
export function preflightResponseHead(
  { bytes, fields, status }: ResponseHead,
  { close, ending }: Pick<ResponseOptions, 'close' | 'ending'>,
): Buffer {
  const named = namedByConnection(fields);
  const writer = new HeadWriter(bytes, EXTRA);
  // The service also chooses the reason phrase.
  writer.text(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`);
  for (const field of fields)
    if (answersPreflight(field) && !isHopByHop(field, named)) writer.keepField(field);
  // Those two have none (RFC 9110 section 8.6).
  if (status !== 204 && status !== 304) writer.text('Content-Length: 0\r\n');
  writer.text(close ? ending.ends : ending.stays);
  return writer.end();
}

function answersPreflight(field: Field): boolean {
  return field.begins('access-control-') || field.is('vary') || field.is('allow');
}

/**
 * Fields that override `Cache-Control` for some caches (RFC 9213 section 3, and older ones of CDNs), and so would override the
 * `private` that the relay adds.
 */
const TARGETED = /^(?:surrogate|edge)-control$|.cache-control$|cache-ttl$/;

/** Maps the fields of a tunnel with an access policy, so that only `Cache-Control` directs caches. */
export function directsNoCache(next: FieldMap | undefined): FieldMap {
  return (field) => {
    // Caches that are configured to ignore `Cache-Control` follow it.
    if (field.is('expires')) return '0';
    if (field.letter(field.nameLength - 1) === LETTER_L && TARGETED.test(field.lower)) return undefined;
    return next === undefined ? field : next(field);
  };
}

const LETTER_L = 0x6c;

/** Writes the status line, with the relay's own HTTP version, as a proxy must (RFC 9110 section 6.2). */
function startResponse(head: ResponseHead, body: Buffer): HeadWriter {
  const { bytes, minor, status } = head;
  const writer = new HeadWriter(bytes, EXTRA + body.length);
  if (minor === 1 && bytes[STATUS_END] === SPACE) {
    writer.keep(0, fieldsStart(head));
  } else {
    writer.text(`HTTP/1.1 ${status} `);
    writer.keep(bytes[STATUS_END] === SPACE ? STATUS_END + 1 : STATUS_END, fieldsStart(head));
  }
  return writer;
}

function withBody(writer: HeadWriter, body: Buffer): Buffer {
  if (body.length > 0) writer.bytes(body);
  return writer.end();
}

function writeField(writer: HeadWriter, field: Field, mapField: FieldMap | undefined): void {
  const mapped = mapField === undefined ? field : mapField(field);
  if (typeof mapped === 'string') writer.text(`${field.name}: ${mapped}\r\n`);
  else if (mapped !== undefined) writer.keepField(mapped);
}

function isDropped(field: Field, named: ReadonlySet<string>, omits: Omission): boolean {
  return isHopByHop(field, named) || steersProxy(field) || isOmitted(field, omits);
}

function isOmitted(field: Field, omits: Omission): boolean {
  if (omits === 'nothing') return false;
  if (field.is('transfer-encoding') || field.is('trailer')) return true;
  return omits === 'length' && field.is('content-length');
}
