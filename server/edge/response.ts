/**
 * Passes one response from a stream on to its visitor: informational heads, the final head, and the body to its end.
 */
import { STATUS_CODES } from 'node:http';
import {
  BodyError,
  type BodyTracker,
  type Framing,
  responseFraming,
  trackBody,
  trackServiceBody,
} from '../../shared/http1/body.ts';
import { SPACE, type Field, fieldValue, listMembers } from '../../shared/http1/fields.ts';
import {
  fieldsStart,
  HeadReader,
  HeadWriter,
  parseServiceHead,
  refusedLine,
  type ResponseHead,
} from '../../shared/http1/head.ts';
import { isHopByHop, namedByConnection, steersVisitors } from '../../shared/http1/hop-by-hop.ts';
import type { Peer } from './request-head.ts';
import type { ParsedRequest } from './route.ts';
import type { VisitorSocket } from './visitor-socket.ts';

/**
 * @limit Maximum size of the headers of a local service's response. Generous, because cookies and policies of
 * development servers grow large.
 */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;
/**
 * @limit Maximum number of header fields in a local service's response. One policy field of each kind is about fifty;
 * browsers keep 180 cookies per site.
 */
export const RESPONSE_FIELDS_MAX = 500;
/**
 * @limit Maximum number of consecutive 1xx responses before the final one. Servers send one or two, and Go's client
 * accepts five.
 */
export const INFORMATIONAL_RESPONSES_MAX = 64;

const EMPTY = Buffer.alloc(0);

/** Which informational responses (1xx except 101) a visitor is sent: all, a 100 because it waits for one, or none. */
export type InformationalResponses = 'all' | 'continue' | 'none';

export interface ResponseContext {
  /** the method of the request */
  readonly method: string;
  /** the minor version of the visitor */
  readonly minor: 0 | 1;
  readonly interims: InformationalResponses;
  /** Whether the request offers a WebSocket. */
  readonly upgrade: boolean;
  /** Whether the visitor's connection is to end with the response. */
  readonly close: boolean;
  /**
   * The request's body, if the visitor waits for a 100 before sending it. After a final response it may omit the body
   * (RFC 9110 section 10.1.1), and the next bytes on its connection could be another request.
   */
  readonly heldBack: BodyTracker | undefined;
  /** how heads are written; read only once there is one */
  readonly rules: {
    readonly ending: ResponseEnding;
    readonly mapField: FieldMap | undefined;
    /** Whether only the status and the fields that answer a preflight are passed on */
    readonly isPreflight?: boolean;
  };
  /** called if the response turns out to be an event stream, before its head is passed on */
  readonly owner: { staysOpen(): void };
}

/** A visitor's connection, as seen by the writer of a response. */
export type VisitorSink = Pick<VisitorSocket, 'send' | 'isFull' | 'statusMax'>;

/**
 * `more`: not complete yet. `done`: the response is complete. `switched`: the connection is a WebSocket now.
 * `malformed`: the bytes are not a response, and none of them has been passed on. `broken`: the body violates its own
 * framing.
 */
type ResponseProgress = 'more' | 'done' | 'switched' | 'malformed' | 'broken';

export class ResponseRelay {
  readonly #context: ResponseContext;
  readonly #sink: VisitorSink;
  /** of the final response, or of the switch to a WebSocket, once it has been passed on */
  status: number | undefined;
  /** whether it consists of server-sent events */
  isEventStream = false;
  readonly #reader = new HeadReader(RESPONSE_HEAD_MAX_BYTES, 'lenient');
  #body: BodyTracker | undefined;
  #untilClose = false;
  #isChunked = false;
  #unchunk = false;
  /** pieces of a chunked body in strict framing */
  readonly #wire: Buffer[] = [];
  #started = false;
  #interimResponses = 0;
  #closes: boolean;
  #reusable = true;
  #isWithheld = false;
  #refused: Buffer = EMPTY;
  #challengesConnection = false;

  constructor(context: ResponseContext, sink: VisitorSink) {
    this.#context = context;
    this.#sink = sink;
    this.#closes = context.close;
  }

  /** Whether any byte of a response has arrived. */
  get started(): boolean {
    return this.#started;
  }

  /** Whether the final head has been passed on, so that no other response can be sent. */
  get committed(): boolean {
    return this.#body !== undefined;
  }

