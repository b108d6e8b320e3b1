/**
 * Passes one response from a stream on to its visitor: informational heads, the final head, and the body to its end.
 */
import { createHash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import {
  BodyError,
  type BodyTracker,
  type Framing,
  responseFraming,
  trackBody,
  trackServiceBody,
} from '../../shared/http1/body.ts';
import { type Field, fieldValue, listMembers } from '../../shared/http1/fields.ts';
import {
  HeadReader,
  HeadWriter,
  parseServiceHead,
  refusedLine,
  type ResponseHead,
} from '../../shared/http1/head.ts';
import { HANDSHAKE_GUID } from '../../shared/websocket/byte-stream.ts';
import type { OwnResponse } from './builtin-responses.ts';
import { type MessageField, MessageFields } from './message-fields.ts';
import type { Peer } from './request-head.ts';
import {
  type FieldMap,
  type Omission,
  type ResponseEnding,
  startResponse,
  withBody,
  writeFinal,
  writeInformational,
  writePreflight,
} from './response-head.ts';
import type { ParsedRequest } from './route.ts';
import type { VisitorSocket } from './visitor-socket.ts';

/**
 * Maximum size of the headers of a local service's response. Generous, because cookies and policies of
 * development servers grow large.
 * @limit owner: Response headers of the local service | 502 `local-malformed`
 */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of header fields in a local service's response. One policy field of each kind is about fifty;
 * browsers keep 180 cookies per site.
 * @limit owner: Header fields in a response of the local service | 502 `local-malformed`
 */
export const RESPONSE_FIELDS_MAX = 500;
/**
 * Maximum number of consecutive 1xx responses before the final one. Servers send one or two, and Go's client
 * accepts five.
 */
export const INFORMATIONAL_RESPONSES_MAX = 64;

/** What a relay adds to a head at most. */
const ADDED_BYTES = 4096;
const ADDED_FIELDS = 8;

const EMPTY = Buffer.alloc(0);
const NO_FIELDS: readonly MessageField[] = [];

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
  /** of that WebSocket, if the visitor does not know it */
  readonly webSocketKey?: string | undefined;
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
  /** whether another relay passes it on, which has added fields */
  readonly isRelayed?: boolean;
  /** called if the response turns out to be an event stream, before its head is passed on */
  readonly owner: { staysOpen(): void };
}

