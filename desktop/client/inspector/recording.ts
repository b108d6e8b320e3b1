import {
  BodyError,
  type BodyTracker,
  type Framing,
  trackBody,
  trackServiceBody,
} from '../../../shared/http1/body.ts';
import { COLON, equalsIgnoringCase, LF, SPACE, TAB, joined } from '../../../shared/http1/fields.ts';
import type { Recording, Rehearsed } from '../data/stream-filter.ts';
import type { Exchange } from './exchange.ts';

/** Maximum number of header bytes recorded for each request or response. The relay accepts no larger ones. */
export const RECORDED_HEAD_MAX_BYTES = 64 * 1024;

const CHUNKED_BODY: Framing = { kind: 'chunked' };
const SWITCHING_PROTOCOLS = 101;
const FIRST_FINAL_STATUS = 200;

/** The origin of a request. */
export interface Origin {
  /** number of the repeated request */
  readonly replayOf?: number;
  /** whether it was imported */
  readonly isImported?: boolean;
}

/** A visitor. */
export const VISITOR: Origin = {};

/** Stores exchanges. */
export interface ExchangeStore {
  /** bytes of each body to keep */
  readonly keptBody: number;
  begin(origin: Origin): Exchange;
  /** ms since the exchange began */
  elapsed(exchange: Exchange): number;
  /** Its messages need that many more bytes of memory. */
  grew(bytes: number): void;
  /** Its counts of bytes or messages have changed. They are shown a few times a second. */
  counted(exchange: Exchange): void;
  /** Its response is a stream of events, which are kept. @param isEncoded whether it has a content coding */
  streams(exchange: Exchange, isEncoded: boolean): void;
  /** Something new to show is known about the exchange: its request line, or its status. */
  changed(exchange: Exchange): void;
  /**
   * The head of its response has arrived, and nothing else of the connection is a message of HTTP.
   *
   * @returns whether it has opened a WebSocket, whose messages are kept
   */
  switched(exchange: Exchange): boolean;
  /** The response is complete, or broke off. */
  finish(exchange: Exchange, isBroken: boolean): void;
}

/**
 * Splits the data of one visitor's connection into requests and their responses.
 *
 * A relay forwards a request when the previous response is complete. On a connection that violates this, or whose
 * messages cannot be parsed, all the rest is one exchange. So is everything after a 101.
 */
export class ConnectionRecording implements Recording {
  readonly #store: ExchangeStore;
  readonly #origin: Origin;
  readonly #request = new MessageTracker();
  readonly #response = new MessageTracker((events) => this.#keepEvents(events));
  #exchange: Exchange | undefined;
  #isAnswered = false;
  #isOpaque = false;
  /** whether what follows are frames of a WebSocket */
  #isSocket = false;
  #isConnected = false;
  /** of the first exchange; later ones already had a data socket */
  #waitedMs: number;
  #expecting: Expecting = 'response';

  /** @param waitedMs as in {@link Recorder.open} */
  constructor(store: ExchangeStore, origin = VISITOR, waitedMs = 0) {
    this.#store = store;
    this.#waitedMs = waitedMs;
    this.#origin = origin;
  }

