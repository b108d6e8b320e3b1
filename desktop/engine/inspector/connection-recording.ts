import type { Recording } from '../data/recorder.ts';
import { RECORDED_BODY_MAX_BYTES, RECORDED_HEAD_MAX_BYTES } from '../limits.ts';
import type { Exchange } from './exchange.ts';
import { type Expecting, MessageTracker } from './message-tracker.ts';

const SWITCHING_PROTOCOLS = 101;
const FIRST_FINAL_STATUS = 200;

/** Where a request comes from. */
export interface Origin {
  /** number of the request that it repeats */
  readonly replayOf?: number;
  /** whether it was written down elsewhere */
  readonly isImported?: boolean;
}

const VISITOR: Origin = {};

/** Where exchanges are kept. */
export interface ExchangeStore {
  begin(origin: Origin): Exchange;
  /** ms since the exchange began */
  elapsed(exchange: Exchange): number;
  /** Its messages take up so many bytes more. */
  grew(bytes: number): void;
  /** Something worth showing is known about the exchange: its request line, its status. */
  changed(exchange: Exchange): void;
  /** Its response is complete, or broke off. */
  finish(exchange: Exchange, isBroken: boolean): void;
}

/**
 * Splits what passes on one visitor's connection into requests and their responses.
 *
 * A relay hands on a request when the response before it is complete. On a connection where it is not, or whose messages
 * cannot be followed, all the rest is one exchange; after a 101, too.
 */
export class ConnectionRecording implements Recording {
  readonly #store: ExchangeStore;
  readonly #origin: Origin;
  readonly #request = new MessageTracker();
  readonly #response = new MessageTracker();
  #exchange: Exchange | undefined;
  #isAnswered = false;
  #isOpaque = false;
  #isConnected = false;
  /** of the first exchange; later ones found a data socket */
  #waitedMs: number;
  #expecting: Expecting = 'response';

  /** @param waitedMs what {@link Recorder.open} was told */
  constructor(store: ExchangeStore, origin = VISITOR, waitedMs = 0) {
    this.#store = store;
    this.#waitedMs = waitedMs;
    this.#origin = origin;
  }

  /** The request that is passing or has passed last. */
  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  connected(): void {
    this.#isConnected = true;
    const exchange = this.#exchange;
    if (exchange !== undefined && !this.#isAnswered) exchange.connectedMs = this.#store.elapsed(exchange);
  }

  toLocal(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const exchange = this.#exchangeOfNextByte();
      const hadHead = this.#request.headLength > 0;
      const end = this.#isOpaque ? bytes.length : this.#request.advance(bytes, at, 'request');
      const max = captureMax(this.#request.headLength);
      const grown = exchange.captures?.request.append(bytes, at, end, max) ?? 0;
      if (grown > 0) this.#store.grew(grown);
      exchange.bytesIn += end - at;
      exchange.isRequestComplete = this.#request.isDone && !this.#isOpaque;
      if (!hadHead && this.#request.headLength > 0) {
        this.#expecting = this.#request.isHead ? 'response-without-body' : 'response';
        this.#store.changed(exchange);
      }
      at = end;
    }
  }

  toVisitor(bytes: Buffer): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    let at = 0;
    while (at < bytes.length && !this.#isAnswered && !this.#isOpaque) at = this.#follow(exchange, bytes, at);
    // After a complete response, or on a connection that is not followed.
    if (at < bytes.length) this.#keep(exchange, bytes, at, bytes.length);
  }

  /** @param isBroken the connection did not come to a clean end */
  end(isBroken: boolean): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#isAnswered) return;
    // A response without a length ends with its connection; any other had more to come.
    const isComplete = this.#isOpaque || this.#response.isUntilClose;
    this.#finish(exchange, isBroken || !isComplete);
  }

  #exchangeOfNextByte(): Exchange {
    const current = this.#exchange;
    if (current !== undefined && (this.#isOpaque || !this.#request.isDone)) return current;
    if (current !== undefined && !this.#isAnswered) {
      this.#isOpaque = true;
      return current;
    }
    this.#request.reset();
    this.#response.reset();
    this.#isAnswered = false;
    const exchange = this.#store.begin(this.#origin);
    exchange.waitedMs = this.#waitedMs;
    this.#waitedMs = 0;
    if (this.#isConnected) exchange.connectedMs = 0;
    this.#exchange = exchange;
    return exchange;
  }

  #follow(exchange: Exchange, bytes: Buffer, at: number): number {
    const response = this.#response;
    const hadHead = response.headLength > 0;
    const end = response.advance(bytes, at, this.#expecting);
    this.#keep(exchange, bytes, at, end);
    if (!hadHead && response.headLength > 0) this.#onResponseHead(exchange);
    else if (response.isDone) this.#finish(exchange, false);
    return end;
  }

  #onResponseHead(exchange: Exchange): void {
    const response = this.#response;
    const { status } = response;
    if (status < FIRST_FINAL_STATUS && status !== SWITCHING_PROTOCOLS) {
      exchange.captures?.response.clear();
      response.reset();
      return;
    }
    exchange.status = status;
    exchange.answeredMs = this.#store.elapsed(exchange);
    this.#isOpaque = status === SWITCHING_PROTOCOLS;
    if (this.#isOpaque) exchange.isRequestComplete = false;
    if (response.isDone && !this.#isOpaque) this.#finish(exchange, false);
    else this.#store.changed(exchange);
  }

  #keep(exchange: Exchange, bytes: Buffer, start: number, end: number): void {
    const max = captureMax(this.#response.headLength);
    const grown = exchange.captures?.response.append(bytes, start, end, max) ?? 0;
    if (grown > 0) this.#store.grew(grown);
    exchange.bytesOut += end - start;
  }

  #finish(exchange: Exchange, isBroken: boolean): void {
    this.#isAnswered = true;
    this.#store.finish(exchange, isBroken);
  }
}

/** Bytes that are kept of a message with that head; 0 for one whose head is incomplete. */
function captureMax(headLength: number): number {
  if (headLength === 0) return RECORDED_HEAD_MAX_BYTES;
  return Math.min(headLength, RECORDED_HEAD_MAX_BYTES) + RECORDED_BODY_MAX_BYTES;
}