  /** Whether the visitor's connection ends with this response. */
  get closes(): boolean {
    return this.#closes;
  }

  /**
   * Whether the visitor treats the end of the connection as the end of the body, so that only a reset signals a
   * failure.
   */
  get endsWithConnection(): boolean {
    return this.#untilClose || this.#unchunk;
  }

  /**
   * Ends the visitor's connection with this response, unless its head has already been sent without announcing that.
   */
  closeAfter(): void {
    if (!this.committed) this.#closes = true;
  }

  /** Whether the stream can carry another request after this response. */
  get reusable(): boolean {
    return this.#reusable;
  }

  /** Whether the response has a body that is withheld from the visitor. */
  get isWithheld(): boolean {
    return this.#isWithheld;
  }

  /** Whether the visitor is asked to authenticate its connection, so that its next request belongs on the same one. */
  get challengesConnection(): boolean {
    return this.#challengesConnection;
  }

  push(piece: Buffer): ResponseProgress {
    this.#started = true;
    if (this.#body !== undefined) return this.#pushBody(this.#body, piece);
    return this.#pushHead(piece);
  }

  /** The stream has ended; `clean`: its sender has sent everything. Returns whether that completes the response. */
  completedByEnd(clean: boolean): boolean {
    return clean && this.#untilClose;
  }

  /** What made the response `malformed` or `broken`: the line that was refused, or the bytes that hold it. */
  get refused(): Buffer {
    return this.#refused;
  }

  /** Bytes arrived after the complete response: they belong to no request, so the stream is not reused. */
  spoil(): void {
    this.#reusable = false;
  }

  #pushHead(piece: Buffer): ResponseProgress {
    let rest = piece;
    for (;;) {
      const end = this.#reader.push(rest);
      if (end === undefined) return 'more';
      if (typeof end === 'string') return this.#refuse(refusedLine(Buffer.from(this.#reader.text, 'latin1')));
      const head = parseServiceHead(end.head);
      if (head === undefined) return this.#refuse(refusedLine(end.head));
      const excess = head.fields[RESPONSE_FIELDS_MAX];
      if (excess !== undefined) return this.#refuse(lineOf(head, excess));
      if (head.status > this.#sink.statusMax) return this.#refuse(statusLine(head));
      rest = end.rest;
      if (head.status === 101) return this.#switch(head, rest);
      if (head.status >= 200) return this.#commit(head, rest);
      this.#interimResponses += 1;
      if (this.#interimResponses > INFORMATIONAL_RESPONSES_MAX) return this.#refuse(statusLine(head));
      if (this.#passes(head))
        this.#sink.send(informationalResponseHead(head, this.#context.rules.mapField, EMPTY));
      if (rest.length === 0) return 'more';
    }
  }

  #passes({ status }: ResponseHead): boolean {
    const { interims, rules } = this.#context;
    if (rules.isPreflight === true) return false;
    return interims === 'all' || (interims === 'continue' && status === 100 && this.#interimResponses === 1);
  }

  #switch(head: ResponseHead, rest: Buffer): ResponseProgress {
    if (!this.#context.upgrade || listMembers(head.fields, 'upgrade').join() !== 'websocket')
      return this.#refuse(statusLine(head));
    this.#sink.send(informationalResponseHead(head, this.#context.rules.mapField, rest));
    this.status = head.status;
    return 'switched';
  }

  #commit(head: ResponseHead, rest: Buffer): ResponseProgress {
    const { method, minor } = this.#context;
    const framing = responseFraming(head, method);
    if (framing === undefined) return this.#refuse(lineOf(head, head.fields.findLast(declaresLength)));
    if (this.#context.rules.isPreflight === true) return this.#withhold(head, framing, rest);
    this.#untilClose = framing.kind === 'until-close';
    this.#unchunk = framing.kind === 'chunked' && minor === 0;
    this.#closes ||= this.#untilClose || this.#context.heldBack?.done === false;
    // Some servers are left in an unclear state when they refuse an upgrade: Node's no longer responds to a malformed
    // request after that.
    const isSettled = !this.#untilClose && !this.#context.upgrade;
    this.#reusable = isSettled && staysUsable(head);
    const body = trackServiceBody(
      framing,
      this.#unchunk ? { onPayload: (piece) => this.#sink.send(piece) } : { onWire: this.#keepWire },
    );
    this.#body = body;
    this.#isChunked = framing.kind === 'chunked';
    this.status = head.status;
    this.#challengesConnection = head.status === 401 && head.fields.some(challengesConnection);
    this.isEventStream = framing.kind !== 'length' && framing.kind !== 'none' && isEventStream(head);
    if (this.isEventStream) this.#context.owner.staysOpen();
    if (this.#unchunk || rest.length === 0) {
      // Without its coding, the body is sent as decoded.
      this.#sink.send(this.#finalHead(head, EMPTY));
      return this.#pushBody(body, rest);
    }
    return this.#pushFirst(head, body, rest);
  }

  /** Passes on the answer to a preflight. For the visitor the response is complete with its head. */
  #withhold(head: ResponseHead, { kind }: Framing, rest: Buffer): ResponseProgress {
    this.#body = trackBody({ kind: 'none' });
    this.status = head.status;
    this.#isWithheld = kind !== 'none';
    this.#reusable = !this.#isWithheld && rest.length === 0 && staysUsable(head);
    const { ending } = this.#context.rules;
    this.#sink.send(preflightResponseHead(head, { close: this.#closes, ending }));
    return 'done';
  }

  /** The head and the bytes that came with it, in one piece. */
  #pushFirst(head: ResponseHead, body: BodyTracker, piece: Buffer): ResponseProgress {
    let end: number;
    try {
      end = body.advance(piece, 0);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#body = undefined;
      this.status = undefined;
      return this.#refuse(error.line);
    }
    this.#sink.send(this.#finalHead(head, this.#reframed(piece, end)));
    return this.#progress(body, end < piece.length);
  }

  #finalHead(head: ResponseHead, body: Buffer): Buffer {
    const { ending, mapField } = this.#context.rules;
    const omits = this.#omission(head);
    return finalResponseHead(head, { close: this.#closes, omits, ending, mapField }, body);
  }

  #omission({ status }: ResponseHead): Omission {
    if (status === 204 || status === 205) return 'length';
    return this.#unchunk || status === 304 || this.#context.method === 'HEAD' ? 'coding' : 'nothing';
  }

  #pushBody(body: BodyTracker, piece: Buffer): ResponseProgress {
    try {
      const end = body.advance(piece, 0);
      const bytes = this.#unchunk ? EMPTY : this.#reframed(piece, end);
      if (bytes.length > 0) this.#sink.send(bytes);
      return this.#progress(body, end < piece.length);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#refused = error.line;
      return 'broken';
    }
  }