  /** The current or last request. */
  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  connected(): void {
    this.#isConnected = true;
    const exchange = this.#exchange;
    if (exchange !== undefined && !this.#isAnswered) exchange.connectedMs = this.#store.elapsed(exchange);
  }

  rehearsed(how: Rehearsed): void {
    if (this.#exchange === undefined) return;
    this.#exchange.rehearsed = how;
    this.#store.changed(this.#exchange);
  }

  toLocal(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      const exchange = this.#exchangeOfNextByte();
      if (this.#isSocket) return this.#keepMessages(exchange, true, bytes, at);
      const hadHead = this.#request.headLength > 0;
      const end = this.#isOpaque ? bytes.length : this.#request.advance(bytes, at, 'request');
      const max = captureMax(this.#request.headLength, this.#store.keptBody);
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
    if (at >= bytes.length) return;
    if (this.#isSocket) this.#keepMessages(exchange, false, bytes, at);
    // After a complete response, or on a connection that is not parsed.
    else this.#keep(exchange, bytes, at, bytes.length);
  }

  /** @param isBroken whether the connection ended uncleanly */
  end(isBroken: boolean): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#isAnswered) return;
    // A response without a length ends with its connection; any other is incomplete.
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
    const before = exchange.messages?.memory;
    const end = response.advance(bytes, at, this.#expecting);
    if (response.isEventStream && end > at) this.#counted(exchange, before);
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
    if (this.#isOpaque) {
      exchange.isRequestComplete = false;
      this.#isSocket = this.#store.switched(exchange);
    }
    if (response.isEventStream) this.#eventsOf(exchange);
    if (response.isDone && !this.#isOpaque) this.#finish(exchange, false);
    else this.#store.changed(exchange);
  }

  #keepMessages(exchange: Exchange, isFromVisitor: boolean, bytes: Buffer, start: number): void {
    if (isFromVisitor) exchange.bytesIn += bytes.length - start;
    else exchange.bytesOut += bytes.length - start;
    const before = exchange.messages?.memory;
    exchange.messages?.push(isFromVisitor, bytes, start);
    this.#counted(exchange, before);
  }

  #keepEvents(bytes: Buffer): void {
    if (this.#exchange === undefined) return;
    this.#eventsOf(this.#exchange);
    this.#exchange.messages?.push(false, bytes, 0);
  }

  #eventsOf(exchange: Exchange): void {
    // Nobody sees more of it once the log has forgotten the exchange.
    if (exchange.captures !== undefined) this.#store.streams(exchange, this.#response.isEncoded);
  }

  /** @param before the memory that its messages needed */
  #counted(exchange: Exchange, before = 0): void {
    const { messages, captures } = exchange;
    if (messages === undefined) return;
    this.#store.counted(exchange);
    // What the log has forgotten needs no memory.
    if (captures !== undefined) this.#store.grew(messages.memory - before);
  }

  #keep(exchange: Exchange, bytes: Buffer, start: number, end: number): void {
    const max = captureMax(this.#response.headLength, this.#store.keptBody);
    const grown = exchange.captures?.response.append(bytes, start, end, max) ?? 0;
    if (grown > 0) this.#store.grew(grown);
    exchange.bytesOut += end - start;
  }

  #finish(exchange: Exchange, isBroken: boolean): void {
    this.#isAnswered = true;
    this.#store.finish(exchange, isBroken);
  }
}

/** Bytes kept of a message with that head; 0 for one whose head is incomplete. */
function captureMax(headLength: number, keptBody: number): number {
  if (headLength === 0) return RECORDED_HEAD_MAX_BYTES;
  return Math.min(headLength, RECORDED_HEAD_MAX_BYTES) + keptBody;
}

/** The body that follows a head: of a request, of a response, or none (response to HEAD). */
type Expecting = 'request' | 'response' | 'response-without-body';

const LETTER_H = 0x48;
const SEMICOLON = 0x3b;
const METHOD_HEAD_LENGTH = 4;
/** Position of the status in `HTTP/1.1 200`. */
const STATUS_AT = 9;

/** Finds the end of each message in one direction of a connection. */
export class MessageTracker {
  /** bytes of the head; 0 until it is complete */
  headLength = 0;
  /** of a response whose head is complete, else 0 */
  status = 0;
  /** whether the message is complete */
  isDone = false;
  /** of a request whose head is complete: whether its method is HEAD */
  isHead = false;
  /** of a response: whether only the end of the connection ends it */
  isUntilClose = false;
  /** of a response: whether it has a body that is a stream of events */
  isEventStream = false;
  /** whether the message cannot be parsed: it lasts as long as the connection */
  isLost = false;
  readonly #onEvents: (piece: Buffer) => void;
  readonly #scan = new HeadScan();
  /** the beginning of a head that arrives in pieces */
  #held: Buffer | undefined;
  #body: BodyTracker | undefined;

  /** @param onEvents receives the body of a stream of events, without chunked coding */
  constructor(onEvents: (piece: Buffer) => void = () => {}) {
    this.#onEvents = onEvents;
  }

  /** Whether its body has a content coding. */
  get isEncoded(): boolean {
    return this.#scan.isEncoded;
  }

  /** Starts another message. */
  reset(): void {
    this.headLength = 0;
    this.isEventStream = false;
    this.status = 0;
    this.isDone = false;
    this.isHead = false;
    this.isUntilClose = false;
    this.#scan.reset();
    this.#held = undefined;
    this.#body = undefined;
  }

  /**
   * Consumes the next bytes.
   *
   * @param start where the message continues in the chunk
   * @returns one past the last byte that belongs to the message
   */
  advance(chunk: Buffer, start: number, expecting: Expecting): number {
    if (this.isLost) return chunk.length;
    return this.headLength === 0 ? this.#readHead(chunk, start, expecting) : this.#followBody(chunk, start);
  }

  #readHead(chunk: Buffer, start: number, expecting: Expecting): number {
    const part = start === 0 ? chunk : chunk.subarray(start);
    const held = this.#held;
    const bytes = held === undefined ? part : joined(held, part);
    if (!this.#scan.scan(bytes)) {
      // A copy, because receivers of the chunk may change it.
      this.#held = held === undefined ? Buffer.from(part) : bytes;
      this.isLost = bytes.length > RECORDED_HEAD_MAX_BYTES;
      return chunk.length;
    }
    this.#held = undefined;
    this.headLength = this.#scan.end;
    this.#expectBody(bytes, expecting);
    return this.#followBody(chunk, start + this.#scan.end - (held?.length ?? 0));
  }

  #expectBody(head: Buffer, expecting: Expecting): void {
    const { isChunked, length } = this.#scan;
    if (expecting === 'request') {
      this.isHead = head[0] === LETTER_H && head[METHOD_HEAD_LENGTH] === SPACE;
    } else {
      const status = readStatus(head);
      this.status = status;
      if (expecting === 'response-without-body' || status < 200 || status === 204 || status === 304) return;
      this.isUntilClose = !isChunked && length === undefined;
      this.isEventStream = this.#scan.isEventStream;
    }
    const onPayload = this.isEventStream ? this.#onEvents : undefined;
    if (isChunked)
      this.#body =
        expecting === 'request' ? trackBody(CHUNKED_BODY) : trackServiceBody(CHUNKED_BODY, { onPayload });
    else if (this.isUntilClose) this.#body = trackBody({ kind: 'until-close' });
    else if (length !== undefined && length > 0) this.#body = trackBody({ kind: 'length', length });
  }

