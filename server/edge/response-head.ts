/** The head of a response as its visitor receives it (RFC 9110 section 7.6; protocol.md section 4.3). */
import { type Field, SPACE } from '../../shared/http1/fields.ts';
import { fieldsStart, HeadWriter, type ResponseHead } from '../../shared/http1/head.ts';
import { isHopByHop, namedByConnection, steersVisitors } from '../../shared/http1/hop-by-hop.ts';

/** What the fields of a response are written to: a head of HTTP/1.1, or a message. */
type HeadTarget = Pick<HeadWriter, 'keepField' | 'text'>;

/** Written after the fields of every final response, for a connection that stays open and for one that ends. */
export interface ResponseEnding {
  readonly stays: string;
  readonly ends: string;
}

export const PLAIN_ENDING: ResponseEnding = { stays: '\r\n', ends: 'Connection: close\r\n\r\n' };

/** Prepends more fields, each a whole line, to an ending. */
export function endingWith(lines: string, { stays, ends }: ResponseEnding): ResponseEnding {
  return { stays: lines + stays, ends: lines + ends };
}

/** Keeps tunnels out of search engines: they follow the strictest of several rules, so a service cannot revoke it. */
export const NOINDEX_ENDING: ResponseEnding = endingWith('X-Robots-Tag: noindex\r\n', PLAIN_ENDING);

/**
 * `coding`: `Transfer-Encoding` and `Trailer`, if the body is sent without its chunks or not at all. `length`: also
 * `Content-Length`, if there cannot be a body: some parsers would wait for one, or treat the next response as it.
 */
export type Omission = 'nothing' | 'coding' | 'length';

interface ResponseOptions {
  /** Whether the connection ends with this response. */
  readonly close: boolean;
  readonly ending: ResponseEnding;
  /** Fields about the length of the body that do not apply to the response that the visitor gets. */
  readonly omits: Omission;
  /** Keeps a tunnel's fields from affecting others; `undefined` if all fields pass. */
  readonly mapField: FieldMap | undefined;
}

/** Returns a field that passes unchanged, a new value for it, or `undefined` to drop it. */
export type FieldMap = (field: Field) => Field | string | undefined;

/** Space for additions to the fields that are kept. */
const EXTRA = 96;
/** Length of `HTTP/1.1 200`. */
const STATUS_END = 12;

/** Writes the fields of a final response, up to the end of the head. */
export function writeFinal(target: HeadTarget, head: ResponseHead, options: ResponseOptions): void {
  const { close, ending, omits, mapField } = options;
  const named = namedByConnection(head.fields);
  // A 426 exists to name the required protocol (RFC 9110 section 15.5.22).
  const wantsUpgrade = head.status === 426;
  for (const field of head.fields) {
    if (wantsUpgrade && field.is('upgrade')) {
      target.text('Connection: Upgrade\r\n');
      target.keepField(field);
      continue;
    }
    if (!isDropped(field, named, omits)) writeField(target, field, mapField);
  }
  // The only status without a body that still needs a length (RFC 9110 section 15.3.6).
  if (head.status === 205) target.text('Content-Length: 0\r\n');
  target.text(close ? ending.ends : ending.stays);
}

/** Writes the fields of an informational response (1xx), or of the 101 that accepts a WebSocket. */
export function writeInformational(
  target: HeadTarget,
  head: ResponseHead,
  mapField: FieldMap | undefined,
): void {
  const named = namedByConnection(head.fields);
  const switches = head.status === 101;
  for (const field of head.fields) {
    if (field.is('upgrade') ? !switches : isDropped(field, named, 'length')) continue;
    writeField(target, field, mapField);
  }
  target.text(switches ? 'Connection: Upgrade\r\n\r\n' : '\r\n');
}

/**
 * Writes the fields of the final response to a preflight without credentials: those that answer it (Fetch Standard section
 * 4.8). Everything else is for visitors who have access.
 */