  readonly #keepWire = (bytes: Buffer): void => void this.#wire.push(bytes);

  /** The body's bytes of a piece, up to `end`, as the visitor receives them. */
  #reframed(piece: Buffer, end: number): Buffer {
    if (!this.#isChunked) return end === piece.length ? piece : piece.subarray(0, end);
    const [first = EMPTY, ...more] = this.#wire.splice(0);
    return more.length === 0 ? first : Buffer.concat([first, ...more]);
  }

  #refuse(line: Buffer): ResponseProgress {
    this.#refused = line;
    return 'malformed';
  }

  /** @param hasMore whether bytes followed the body, as far as it is complete */
  #progress(body: BodyTracker, hasMore: boolean): ResponseProgress {
    if (!body.done) return 'more';
    if (hasMore) this.spoil();
    return 'done';
  }
}

/** @returns the status line without a field */
function lineOf({ bytes }: ResponseHead, field: Field | undefined): Buffer {
  return field === undefined
    ? bytes.subarray(0, bytes.indexOf('\r\n'))
    : bytes.subarray(field.start, field.end - 2);
}

function declaresLength(field: Field): boolean {
  return field.is('content-length') || field.is('transfer-encoding');
}

function statusLine(head: ResponseHead): Buffer {
  return lineOf(head, undefined);
}

/** Whether the response consists of server-sent events (HTML Living Standard section 9.2). */
function isEventStream({ fields }: ResponseHead): boolean {
  return /^text\/event-stream\b/i.test(fieldValue(fields, 'content-type') ?? '');
}

/** Schemes that authenticate the connection instead of the request (RFC 4559 section 5), as the first of a list. */
const OF_CONNECTION = /^[ \t]*(?:ntlm|negotiate)(?=[ \t,]|$)/i;