  #followBody(chunk: Buffer, start: number): number {
    const body = this.#body;
    if (body === undefined) {
      this.isDone = true;
      return start;
    }
    try {
      const end = body.advance(chunk, start);
      this.isDone = body.done;
      if (this.isEventStream && !this.#scan.isChunked && end > start)
        this.#onEvents(chunk.subarray(start, end));
      return end;
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.isLost = true;
      return chunk.length;
    }
  }
}

/** Three digits, or 0. */
function readStatus(head: Buffer): number {
  let status = 0;
  for (let at = STATUS_AT; at < STATUS_AT + 3; at++) {
    const digit = (head[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    status = status * 10 + digit;
  }
  return status;
}

/*
 * Finds the end of a message head, and the length of its body. The relay has already parsed the request strictly
 * (shared/http1), and will parse the response the same way. Nothing is decided here, and looking at each byte once
 * instead of parsing fields saves four fifths of the time.
 */

const CONTENT_LENGTH = 'content-length';
const CONTENT_TYPE = 'content-type';
const CONTENT_ENCODING = 'content-encoding';
const IDENTITY = 'identity';
const EVENT_STREAM = 'text/event-stream';
const TRANSFER_ENCODING = 'transfer-encoding';
const CHUNKED = 'chunked';
const LOWER_C = 0x63;
const LOWER_T = 0x74;

export class HeadScan {
  /** bytes of the head, including its empty line; 0 until it is complete */
  end = 0;
  /** the value of `Content-Length`, in bytes */
  length: number | undefined = undefined;
  isChunked = false;
  isEventStream = false;
  /** whether there is a content coding */
  isEncoded = false;
  #line = 0;
  /** bytes scanned so far */
  #looked = 0;

  /** Starts another head. */
  reset(): void {
    this.end = 0;
    this.length = undefined;
    this.isChunked = false;
    this.isEventStream = false;
    this.isEncoded = false;
    this.#line = 0;
    this.#looked = 0;
  }

  /**
   * @param bytes the message so far; starts with the bytes of the previous call
   * @returns whether the head is complete
   */
  scan(bytes: Buffer): boolean {
    const { length } = bytes;
    let line = this.#line;
    for (let at = this.#looked; at < length; at++) {
      if (bytes[at] !== LF) continue;
      // Empty, or only a CR: the empty line.
      if (at - line < 2 && line > 0) {
        this.end = at + 1;
        return true;
      }
      if (line > 0) this.#readField(bytes, line, at);
      line = at + 1;
    }
    this.#line = line;
    this.#looked = length;
    return false;
  }

  #readField(bytes: Buffer, start: number, end: number): void {
    const initial = (bytes[start] ?? 0) | 0x20;
    if (initial === LOWER_C) {
      if (isField(bytes, start, CONTENT_LENGTH))
        this.length = readNumber(bytes, start + CONTENT_LENGTH.length + 1, end);
      else if (isField(bytes, start, CONTENT_TYPE))
        this.isEventStream = isEventStream(bytes, start + CONTENT_TYPE.length + 1, end);
      else if (isField(bytes, start, CONTENT_ENCODING)) {
        const value = afterBlanks(bytes, start + CONTENT_ENCODING.length + 1);
        this.isEncoded = !equalsIgnoringCase(bytes, value, lastVisible(bytes, end), IDENTITY);
      }
    } else if (initial === LOWER_T && isField(bytes, start, TRANSFER_ENCODING)) {
      const last = lastVisible(bytes, end);
      this.isChunked = equalsIgnoringCase(bytes, last - CHUNKED.length, last, CHUNKED);
    }
  }
}

function isField(bytes: Buffer, start: number, name: string): boolean {
  const end = start + name.length;
  return bytes[end] === COLON && equalsIgnoringCase(bytes, start, end, name);
}

/** Whether a value is that media type, with or without parameters. */
function isEventStream(bytes: Buffer, start: number, end: number): boolean {
  const at = afterBlanks(bytes, start);
  const after = at + EVENT_STREAM.length;
  const next = bytes[after] ?? 0;
  return (
    after <= end &&
    equalsIgnoringCase(bytes, at, after, EVENT_STREAM) &&
    (next === SEMICOLON || next <= SPACE)
  );
}

function afterBlanks(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at] === SPACE || bytes[at] === TAB) at += 1;
  return at;
}

function readNumber(bytes: Buffer, start: number, end: number): number | undefined {
  let number: number | undefined;
  for (let at = afterBlanks(bytes, start); at < end; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    number = (number ?? 0) * 10 + digit;
  }
  return number;
}

/** One past the last byte of a line that is not white space. */
function lastVisible(bytes: Buffer, end: number): number {
  let last = end;
  while ((bytes[last - 1] ?? 0x21) <= SPACE) last -= 1;
  return last;
}