/** A visitor's connection, as seen by the writer of a response. */
export type VisitorSink = Pick<VisitorSocket, 'send' | 'isFull' | 'statusMax' | 'messages' | 'begin'>;

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
  readonly #reader: HeadReader;
  readonly #fieldsMax: number;
  #body: BodyTracker | undefined;
  #untilClose = false;
  #isChunked = false;
  #unchunk = false;
  /** pieces of a chunked body as the visitor receives them: in strict framing, or without any */
  readonly #wire: Buffer[] = [];
  #trailers: readonly Field[] = [];
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
    const isRelayed = context.isRelayed === true;
    this.#reader = new HeadReader(RESPONSE_HEAD_MAX_BYTES + (isRelayed ? ADDED_BYTES : 0), 'lenient');
    this.#fieldsMax = RESPONSE_FIELDS_MAX + (isRelayed ? ADDED_FIELDS : 0);
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
    if (!clean || !this.#untilClose) return false;
    this.#sink.messages?.finish(NO_FIELDS);
    return true;
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
      const excess = head.fields[this.#fieldsMax];
      if (excess !== undefined) return this.#refuse(lineOf(head, excess));
      if (head.status > this.#sink.statusMax) return this.#refuse(statusLine(head));
      rest = end.rest;
      if (head.status === 101) return this.#switch(head, rest);
      if (head.status >= 200) return this.#commit(head, rest);
      this.#interimResponses += 1;
      if (this.#interimResponses > INFORMATIONAL_RESPONSES_MAX) return this.#refuse(statusLine(head));
      if (this.#passes(head)) this.#sendInformational(head, EMPTY);
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
    const { webSocketKey } = this.#context;
    const accept = head.fields.find((field) => field.is('sec-websocket-accept'));
    if (webSocketKey !== undefined && accept?.value !== acceptOf(webSocketKey))
      return this.#refuse(lineOf(head, accept));
    this.#sendInformational(head, rest);
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
    const isDecoded = minor === 0 || this.#sink.messages !== undefined;
    const handlers = isDecoded
      ? { onPayload: this.#keepWire, onTrailers: this.#keepTrailers }
      : { onWire: this.#keepWire };
    const body = trackServiceBody(framing, handlers);
    this.#body = body;
    this.#isChunked = framing.kind === 'chunked';
    this.status = head.status;
    this.#challengesConnection = head.status === 401 && head.fields.some(challengesConnection);
    this.isEventStream = framing.kind !== 'length' && framing.kind !== 'none' && isEventStream(head);
    if (this.isEventStream) this.#context.owner.staysOpen();
    return this.#pushFirst(head, body, rest);
  }

  /** Passes on the answer to a preflight. For the visitor the response is complete with its head. */
  #withhold(head: ResponseHead, { kind }: Framing, rest: Buffer): ResponseProgress {
    this.#body = trackBody({ kind: 'none' });
    this.status = head.status;
    this.#isWithheld = kind !== 'none';
    this.#reusable = !this.#isWithheld && rest.length === 0 && staysUsable(head);
    const { ending } = this.#context.rules;
    // The service also chooses the reason phrase.
    const target = this.#start(head, EMPTY, STATUS_CODES[head.status] ?? '');
    writePreflight(target, head, { close: this.#closes, ending });
    this.#sendHead(target, head.status, EMPTY);
    this.#sink.messages?.finish(NO_FIELDS);
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
    const { ending, mapField } = this.#context.rules;
    const first = this.#reframed(piece, end);
    const target = this.#start(head, first);
    writeFinal(target, head, { close: this.#closes, omits: this.#omission(head), ending, mapField });
    this.#sendHead(target, head.status, first);
    return this.#progress(body, end < piece.length);
  }

  #sendInformational(head: ResponseHead, rest: Buffer): void {
    const target = this.#start(head, rest);
    writeInformational(target, head, this.#context.rules.mapField);
    this.#sendHead(target, head.status, rest);
  }

  /** Starts a head that a body follows in the same piece. @param reason instead of that of the service */
  #start(head: ResponseHead, body: Buffer, reason?: string): HeadWriter | MessageFields {
    return this.#sink.messages === undefined ? startResponse(head, body, reason) : new MessageFields();
  }

  #sendHead(target: HeadWriter | MessageFields, status: number, body: Buffer): void {
    if (target instanceof HeadWriter) return this.#sink.send(withBody(target, body));
    this.#sink.begin(status, target.list);
    if (body.length > 0) this.#sink.send(body);
  }

  #omission({ status }: ResponseHead): Omission {
    if (status === 204 || status === 205) return 'length';
    return this.#unchunk || status === 304 || this.#context.method === 'HEAD' ? 'coding' : 'nothing';
  }

  #pushBody(body: BodyTracker, piece: Buffer): ResponseProgress {
    try {
      const end = body.advance(piece, 0);
      const bytes = this.#reframed(piece, end);
      if (bytes.length > 0) this.#sink.send(bytes);
      return this.#progress(body, end < piece.length);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#refused = error.line;
      return 'broken';
    }
  }

  readonly #keepWire = (bytes: Buffer): void => void this.#wire.push(bytes);
  readonly #keepTrailers = (fields: readonly Field[]): void => void (this.#trailers = fields);

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
    this.#sink.messages?.finish(asMessage(this.#trailers));
    return 'done';
  }
}

/** What accepts a WebSocket with that key (RFC 6455 section 4.2.2). */
function acceptOf(key: string): string {
  return createHash('sha1')
    .update(key + HANDSHAKE_GUID)
    .digest('base64');
}

function asMessage(trailers: readonly Field[]): readonly MessageField[] {
  if (trailers.length === 0) return NO_FIELDS;
  const fields = new MessageFields();
  for (const field of trailers) fields.keepField(field);
  return fields.list;
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

/** Sends a response of the relay itself. @param close whether the connection ends with it */
export function sendOwn(sink: VisitorSink, response: OwnResponse, close: boolean): void {
  if (sink.messages === undefined) return sink.send(response.bytes(close));
  const fields = new MessageFields();
  fields.text(response.lines);
  sink.begin(response.status, fields.list);
  if (response.body.length > 0) sink.send(response.body);
  sink.messages.finish(NO_FIELDS);
}
