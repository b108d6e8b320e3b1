import type { Recording } from '../data/recorder.ts';
import { RECORDED_BODY_MAX_BYTES, RECORDED_HEAD_MAX_BYTES } from '../limits.ts';
import type { Exchange } from './exchange.ts';
import { type Expecting, MessageTracker } from './message-tracker.ts';

const SWITCHING_PROTOCOLS = 101;
const FIRST_FINAL_STATUS = 200;

/** Where exchanges are kept. */
export interface ExchangeStore {
  begin(replayOf: number | undefined): Exchange;
  /** Something worth showing is known of the exchange: its request line, its status. */
  changed(exchange: Exchange): void;
  /** Its answer is complete, or broke off. */
  finish(exchange: Exchange, isBroken: boolean): void;
}

/**
 * Splits what passes on one visitor's connection into requests with their answers.
 *
 * A relay hands on a request when the answer before it is complete. Of a connection on which that is not so, or whose
 * messages cannot be followed, all the rest is one exchange; so it is after a 101.
 */
export class ConnectionRecording implements Recording {
  readonly #store: ExchangeStore;
  readonly #replayOf: number | undefined;
  readonly #request = new MessageTracker();
  readonly #answer = new MessageTracker();
  #exchange: Exchange | undefined;
  #isAnswered = false;
  #isOpaque = false;
  #expecting: Expecting = 'answer';

  /** @param replayOf number of the request that is repeated */
  constructor(store: ExchangeStore, replayOf?: number) {
    this.#store = store;
    this.#replayOf = replayOf;
  }

  /** The request that passes or passed last. */
  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  toLocal(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const exchange = this.#exchangeOfNextByte();
      const hadHead = this.#request.headLength > 0;
      const end = this.#isOpaque ? bytes.length : this.#request.advance(bytes, at, 'request');
      exchange.captures?.request.append(bytes, at, end, captureMax(this.#request.headLength));
      exchange.bytesIn += end - at;
      exchange.isRequestComplete = this.#request.isDone && !this.#isOpaque;
      if (!hadHead && this.#request.headLength > 0) {
        this.#expecting = this.#request.isHead ? 'answer-without-body' : 'answer';
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
    // Behind a complete answer, or on a connection that is not followed.
    if (at < bytes.length) this.#keep(exchange, bytes, at, bytes.length);
  }

  /** @param isBroken the connection did not come to a clean end */
  end(isBroken: boolean): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#isAnswered) return;
    // An answer without a length ends with its connection; any other had more to come.
    const isComplete = this.#isOpaque || this.#answer.isUntilClose;
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
    this.#answer.reset();
    this.#isAnswered = false;
    this.#exchange = this.#store.begin(this.#replayOf);
    return this.#exchange;
  }

  #follow(exchange: Exchange, bytes: Buffer, at: number): number {
    const answer = this.#answer;
    const hadHead = answer.headLength > 0;
    const end = answer.advance(bytes, at, this.#expecting);
    this.#keep(exchange, bytes, at, end);
    if (!hadHead && answer.headLength > 0) this.#onAnswerHead(exchange);
    else if (answer.isDone) this.#finish(exchange, false);
    return end;
  }

  #onAnswerHead(exchange: Exchange): void {
    const answer = this.#answer;
    const { status } = answer;
    if (status < FIRST_FINAL_STATUS && status !== SWITCHING_PROTOCOLS) {
      exchange.captures?.answer.clear();
      answer.reset();
      return;
    }
    exchange.status = status;
    this.#isOpaque = status === SWITCHING_PROTOCOLS;
    if (this.#isOpaque) exchange.isRequestComplete = false;
    if (answer.isDone && !this.#isOpaque) this.#finish(exchange, false);
    else this.#store.changed(exchange);
  }

  #keep(exchange: Exchange, bytes: Buffer, start: number, end: number): void {
    exchange.captures?.answer.append(bytes, start, end, captureMax(this.#answer.headLength));
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
