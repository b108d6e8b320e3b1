/**
 * One HTTP/2 stream as a connection with a single HTTP/1.1 request, so that it is served like any other connection
 * (docs/decisions/0024-http2.md).
 */
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { Duplex } from 'node:stream';
import { HTTP2_PIECE_MIN_BYTES, HTTP2_SLOW_PIECE_MS, HTTP2_WIDEN_BYTES } from '../../limits.ts';
import type { VisitorConnection } from '../visitor-socket.ts';
import { type RequestBody, writeRequestHead, writeTrailers } from './request-head.ts';
import { ResponseFrames } from './response-frames.ts';

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR } = constants;
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
}

export class StreamConnection extends Duplex implements VisitorConnection {
  readonly #stream: ServerHttp2Stream;
  readonly #frames: ResponseFrames;
  readonly #body: RequestBody;
  /** whether the request ends with its head */
  readonly #isComplete: boolean;
  readonly #flow: StreamFlow;
  /** bytes of the body that were passed on without a long pause */
  #flowed = 0;
  #pausedAt = Infinity;
  #trailers: Buffer | undefined = LAST_CHUNK;
  #isResponseComplete = false;
  /** content that waits to be given to the stream */
  #content: Buffer[] = [];
  #onSent: (() => void) | undefined;
  #isSlow = false;
  #stall: NodeJS.Timeout | undefined;
  bytesRead = 0;
  bytesWritten = 0;

  /**
   * @param stream just opened by the visitor
   * @param fields of its request, as Node gives them to listeners of `stream`
   * @param isComplete whether the request ends with its head
   */
  constructor(stream: ServerHttp2Stream, fields: readonly string[], isComplete: boolean, flow: StreamFlow) {
    super({ readableHighWaterMark: INPUT_MAX_BYTES, writableHighWaterMark: 0 });
    const { bytes, body, isHead } = writeRequestHead(fields, isComplete);
    this.#stream = stream;
    this.#body = body;
    this.#isComplete = isComplete;
    this.#flow = flow;
    this.#frames = new ResponseFrames(stream, isHead, {
      pieceMax: () => flow.pieceMax,
      send: (content) => this.#content.push(content),
      complete: () => (this.#isResponseComplete = true),
    });
    stream.on('error', () => this.destroy());
    stream.on('close', () => this.destroy());
    this.#give(bytes);
    if (isComplete) stream.resume();
    else this.#readBody();
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
    // The connection stays open behind the body: its visitor is still there.
    stream.on('end', () => {
      if (stream.aborted || this.#body !== 'chunked') return;
      if (this.#trailers === undefined) stream.close(NGHTTP2_PROTOCOL_ERROR);
      else this.#give(this.#trailers);
    });
  }

  #give(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.#flowed += bytes.length;
    if (this.#flowed > HTTP2_WIDEN_BYTES) this.#flow.widen();
    if (this.push(bytes)) return;
    this.#pausedAt = performance.now();
    this.#stream.pause();
  }

  // Of a socket

  /** Cuts the response short. */
  resetAndDestroy(): this {
    return this.destroy();
  }

  /** Emits `timeout` when the visitor has taken nothing for this long; 0: never. */
  setTimeout(ms: number): this {
    clearTimeout(this.#stall);
    this.#stall = ms === 0 ? undefined : setTimeout(() => this.emit('timeout'), ms).unref();
    return this;
  }

  // Of a stream

  override _read(): void {
    if (performance.now() - this.#pausedAt > PAUSE_MS) this.#flowed = 0;
    this.#pausedAt = Infinity;
    this.#stream.resume();
  }

  override _write(bytes: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.bytesWritten += bytes.length;
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return done();
    try {
      this.#frames.push(bytes);
    } catch {
      // The service's response does not fit HTTP/2.
      this.destroy();
      return done();
    }
    this.#onSent = done;
    this.#sendNext();
  }

  /** Sends the waiting content piece by piece, because Node does not report how much of a piece was read. */
  #sendNext(): void {
    const content = this.#content.shift();
    if (content === undefined) return this.#onAllSent();
    const size = this.#isSlow ? HTTP2_PIECE_MIN_BYTES : this.#flow.pieceMax;
    const piece = content.length > size ? content.subarray(0, size) : content;
    if (piece !== content) this.#content.unshift(content.subarray(size));
    const begin = performance.now();
    const sent = (): void => {
      this.#isSlow = performance.now() - begin > HTTP2_SLOW_PIECE_MS;
      this.#stall?.refresh();
      this.#sendNext();
    };
    // The end fits into the frame of the last piece.
    if (this.#isResponseComplete && this.#content.length === 0) this.#stream.end(piece, sent);
    else this.#stream.write(piece, sent);
  }

  #onAllSent(): void {
    if (this.#isResponseComplete) this.#endStream();
    const done = this.#onSent;
    this.#onSent = undefined;
    done?.();
  }

  /** The response is complete. If the visitor is still sending its request, it should stop (RFC 9113 section 8.1). */
  #endStream(): void {
    const stream = this.#stream;
    const stop = (): void => {
      if (!this.#isComplete && !stream.readableEnded) stream.close(NGHTTP2_NO_ERROR);
    };
    if (stream.destroyed) return;
    if (!stream.writableEnded) stream.end(stop);
    else if (stream.writableFinished) stop();
    else stream.once('finish', stop);
  }

  override _final(done: (error?: Error) => void): void {
    const stream = this.#stream;
    if (this.#isResponseComplete || this.#frames.endsWithConnection) {
      this.#isResponseComplete = true;
      this.#endStream();
    } else {
      this.destroy();
    }
    if (stream.destroyed || stream.writableFinished) done();
    else stream.once('finish', () => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#stall);
    this.#content = [];
    const stream = this.#stream;
    if (!stream.destroyed && !stream.closed)
      stream.close(
        this.#isResponseComplete && stream.writableFinished ? NGHTTP2_NO_ERROR : NGHTTP2_INTERNAL_ERROR,
      );
    done(error);
    this.#onSent?.();
    this.#onSent = undefined;
  }
}