function challengesConnection(field: Field): boolean {
  return field.is('www-authenticate') && field.value.split(',').some((part) => OF_CONNECTION.test(part));
}

/**
 * Whether a service may attribute all later requests on the same connection to the same person. A proxy's connection
 * carries other visitors' requests next.
 */
export function authenticatesConnection(fields: readonly Field[]): boolean {
  return fields.some((field) => field.is('authorization') && OF_CONNECTION.test(field.value));
}

/** Whether the head allows another request on its stream. */
function staysUsable(head: ResponseHead): boolean {
  const { minor, fields } = head;
  return minor === 1 && !listMembers(fields, 'connection').includes('close') && !mayBring(head);
}

/** Whether a response without a body announces one, which may still arrive. */
function mayBring({ status, fields }: ResponseHead): boolean {
  if (status !== 204 && status !== 205) return false;
  return (
    (fieldValue(fields, 'content-length') ?? '0') !== '0' ||
    fieldValue(fields, 'transfer-encoding') !== undefined
  );
}

/**
 * Which informational responses a visitor is sent (protocol.md section 4.3). Some reverse proxies mistake them
 * for final ones, keep the connection, and give what follows to another visitor; proxies that are not configured do so
 * for HEAD, whose response has no body to reveal the mistake.
 */
export function informationalResponsesFor(
  { head, expectsContinue }: Pick<ParsedRequest, 'head' | 'expectsContinue'>,
  { trusted }: Pick<Peer, 'trusted'>,
): InformationalResponses {
  // HTTP/1.0 has none (RFC 9110 section 15.2).
  if (head.minor === 0) return 'none';
  if (!trusted && head.method !== 'HEAD') return 'all';
  return expectsContinue ? 'continue' : 'none';
}

/* The response head as the visitor receives it (RFC 9110 section 7.6; protocol.md section 4.3). */

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
type Omission = 'nothing' | 'coding' | 'length';

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

/**
 * Writes a final response head.
 *
 * @param body bytes that are sent after it in the same piece
 */
function finalResponseHead(head: ResponseHead, options: ResponseOptions, body: Buffer): Buffer {
  const { close, ending, omits, mapField } = options;
  const named = namedByConnection(head.fields);
  const writer = startResponse(head, body);
  // A 426 exists to name the required protocol (RFC 9110 section 15.5.22).
  const wantsUpgrade = head.status === 426;
  for (const field of head.fields) {
    if (wantsUpgrade && field.is('upgrade')) {
      writer.text('Connection: Upgrade\r\n');
      writer.keepField(field);
      continue;
    }
    if (!isDropped(field, named, omits)) writeField(writer, field, mapField);
  }
  // The only status without a body that still needs a length (RFC 9110 section 15.3.6).
  if (head.status === 205) writer.text('Content-Length: 0\r\n');
  writer.text(close ? ending.ends : ending.stays);
  return withBody(writer, body);
}

/**
 * Writes an informational response (1xx), or the 101 that accepts a WebSocket.
 *
 * @param rest bytes that are sent after it in the same piece
 */
function informationalResponseHead(head: ResponseHead, mapField: FieldMap | undefined, rest: Buffer): Buffer {
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
function preflightResponseHead(
  { bytes, fields, status }: ResponseHead,
  { close, ending }: Pick<ResponseOptions, 'close' | 'ending'>,
): Buffer {
  const named = namedByConnection(fields);
  const writer = new HeadWriter(bytes, EXTRA);
  // The service also chooses the reason phrase.
  writer.text(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`);
  for (const field of fields)
    if (answersPreflight(field) && !isHopByHop(field, named)) writer.keepField(field);
  // These two have no length (RFC 9110 section 8.6).
  if (status !== 204 && status !== 304) writer.text('Content-Length: 0\r\n');
  writer.text(close ? ending.ends : ending.stays);
  return writer.end();
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

/** Writes the status line with the relay's own HTTP version, as a proxy must (RFC 9110 section 6.2). */
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
  return isHopByHop(field, named) || steersVisitors(field) || isOmitted(field, omits);
}

function isOmitted(field: Field, omits: Omission): boolean {
  if (omits === 'nothing') return false;
  if (field.is('transfer-encoding') || field.is('trailer')) return true;
  return omits === 'length' && field.is('content-length');
}
