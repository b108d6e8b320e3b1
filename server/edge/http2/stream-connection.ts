/**
 * One HTTP/2 stream as a connection with a single HTTP/1.1 request, so that it is served like any other connection
 * (docs/decisions/0024-http2.md).
 */
import { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, ServerHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { type BodyTracker, responseFraming, trackBody } from '../../../shared/http1/body.ts';
import type { Field } from '../../../shared/http1/fields.ts';
import { HeadReader, parseResponseHead, type ResponseHead } from '../../../shared/http1/head.ts';
import { CONNECTION_FIELDS } from '../../../shared/http1/hop-by-hop.ts';
import {
  HTTP2_PIECE_MIN_BYTES,
  HTTP2_SLOW_PIECE_MS,
  HTTP2_WIDEN_BYTES,
  REQUEST_FIELDS_MAX,
  RESPONSE_HEAD_MAX_BYTES,
} from '../../limits.ts';
import { isHost, namesHost } from '../route.ts';
import type { VisitorConnection } from '../visitor-socket.ts';

/** How the body of a request follows its head. */
type RequestBody = 'none' | 'length' | 'chunked';

interface WrittenHead {
  readonly bytes: Buffer;
  readonly body: RequestBody;
  /** Whether the response has no body, whatever its fields say. */
  readonly isHead: boolean;
}

const PSEUDO: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path']);
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Without blanks at its ends (RFC 9113 section 8.2.1). */
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/;
const TARGET = /^[!-~\x80-\xff]+$/;

/**
 * Writes the head of a request.
 *
 * @param fields names and values in turn, as decoded, one character per byte
 * @param isComplete whether the message ends with its head
 * @returns a head that the parser of HTTP/1.1 refuses, if the message is malformed
 */
export function writeRequestHead(fields: readonly string[], isComplete: boolean): WrittenHead {
  const message = read(fields);
  if (message === undefined) return { bytes: refusable(fields), body: 'none', isHead: false };
  const { method, target, host, lines, hasLength } = message;
  const body = hasLength ? 'length' : isComplete ? 'none' : 'chunked';
  const coding = body === 'chunked' ? 'Transfer-Encoding: chunked\r\n' : '';
  // The stream ends with the response; in HTTP/1.1, this field announces that.
  const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${lines}${coding}Connection: close\r\n\r\n`;
  return { bytes: Buffer.from(head, 'latin1'), body, isHead: method === 'HEAD' };
}

interface Message {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** the other fields, each with its line end */
  readonly lines: string;
  readonly hasLength: boolean;
}

/** @returns `undefined` for a malformed message */
function read(fields: readonly string[]): Message | undefined {
  const pseudo = new Map<string, string>();
  const cookies: string[] = [];
  let host: string | undefined;
  let lines = '';
  let hasLength = false;
  let count = 0;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    if (name.startsWith(':')) {
      if (!PSEUDO.has(name) || pseudo.has(name) || count > 0) return undefined;
      pseudo.set(name, value);
      continue;
    }
    count += 1;
    if (!isField(name, value)) return undefined;
    if (name === 'host') {
      if (host !== undefined) return undefined;
      host = value;
    } else if (name === 'cookie') cookies.push(value);
    else lines += `${name}: ${value}\r\n`;
    hasLength ||= name === 'content-length';
  }
  const target = targetIn(pseudo);
  const method = pseudo.get(':method');
  const authority = pseudo.get(':authority');
  if (target === undefined || method === undefined || !METHOD.test(method)) return undefined;
  const named = authority ?? host;
  if (named === undefined || !isHost(named) || (host !== undefined && !namesHost(named, 'https', host)))
    return undefined;
  return { method, target, host: named, lines: lines + cookieLines(cookies, count), hasLength };
}

function isField(name: string, value: string): boolean {
  if (!NAME.test(name) || !VALUE.test(value) || CONNECTION_FIELDS.has(name)) return false;
  return name !== 'te' || value === 'trailers';
}

/** @returns `undefined` unless it is that of a request for https */
function targetIn(pseudo: ReadonlyMap<string, string>): string | undefined {
  const path = pseudo.get(':path');
  if (pseudo.get(':scheme') !== 'https' || path === undefined || !TARGET.test(path)) return undefined;
  return path.startsWith('/') || path === '*' ? path : undefined;
}

/**
 * A cookie may be split into several fields, which HTTP/1.1 has as one (RFC 9113 section 8.2.3). Each counts as a field
 * though, so if there are too many, the parser gets to see all of them.
 */
function cookieLines(cookies: readonly string[], count: number): string {
  if (cookies.length === 0) return '';
  const values = count > REQUEST_FIELDS_MAX ? cookies : [cookies.join('; ')];
  return values.map((value) => `cookie: ${value}\r\n`).join('');
}

/** A head with a malformed first line, and the field that decides on the form of the response. */
function refusable(fields: readonly string[]): Buffer {
  const at = fields.indexOf('accept');
  const accept = at === -1 || at % 2 === 1 ? '' : (fields[at + 1] ?? '').replaceAll(/[^ -~]/g, '');
  return Buffer.from(`HTTP/2\r\nAccept: ${accept}\r\n\r\n`, 'latin1');
}

/**
 * Writes the trailer section of a chunked body.
 *
 * @param fields as for {@link writeRequestHead}
 * @returns `undefined` for malformed fields
 */
export function writeTrailers(fields: readonly string[]): Buffer | undefined {
  let lines = '0\r\n';
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    if (!isField(name, value)) return undefined;
    lines += `${name}: ${value}\r\n`;
  }
  return Buffer.from(`${lines}\r\n`, 'latin1');
}

// Error codes (RFC 9113 section 7). Those of `node:http2` would load it at every start, even of a relay without TLS.
export const NO_ERROR = 0;
const PROTOCOL_ERROR = 1;
const INTERNAL_ERROR = 2;

const LAST_CHUNK = Buffer.from('0\r\n\r\n');
/** Input that waits here; the flow control of the stream limits what waits before. */
const INPUT_MAX_BYTES = 16 * 1024;
/** ms; shorter pauses are those of a busy event loop. */
const PAUSE_MS = 20;

/** What the streams of one connection share. */
export interface StreamFlow {
  /** how many bytes of a response may be queued for a stream */
  readonly pieceMax: number;
  /** The body of a request is passed on faster than it arrives. */
  widen(): void;
  /** A stream is closed. */
  closed(): void;
}

/** A `Duplex` would be slower: docs/decisions/0024-http2.md. */
export class StreamConnection extends EventEmitter implements VisitorConnection {
  readonly #stream: ServerHttp2Stream;
  readonly #frames: ResponseFrames;
  readonly #body: RequestBody;
  /** whether the request ends with its head */
  readonly #isComplete: boolean;
  readonly #flow: StreamFlow;
  /** bytes of the request that wait for a reader, the head first */
  readonly #input: Buffer[];
  #waiting = 0;
  #isFlowing = false;
  /** bytes of the body that were passed on without a long pause */
  #flowed = 0;
  #pausedAt = Infinity;
  #trailers: Buffer | undefined = LAST_CHUNK;
  #isResponseComplete = false;
  /** content that waits to be given to the stream */
  #content: Buffer[] = [];
  /** whether the stream has content that it has not sent */
  #isSending = false;
  #onSent: (() => void) | undefined;
  #onFlushed: (() => void) | undefined;
  #isSlow = false;
  #stall: NodeJS.Timeout | undefined;
  destroyed = false;
  bytesRead = 0;
  bytesWritten = 0;
  writableLength = 0;

  /**
   * @param stream just opened by the visitor
   * @param fields of its request, as Node gives them to listeners of `stream`
   * @param isComplete whether the request ends with its head
   */
  constructor(stream: ServerHttp2Stream, fields: readonly string[], isComplete: boolean, flow: StreamFlow) {
    super();
    const { bytes, body, isHead } = writeRequestHead(fields, isComplete);
    this.#stream = stream;
    this.#body = body;
    this.#isComplete = isComplete;
    this.#flow = flow;
    this.#frames = new ResponseFrames(stream, {
      isHead,
      flow,
      send: (content) => this.#content.push(content),
      onComplete: () => (this.#isResponseComplete = true),
    });
    stream.on('error', ignoreError);
    stream.on('close', this.#onStreamClose);
    this.bytesRead = bytes.length;
    this.#input = [bytes];
    this.#waiting = bytes.length;
    stream.on('end', this.#onStreamEnd);
    // The end of a complete request is not read before its response was sent: Node would destroy the stream before its
    // last write is confirmed, and then create an error with a stack trace for each.
    if (!isComplete) this.#readBody();
  }

  #readBody(): void {
    const stream = this.#stream;
    stream.on('data', (piece: Buffer) => {
      if (this.#body === 'length') return this.#give(piece);
      this.#give(
        Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
      );
    });
    stream.on('trailers', (_fields: IncomingHttpHeaders, _flags: number, raw?: readonly string[]) => {
      this.#trailers = writeTrailers(raw ?? []);
    });
  }

  readonly #onStreamEnd = (): void => {
    const stream = this.#stream;
    // Its visitor may have closed it without an error, and Node would wait for the rest of the response to be sent.
    if (stream.closed) setImmediate(() => stream.destroy());
    // The connection stays open behind the body: its visitor is still there.
    if (stream.aborted || this.#body !== 'chunked') return;
    if (this.#trailers === undefined) stream.close(PROTOCOL_ERROR);
    else this.#give(this.#trailers);
  };

  #give(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.#flowed += bytes.length;
    if (this.#flowed > HTTP2_WIDEN_BYTES) this.#flow.widen();
    this.#input.push(bytes);
    this.#waiting += bytes.length;
    this.#passInput();
    if (this.#waiting < INPUT_MAX_BYTES) return;
    this.#pausedAt = performance.now();
    this.#stream.pause();
  }

  #passInput(): void {
    while (this.#isFlowing) {
      const piece = this.#input.shift();
      if (piece === undefined) break;
      this.#waiting -= piece.length;
      this.emit('data', piece);
    }
  }

  // Of a socket

  /** Cuts the response short. */
  resetAndDestroy(): void {
    this.destroy();
  }

  /** Emits `timeout` when the visitor has taken nothing for this long; 0: never. */
  setTimeout(ms: number): void {
    clearTimeout(this.#stall);
    this.#stall = ms === 0 || this.destroyed ? undefined : setTimeout(() => this.emit('timeout'), ms).unref();
  }

  // Of a stream

  /** Emits the head of the request, and whatever follows it, as `data`. To be called once, when there is a listener. */
  begin(): void {
    this.#isFlowing = true;
    this.#passInput();
  }

  pause(): void {
    this.#isFlowing = false;
  }

  isPaused(): boolean {
    return !this.#isFlowing;
  }

  resume(): void {
    if (this.#isFlowing || this.destroyed) return;
    this.#isFlowing = true;
    process.nextTick(() => {
      this.#passInput();
      if (!this.#isFlowing || this.#isComplete) return;
      if (performance.now() - this.#pausedAt > PAUSE_MS) this.#flowed = 0;
      this.#pausedAt = Infinity;
      this.#stream.resume();
    });
  }

  write(bytes: Buffer, onSent?: () => void): void {
    this.bytesWritten += bytes.length;
    if (this.destroyed || this.#stream.destroyed || this.#stream.closed) return;
    try {
      this.#frames.push(bytes);
    } catch {
      // The service's response does not fit HTTP/2.
      this.destroy();
      return;
    }
    this.writableLength += bytes.length;
    this.#onSent = onSent;
    if (!this.#isSending) this.#sendNext();
  }

  /** Sends the waiting content piece by piece, because Node does not report how much of a piece was read. */
  #sendNext(): void {
    const content = this.#content.shift();
    this.#isSending = content !== undefined;
    if (content === undefined) return this.#onAllSent();
    const size = this.#isSlow ? HTTP2_PIECE_MIN_BYTES : this.#flow.pieceMax;
    const piece = content.length > size ? content.subarray(0, size) : content;
    if (piece !== content) this.#content.unshift(content.subarray(size));
    const begin = performance.now();
    this.#stream.write(piece, () => {
      if (this.destroyed) return;
      this.#isSlow = performance.now() - begin > HTTP2_SLOW_PIECE_MS;
      this.#stall?.refresh();
      this.#sendNext();
    });
    // The end fits into the frame of the last piece.
    if (this.#isResponseComplete && this.#content.length === 0) this.#stream.end();
  }

  #onAllSent(): void {
    this.writableLength = 0;
    if (this.#isResponseComplete) this.#endStream();
    this.#onSent?.();
    if (this.#onFlushed !== undefined && !this.#isSending) this.#finish(this.#onFlushed);
  }

  /** The response is complete. If the visitor is still sending its request, it should stop (RFC 9113 section 8.1). */
  #endStream(): void {
    const stream = this.#stream;
    if (stream.destroyed) return;
    if (!stream.writableEnded) stream.end();
    if (this.#isComplete) return;
    this.#whenFinished(() => {
      if (!stream.readableEnded) stream.close(NO_ERROR);
    });
  }

  #whenFinished(then: () => void): void {
    if (this.#stream.writableFinished) then();
    else this.#stream.once('finish', then);
  }

  end(onFlushed: () => void): void {
    if (this.#isSending) this.#onFlushed = onFlushed;
    else this.#finish(onFlushed);
  }

  /** Everything was sent. */
  #finish(onFlushed: () => void): void {
    this.#onFlushed = undefined;
    if (this.destroyed) return;
    if (this.#frames.endsWithConnection) this.#isResponseComplete = true;
    if (!this.#isResponseComplete) return this.destroy();
    this.#endStream();
    this.#whenFinished(onFlushed);
  }

  destroy(): void {
    if (this.destroyed) return;
    this.#drop();
    process.nextTick(() => this.emit('close'));
  }

  #drop(): void {
    this.destroyed = true;
    clearTimeout(this.#stall);
    this.#content = [];
    this.#input.length = 0;
    this.#waiting = 0;
    const stream = this.#stream;
    if (!stream.destroyed && !stream.closed)
      stream.close(this.#isResponseComplete && stream.writableFinished ? NO_ERROR : INTERNAL_ERROR);
  }

  readonly #onStreamClose = (): void => {
    this.#flow.closed();
    if (this.destroyed) return;
    this.#drop();
    this.emit('close');
  };
}

/** The `close` that follows an error is sufficient. */
function ignoreError(): void {}

/** Additions of the relay to a head that has the largest accepted size. */
const HEAD_EXTRA_BYTES = 4096;

interface ResponseFramesOptions {
  /** whether the request is a HEAD, whose response has no body */
  readonly isHead: boolean;
  /** with the bytes that one piece may have now */
  readonly flow: Pick<StreamFlow, 'pieceMax'>;
  /** Sends content. The bytes stay unchanged until it was sent. */
  readonly send: (content: Buffer) => void;
  /** called when the response is complete */
  readonly onComplete: () => void;
}

/** Reads an HTTP/1.1 response that the relay has written, and sends it as an HTTP/2 response (RFC 9113 section 8). */
class ResponseFrames {
  readonly #stream: ServerHttp2Stream;
  readonly #options: ResponseFramesOptions;
  #reader = new HeadReader(RESPONSE_HEAD_MAX_BYTES + HEAD_EXTRA_BYTES);
  #body: BodyTracker | undefined;
  #isChunked = false;
  #isUntilClose = false;
  #trailers: OutgoingHttpHeaders = {};

  constructor(stream: ServerHttp2Stream, options: ResponseFramesOptions) {
    this.#stream = stream;
    this.#options = options;
  }

  /** Whether the end of the connection completes the response. */
  get endsWithConnection(): boolean {
    return this.#isUntilClose;
  }

  /** Reads the next bytes. @throws Error if they are not a response */
  push(bytes: Buffer): void {
    let rest = bytes;
    while (this.#body === undefined) {
      const end = this.#reader.push(rest);
      if (end === undefined) return;
      const head = typeof end === 'string' ? undefined : parseResponseHead(end.head);
      if (typeof end === 'string' || head === undefined) throw new Error('not a response');
      rest = end.rest;
      if (head.status >= 200) this.#commit(head, rest.length);
      else this.#stream.additionalHeaders({ ':status': head.status, ...asObject(fieldsOf(head.fields)) });
    }
    this.#pushBody(this.#body, rest);
  }

  /** @param arrived how many bytes have arrived after the head */
  #commit(head: ResponseHead, arrived: number): void {
    const framing = responseFraming(head, this.#options.isHead ? 'HEAD' : 'GET');
    if (framing === undefined) throw new Error('not a response');
    this.#isUntilClose = framing.kind === 'until-close';
    this.#isChunked = framing.kind === 'chunked';
    this.#body = trackBody(
      framing,
      (piece) => this.#options.send(piece),
      (trailers) => (this.#trailers = asObject(fieldsOf(trailers))),
    );
    const endStream = this.#body.done;
    // Without waiting for trailers, Node would mark the last frame of a response that breaks off as its end. One that has
    // arrived as a whole, and leaves in one piece, cannot.
    const isWhole =
      framing.kind === 'length' && framing.length <= this.#options.flow.pieceMax && arrived >= framing.length;
    const waitForTrailers = !endStream && !isWhole;
    this.#stream.respond(
      [':status', String(head.status), ...fieldsOf(head.fields)] as never,
      { endStream, sendDate: false, waitForTrailers } as never,
    );
    if (endStream) this.#options.onComplete();
    else if (waitForTrailers)
      this.#stream.once('wantTrailers', () => this.#stream.sendTrailers(this.#trailers));
  }

  #pushBody(body: BodyTracker, bytes: Buffer): void {
    if (body.done || bytes.length === 0) return;
    const end = body.advance(bytes, 0);
    if (!this.#isChunked && end > 0)
      this.#options.send(end === bytes.length ? bytes : bytes.subarray(0, end));
    if (body.done) this.#options.onComplete();
  }
}

/** Fields that Node refuses to send twice. Lists are joined; of the others, the first one counts. */
const ONCE = new Map<string, 'list' | 'value'>([
  ['content-encoding', 'list'],
  ['content-language', 'list'],
  ...[
    'access-control-allow-credentials access-control-max-age access-control-request-method age authorization',
    'content-length content-location content-md5 content-range content-type date dnt etag expires from host',
    'if-match if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards',
    'proxy-authorization range referer retry-after tk upgrade-insecure-requests user-agent x-content-type-options',
  ]
    .flatMap((line) => line.split(' '))
    .map((name) => [name, 'value'] as const),
]);

/** @returns names and values in turn, as Node sends them; of those that it sends once, none is repeated */
function fieldsOf(fields: readonly Field[]): string[] {
  const list: string[] = [];
  for (const field of fields) {
    const name = field.lower;
    if (CONNECTION_FIELDS.has(name) || name === 'te') continue;
    const kind = ONCE.get(name);
    const at = kind === undefined ? -1 : list.findIndex((text, index) => index % 2 === 0 && text === name);
    if (at === -1) list.push(name, field.value);
    else if (kind === 'list') list[at + 1] += `, ${field.value}`;
  }
  return list;
}

/** Node takes lists only for the head of a response. */
function asObject(list: readonly string[]): OutgoingHttpHeaders {
  const headers = Object.create(null) as Record<string, string[]>;
  for (let index = 0; index < list.length; index += 2)
    (headers[list[index] ?? ''] ??= []).push(list[index + 1] ?? '');
  return headers;
}
