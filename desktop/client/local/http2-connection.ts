/**
 * A connection to an HTTP/2 service with the interface of one over HTTP/1.1: each request of a visitor becomes a stream of
 * a session, and the response of the stream becomes an HTTP/1.1 response.
 */
import type { ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import {
  requestFraming,
  BodyError,
  type BodyTracker,
  type Framing,
  trackBody,
} from '../../../shared/http1/body.ts';
import { HeadReader, parseRequestHead, type RequestHead } from '../../../shared/http1/head.ts';
import { uriHost } from '../../../shared/networks.ts';
import type { Attempt } from '../network/dial.ts';
import {
  type ResponseFraming,
  refusedLine,
  toHttp1Informational,
  toHttp1Response,
  toHttp1Trailers,
  toHttp2Headers,
  toHttp2Trailers,
} from './http2-fields.ts';
import type { LocalSession, LocalSessions, SessionHandler } from './http2-sessions.ts';
import { localErrorResponse, LocalFailure, localFault } from './local-error.ts';
import { SAFE_METHODS } from './local-reuse.ts';
import { type LocalConnection, type LocalHandler, type LocalTarget, usesTls } from './local-service.ts';
import { NO_LIMITS, REQUEST_HEAD_MAX_BYTES } from '../data/stream-filter.ts';

/**
 * Maximum number of bytes of a request body that are kept until the HTTP/2 service responds, so that the client
 * can repeat the request if the service has not processed it. Nearly all gRPC calls are smaller.
 */
const LOCAL_REPEATED_BODY_MAX_BYTES = 64 * 1024;
/**
 * Maximum number of times that a request is sent to an HTTP/2 service that reports each time that it has not
 * processed the request.
 */
const LOCAL_TRIES_MAX = 3;

export class Http2Connection implements LocalConnection {
  readonly #sessions: LocalSessions;
  readonly #target: LocalTarget;
  #handler: LocalHandler | undefined;
  #reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  #exchange: Http2Exchange | undefined;
  /** reserved for the first request */
  #reserved: LocalSession | undefined;
  /** bytes after the request under way */
  #held: Buffer[] = [];
  #isPaused = false;
  /** whether a `write` has returned `false` since the last drain */
  #owesDrain = false;
  /** whether the visitor's side sends no further request */
  #isEnding = false;
  #isClosed = false;

  /** @param reserved for the first request */
  constructor(sessions: LocalSessions, target: LocalTarget, reserved: LocalSession) {
    this.#sessions = sessions;
    this.#target = target;
    this.#reserved = reserved;
  }

  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Never: a new one costs nothing, so it is not kept for another visitor. */
  readonly isQuiet = false;

  attach(handler: LocalHandler): void {
    this.#handler = handler;
  }

  write(chunk: Buffer): boolean {
    if (this.#isClosed) return true;
    const isHeld = this.#exchange?.isRequestDone === true;
    if (isHeld) this.#held.push(chunk);
    else this.#take(chunk);
    const hasRoom = !isHeld && !this.#isBlocked;
    if (!hasRoom) this.#owesDrain = true;
    return hasRoom || this.#isClosed;
  }

  pause(): void {
    this.#isPaused = true;
    this.#exchange?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#exchange?.resume();
  }

  /** The request under way, if complete, may still get its response. */
  end(): void {
    this.#isEnding = true;
    if (this.#exchange?.isRequestDone !== true) this.destroy();
  }

  destroy(): void {
    this.#close();
  }

  // For its exchange, which all but the first three end.

  /** Whether no bytes of the response are wanted at the moment. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Bytes of the response, as HTTP/1.1. */
  received(bytes: Buffer): void {
    if (!this.#isClosed) this.#handler?.onLocalData(bytes);
  }

  /** Bytes of the request are accepted again. */
  drained(): void {
    if (this.#isClosed || !this.#owesDrain || this.#held.length > 0) return;
    this.#owesDrain = false;
    this.#handler?.onLocalDrain();
  }

  /** Request and response are complete. */
  completed(): void {
    this.#exchange = undefined;
    if (this.#isEnding) return this.#close();
    const held = this.#held;
    this.#held = [];
    for (const piece of held) this.write(piece);
    if (!this.#isBlocked) this.drained();
  }

  /** The response is incomplete, and stays so. */
  broke(): void {
    this.#close();
  }

  /** The service accepts no request. No byte of a response was received. */
  refused(exchange: Http2Exchange, error: Error): void {
    const fault = localFault(this.#target, error);
    this.received(localErrorResponse(exchange.head, fault));
    this.#handler?.onLocalEnd();
    this.#close(error);
  }

  get #isBlocked(): boolean {
    return this.#exchange?.isBlocked === true;
  }

  /** Passes bytes on to the request under way, and begins the next one with the bytes after it. */
  #take(chunk: Buffer): void {
    const rest = this.#exchange === undefined ? this.#begin(chunk) : this.#exchange.feed(chunk);
    if (rest === 'malformed') return this.#close();
    if (rest.length > 0 && !this.#isClosed) {
      if (this.#exchange?.isRequestDone === true) this.#held.push(rest);
      else this.#take(rest);
    }
  }

  /** @returns the bytes after the head */
  #begin(chunk: Buffer): Buffer | 'malformed' {
    const end = this.#reader.push(chunk);
    if (end === undefined) return chunk.subarray(chunk.length);
    const head = typeof end === 'string' ? end : parseRequestHead(end.head, NO_LIMITS);
    const framing = typeof head === 'string' ? head : requestFraming(head);
    if (typeof end === 'string' || typeof head === 'string' || typeof framing === 'string')
      return 'malformed';
    const exchange = new Http2Exchange(
      { head, framing, target: this.#target, sessions: this.#sessions },
      this,
    );
    this.#exchange = exchange;
    const reserved = this.#reserved;
    this.#reserved = undefined;
    exchange.start(reserved);
    return end.rest;
  }

  /** @param failure why the service could not take a request, if so */
  #close(failure?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#held = [];
    this.#exchange?.cancel();
    this.#exchange = undefined;
    this.#reserved?.release();
    this.#reserved = undefined;
    // As a socket does: never before the call that closes it has returned.
    queueMicrotask(() => this.#handler?.onLocalClose(failure));
  }
}

// A flag and an error code (RFC 9113 sections 6.2 and 7). Those of `node:http2` would load it at every start.
const END_STREAM = 1;
const REFUSED_STREAM = 7;

const LINE_END = Buffer.from('\r\n');
const LAST_CHUNK = Buffer.from('0\r\n\r\n');

interface Http2ExchangeOptions {
  readonly head: RequestHead;
  /** of the request */
  readonly framing: Framing;
  readonly target: LocalTarget;
  readonly sessions: LocalSessions;
}

/** One request and its response over a stream of an HTTP/2 session (RFC 9113 section 8.1). */
class Http2Exchange implements SessionHandler {
  readonly head: RequestHead;
  readonly #owner: Http2Connection;
  readonly #sessions: LocalSessions;
  readonly #headers: OutgoingHttpHeaders;
  readonly #framing: Framing;
  readonly #body: BodyTracker;
  #trailers: OutgoingHttpHeaders = {};
  /** the body so far, until it need not be sent again */
  #sent: Buffer[] | undefined = [];
  #sentBytes = 0;
  #attempt: Attempt | undefined;
  #tries = 0;
  #stream: ClientHttp2Stream | undefined;
  /** of the stream */
  #session: LocalSession | undefined;
  /** Whether the service has sent END_STREAM. */
  #isEndSeen = false;
  /** of the final response, once its head was received */
  #response: ResponseFraming | undefined;
  /** bytes of a response with a length that are still to come */
  #left = 0;
  #responseTrailers: readonly string[] = [];
  #hasInformational = false;
  #isResponseDone = false;
  #isOver = false;

  constructor({ head, framing, target, sessions }: Http2ExchangeOptions, owner: Http2Connection) {
    this.head = head;
    this.#owner = owner;
    this.#sessions = sessions;
    const scheme = usesTls(target) ? 'https' : 'http';
    this.#headers = toHttp2Headers(head, scheme, `${uriHost(target.host)}:${target.port}`);
    this.#framing = framing;
    this.#body = trackBody(
      framing,
      (piece) => this.#send(piece),
      (fields) => (this.#trailers = toHttp2Trailers(fields)),
    );
  }

  /** @param reserved a session with a stream for this request */
  start(reserved: LocalSession | undefined): void {
    if (this.head.fields.some((field) => field.is('upgrade'))) {
      reserved?.release();
      this.#refuse(new LocalFailure('local-no-websocket'));
    } else if (reserved === undefined) {
      this.#attempt = this.#sessions.acquire(this);
    } else {
      this.acquired(reserved);
    }
  }

  /** Whether the whole request has arrived. */
  get isRequestDone(): boolean {
    return this.#body.done;
  }

  /** Whether bytes of the request are not accepted at the moment. */
  get isBlocked(): boolean {
    if (this.#isOver || this.isRequestDone) return false;
    const stream = this.#stream;
    return stream === undefined ? !this.#isResponseDone : stream.writableNeedDrain;
  }

  /** @returns the bytes after the request; `malformed` for a body that violates its framing */
  feed(chunk: Buffer): Buffer | 'malformed' {
    try {
      const end = this.#body.advance(chunk, 0);
      if (this.#framing.kind === 'length') this.#send(chunk.subarray(0, end));
      if (this.#body.done) {
        this.#stream?.end();
        if (this.#isResponseDone) this.#complete();
      }
      return chunk.subarray(end);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return 'malformed';
    }
  }

  pause(): void {
    if (this.#response !== undefined) this.#stream?.pause();
  }

  resume(): void {
    if (this.#response !== undefined) this.#stream?.resume();
  }

  /** The visitor is gone, or needs nothing more: the service gets a RST_STREAM (RFC 9113 section 5.4.2). */
  cancel(): void {
    this.#isOver = true;
    this.#attempt?.cancel();
    if (this.#stream !== undefined) this.#session?.reset(this.#stream);
  }

  acquired(session: LocalSession): void {
    this.#attempt = undefined;
    if (this.#isOver) return session.release();
    this.#tries += 1;
    const { isReused } = session;
    let stream;
    try {
      stream = session.request(this.#headers, {
        endStream: this.#framing.kind === 'none',
        waitForTrailers: this.#framing.kind === 'chunked',
      });
    } catch {
      // The session is closing, or the request has a field that Node does not send.
      session.release();
      return this.#tries < LOCAL_TRIES_MAX && !session.hasRoom ? this.#again() : this.#break();
    }
    this.#listen(stream, session, isReused);
    for (const piece of this.#sent ?? []) stream.write(piece);
    this.#forgetLargeBody();
    if (this.#framing.kind !== 'none' && this.isRequestDone) stream.end();
    if (!this.isBlocked) this.#owner.drained();
  }

  refused(error: Error): void {
    this.#attempt = undefined;
    this.#refuse(error);
  }

  #listen(stream: ClientHttp2Stream, session: LocalSession, isReused: boolean): void {
    this.#stream = stream;
    this.#session = session;
    this.#isEndSeen = false;
    watchEnd(stream, () => (this.#isEndSeen = true));
    stream.on('error', () => {});
    stream.on('headers', (_headers, _flags, raw) => this.#onInformational(raw));
    stream.once('response', (_headers, flags, raw) => this.#onResponse(stream, flags, raw));
    stream.on(
      'trailers',
      (_headers: unknown, _flags: unknown, raw: string[]) => (this.#responseTrailers = raw),
    );
    stream.on('drain', () => this.#owner.drained());
    stream.on('end', () => this.#onEnd());
    stream.once('wantTrailers', () => {
      if (!stream.closed && !stream.destroyed) stream.sendTrailers(this.#trailers);
    });
    stream.once('close', () => {
      // May end a wait of other requests, so this comes last.
      const isLost = session.isOver && isReused;
      this.#onClose(stream.rstCode, isLost);
      session.release();
    });
  }

  #send(piece: Buffer): void {
    if (piece.length === 0 || this.#isOver) return;
    if (this.#sent !== undefined) {
      this.#sent.push(piece);
      this.#sentBytes += piece.length;
    }
    const stream = this.#stream;
    if (stream === undefined) return;
    if (stream.writable) stream.write(piece);
    this.#forgetLargeBody();
  }

  #forgetLargeBody(): void {
    if (this.#sentBytes > LOCAL_REPEATED_BODY_MAX_BYTES) this.#sent = undefined;
  }

  #onInformational(raw: readonly string[]): void {
    const head = this.#isOver ? undefined : toHttp1Informational(raw);
    // They have no flow control, so a service could fill the memory with them.
    if (head === undefined || this.#owner.isPaused) return;
    this.#hasInformational = true;
    this.#owner.received(head);
  }

  #onResponse(stream: ClientHttp2Stream, flags: number, raw: readonly string[]): void {
    if (this.#isOver) return;
    const response = toHttp1Response(raw, this.head.method, (flags & END_STREAM) !== 0);
    if (response === undefined) return this.#refuse(new LocalFailure('local-malformed', refusedLine(raw)));
    this.#sent = undefined;
    this.#response = response.framing;
    if (typeof response.framing === 'object') this.#left = response.framing.length;
    this.#owner.received(response.head);
    stream.on('data', (piece: Buffer) => this.#onData(piece));
    if (this.#owner.isPaused) stream.pause();
  }

  #onData(piece: Buffer): void {
    const framing = this.#response;
    if (this.#isOver || piece.length === 0) return;
    if (framing === 'chunked') this.#owner.received(chunkOf(piece));
    else if (typeof framing === 'object') {
      this.#left -= piece.length;
      if (this.#left < 0) this.#break();
      else this.#owner.received(piece);
    }
  }

  /** Node also reports an end if the stream was reset with NO_ERROR. */
  #onEnd(): void {
    const framing = this.#response;
    if (this.#isOver || framing === undefined) return;
    const hasAll = typeof framing === 'object' && this.#left === 0;
    if (!this.#isEndSeen && !hasAll) return;
    if (framing === 'chunked') {
      const end = this.#responseTrailers.length === 0 ? LAST_CHUNK : toHttp1Trailers(this.#responseTrailers);
      if (end === undefined) return this.#break();
      this.#owner.received(end);
    } else if (this.#left > 0) {
      return this.#break();
    }
    if (this.#isOver) return;
    this.#isResponseDone = true;
    if (this.isRequestDone) this.#complete();
  }

  /** @param isLost whether a connection was lost that was not new */
  #onClose(code: number | undefined, isLost: boolean): void {
    if (this.#isOver) return;
    this.#stream = undefined;
    // The service needs no more of the request, whose rest is discarded.
    if (this.#isResponseDone) return this.#owner.drained();
    const isRepeatable = code === REFUSED_STREAM || (isLost && this.#isSafe);
    const hasResponse = this.#response !== undefined || this.#hasInformational;
    if (isRepeatable && !hasResponse && this.#sent !== undefined && this.#tries < LOCAL_TRIES_MAX)
      this.#again();
    else this.#break();
  }

  get #isSafe(): boolean {
    return SAFE_METHODS.has(this.head.method) && this.#framing.kind === 'none';
  }

  #again(): void {
    this.#attempt = this.#sessions.acquire(this);
  }

  #complete(): void {
    this.#isOver = true;
    this.#owner.completed();
  }

  #break(): void {
    this.cancel();
    this.#owner.broke();
  }

  #refuse(error: Error): void {
    this.#isOver = true;
    this.#owner.refused(this, error);
  }
}

/**
 * Calls back when the service ends the stream with END_STREAM. Node pushes the end of a stream that was reset as well, but
 * only after it has marked the stream as closed.
 */
function watchEnd(stream: ClientHttp2Stream, onEnd: () => void): void {
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
    if (chunk === null && !stream.closed) onEnd();
    return push(chunk, encoding);
  };
}

/** One chunk of the chunked transfer coding (RFC 9112 section 7.1). */
function chunkOf(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, LINE_END]);
}
