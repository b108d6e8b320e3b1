/**
 * A connection to an HTTP/2 service with the interface of one over HTTP/1.1: each request of a visitor becomes a stream of
 * a session, and the response of the stream becomes an HTTP/1.1 response.
 */
import { requestFraming } from '../../../shared/http1/body.ts';
import { HeadReader, parseRequestHead } from '../../../shared/http1/head.ts';
import { REQUEST_HEAD_MAX_BYTES } from '../limits.ts';
import { Http2Exchange, type Http2ExchangeOwner } from './http2-exchange.ts';
import type { LocalSession, LocalSessions } from './http2-sessions.ts';
import type { LocalConnection, LocalHandler, LocalTarget } from './local-service.ts';
import { localErrorResponse, LocalFailure } from './local-error.ts';

/** The relay has already refused longer heads. */
const NO_LIMITS = { target: Infinity, fields: Infinity };

export class Http2Connection implements LocalConnection, Http2ExchangeOwner {
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

  // For its exchange

  get isPaused(): boolean {
    return this.#isPaused;
  }

  received(bytes: Buffer): void {
    if (!this.#isClosed) this.#handler?.onLocalData(bytes);
  }

  drained(): void {
    if (this.#isClosed || !this.#owesDrain || this.#held.length > 0) return;
    this.#owesDrain = false;
    this.#handler?.onLocalDrain();
  }

  completed(): void {
    this.#exchange = undefined;
    if (this.#isEnding) return this.#close();
    const held = this.#held;
    this.#held = [];
    for (const piece of held) this.write(piece);
    if (!this.#isBlocked) this.drained();
  }

  broke(): void {
    this.#close();
  }

  refused(exchange: Http2Exchange, error: Error): void {
    const code = error instanceof LocalFailure ? error.code : 'local-refused';
    this.received(localErrorResponse(exchange.head, code, this.#target.port));
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