export function writePreflight(
  target: HeadTarget,
  { fields, status }: ResponseHead,
  { close, ending }: Pick<ResponseOptions, 'close' | 'ending'>,
): void {
  const named = namedByConnection(fields);
  for (const field of fields)
    if (answersPreflight(field) && !isHopByHop(field, named)) target.keepField(field);
  // These two have no length (RFC 9110 section 8.6).
  if (status !== 204 && status !== 304) target.text('Content-Length: 0\r\n');
  target.text(close ? ending.ends : ending.stays);
}

function answersPreflight(field: Field): boolean {
  return field.begins('access-control-') || field.is('vary') || field.is('allow');
}

/**
 * Fields that override `Cache-Control` for some caches (RFC 9213 section 3, and older ones of CDNs), and so would
 * override the `private` that the relay adds.
 */
const TARGETED = /^(?:surrogate|edge)-control$|.cache-control$|cache-ttl$/;

/** Maps the fields of a tunnel with an access policy, so that only `Cache-Control` directs caches, and private ones. */
export function directsNoCache(next: FieldMap | undefined): FieldMap {
  return (field) => {
    // Caches that are configured to ignore `Cache-Control` obey it.
    if (field.is('expires')) return '0';
    if (field.is('cache-control')) return forPrivateCaches(field);
    if (field.letter(field.nameLength - 1) === LETTER_L && TARGETED.test(field.lower)) return undefined;
    return next === undefined ? field : next(field);
  };
}

const LETTER_L = 0x6c;

const SHARED_CACHES = /^\s*(?:public|s-maxage|private)\s*(?:=|$)/i;
/** A directive, whose argument may be quoted (RFC 9111 section 5.2). */
const DIRECTIVE = /(?:"(?:[^"\\]|\\.)*"|[^",])+/g;
const ESCAPED = /\\./g;
/** Real values have a few dozen characters. */
const DIRECTIVES_MAX_LENGTH = 1000;

/**
 * Removes what permits shared caches to store a response beside the `private` that the relay adds: some caches obey the
 * first directive that they know. A `private` of the service may name fields, and then allows the rest.
 */
function forPrivateCaches(field: Field): Field | string | undefined {
  const { value } = field;
  const isMalformed = value.replaceAll(ESCAPED, '').split('"').length % 2 === 0;
  if (isMalformed || value.length > DIRECTIVES_MAX_LENGTH) return undefined;
  const directives = value.match(DIRECTIVE) ?? [];
  const left = directives.filter((directive) => !SHARED_CACHES.test(directive));
  if (left.length === directives.length) return field;
  return left.length === 0 ? undefined : left.map((directive) => directive.trim()).join(', ');
}

/**
 * Writes the status line with the relay's own HTTP version, as a proxy must (RFC 9110 section 6.2).
 *
 * @param reason instead of that of the service
 */
export function startResponse(head: ResponseHead, body: Buffer, reason?: string): HeadWriter {
  const { bytes, minor, status } = head;
  const writer = new HeadWriter(bytes, EXTRA + body.length);
  if (reason !== undefined) {
    writer.text(`HTTP/1.1 ${status} ${reason}\r\n`);
  } else if (minor === 1 && bytes[STATUS_END] === SPACE) {
    writer.keep(0, fieldsStart(head));
  } else {
    writer.text(`HTTP/1.1 ${status} `);
    writer.keep(bytes[STATUS_END] === SPACE ? STATUS_END + 1 : STATUS_END, fieldsStart(head));
  }
  return writer;
}

export function withBody(writer: HeadWriter, body: Buffer): Buffer {
  if (body.length > 0) writer.bytes(body);
  return writer.end();
}

function writeField(target: HeadTarget, field: Field, mapField: FieldMap | undefined): void {
  const mapped = mapField === undefined ? field : mapField(field);
  if (typeof mapped === 'string') target.text(`${field.name}: ${mapped}\r\n`);
  else if (mapped !== undefined) target.keepField(mapped);
}

function isDropped(field: Field, named: ReadonlySet<string>, omits: Omission): boolean {
  return isHopByHop(field, named) || steersVisitors(field) || isOmitted(field, omits);
}

function isOmitted(field: Field, omits: Omission): boolean {
  if (omits === 'nothing') return false;
  if (field.is('transfer-encoding') || field.is('trailer')) return true;
  return omits === 'length' && field.is('content-length');
}
