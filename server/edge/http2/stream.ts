/**
 * One HTTP/2 stream as a connection with a single HTTP/1.1 request, so that it is served like any other connection
 * (docs/decisions/0024-http2.md).
 */
import { joined } from '../../../shared/http1/fields.ts';
import type { MessageField } from '../message-fields.ts';
import type { ConnectionOwner, MessageTaker, VisitorConnection } from '../visitor-connection.ts';
import {
  DATA,
  END_STREAM,
  FLOW_CONTROL_ERROR,
  frame,
  FRAME_MAX,
  headersFrames,
  INTERNAL_ERROR,
  NO_ERROR,
  PROTOCOL_ERROR,
  STREAM_CLOSED,
  WINDOW_MAX,
} from './frames.ts';
import type { HeaderEncoder } from './hpack.ts';
import type { WrittenHead } from './request.ts';

/** How long the response to a request that ended too early may pause: its service must not wait for the rest for long. */
const RESPONSE_PAUSE_MS = 500;
/** What a line of HTTP/1.1 has beside a name and a value. */
const LINE_EXTRA = 4;
const LAST_CHUNK = Buffer.from('0\r\n\r\n');
const EMPTY = Buffer.alloc(0);

/** The head of a response. */
export interface MessageHead {
  readonly status: number;
  readonly fields: readonly MessageField[];
}

/** The connection of a stream. */
export interface StreamCarrier {
  /** monotonic ms */
  readonly now: () => number;
  /** The stream has something to send. */
  ready(stream: Http2Stream): void;
  /** More or less of its request waits for its reader. */
  waits(change: number): void;
  /** The reader has accepted content, and the visitor may send as much again. */
  accepted(stream: Http2Stream, bytes: number): void;
  /** Sends RST_STREAM and forgets the stream. */
  reset(stream: Http2Stream, code: number): void;
  /** Both sides have ended. */
  over(stream: Http2Stream): void;
  /** Sends an informational response, unless it would have to wait. */
  inform(stream: Http2Stream, head: MessageHead): void;
}

export class Http2Stream implements VisitorConnection, MessageTaker {
  readonly id: number;
  readonly #carrier: StreamCarrier;
  #owner: ConnectionOwner | undefined;
  readonly messages = this;
  /** how soon its response is sent: from 0, which comes first, to 7 */
  urgency: number;

  // The request
  readonly #bodyKind: WrittenHead['body'];
  /** bytes of the announced length that have not arrived */
  #missing: number;
  /** bytes that wait for a reader, the head first, and how many of them the visitor sent as content */
  #input: Buffer | undefined;
  #inputContent = 0;
  /** the same of those that the reader was given last: they wait as well, until it asks for more */
  #given = { bytes: 0, content: 0 };
  #isFlowing = false;
  #hasEnded = false;
  /** whether the visitor has ended its side of a WebSocket, which its reader has not been told */
  #endWaits = false;
  /** bytes that the visitor may still send */
  receiveWindow: number;
  /** content that waits for a reader */
  waiting = 0;
  /** bytes that wait for a reader, as HTTP/1.1 */
  inputWaiting = 0;
  /** Monotonic ms since which content has waited without any being accepted; `Infinity` while none waits. */
  waitsSince = Infinity;

  // The response
  #hasBegun = false;
  #head: MessageHead | undefined;
  readonly #content: Buffer[] = [];
  #contentBytes = 0;
  #trailers: readonly MessageField[] = [];
  /** whether everything that belongs to the response has been written */
  #isComplete = false;
  /** whether END_STREAM was sent */
  #isEnded = false;
  sendWindow: number;
  #onFlushed: (() => void) | undefined;
  #stallMs = 0;
  #stallsAt = Infinity;
  /** Monotonic ms when the response to an incomplete request is given up; `Infinity` for other requests. */
  #failsAt = Infinity;

  destroyed = false;
  bytesRead: number;
  bytesWritten = 0;
  writableLength = 0;
  /** Everything that waits is kept here, because it is counted here. */
  readonly inputMax = 1;
  /** Visitors reject other responses. */
  readonly statusMax = 599;

  /**
   * @param windows bytes that either side may send at first
   * @param isComplete whether the request ends with its head
   */
  constructor(
    id: number,
    { bytes, body, length, urgency }: WrittenHead,
    isComplete: boolean,
    windows: { readonly receive: number; readonly send: number },
    carrier: StreamCarrier,
  ) {
    this.id = id;
    this.#carrier = carrier;
    this.#bodyKind = body;
    this.urgency = urgency;
    this.#missing = length;
    this.#hasEnded = isComplete;
    this.receiveWindow = windows.receive;
    this.sendWindow = windows.send;
    this.bytesRead = bytes.length;
    this.#input = bytes;
    this.inputWaiting = bytes.length;
    carrier.waits(bytes.length);
  }

  /** Whether the body of the request may continue. */
  get receives(): boolean {
    return !this.#hasEnded;
  }

  /** Whether it opens a WebSocket (RFC 8441). */
  get isWebSocket(): boolean {
    return this.#bodyKind === 'websocket';
  }

  /** Whether the request ended without the body that it announced. */
  get lacksBody(): boolean {
    return this.#hasEnded && this.#missing > 0;
  }

  // For its connection: the request

  /**
   * Content has arrived.
   *
   * @returns how much of it nobody will read
   */
  receive(content: Buffer): number {
    if (this.destroyed || content.length === 0) return content.length;
    if (this.#bodyKind === 'length') {
      this.#missing -= content.length;
      if (this.#missing < 0) {
        this.fail(PROTOCOL_ERROR);
        return content.length;
      }
      this.#give(content, content.length);
    } else if (this.#bodyKind === 'chunked') this.#give(chunk(content), content.length);
    else if (this.isWebSocket) this.#give(content, content.length);
    else return content.length;
    if (this.waiting > 0 && this.waitsSince === Infinity) this.waitsSince = this.#carrier.now();
    return 0;
  }

  /** The request has ended. @param trailers its last bytes in the chunked coding */
  ends(trailers: Buffer | 'malformed' = LAST_CHUNK): void {
    this.#hasEnded = true;
    if (this.destroyed) return;
    if (trailers === 'malformed' || this.#missing > 0) return this.#endIncomplete();
    if (this.#bodyKind === 'chunked') this.#give(trailers, 0);
    if (this.isWebSocket) {
      this.#endWaits = true;
      this.#passInput();
    }
    if (this.#isEnded && this.writableLength === 0) this.#over();
  }

  /** Some visitors, such as curl, stop sending when they see the response, and end the stream. */
  #endIncomplete(): void {
    if (!this.#hasBegun) return this.fail(PROTOCOL_ERROR);
    this.#failsAt = this.#carrier.now() + RESPONSE_PAUSE_MS;
    if (this.#isEnded && this.writableLength === 0) this.#over();
  }

  /** The visitor has closed the stream, or its connection is closed. */
  aborted(): void {
    if (this.destroyed) return;
    this.#drop();
    process.nextTick(Http2Stream.#tellClosed, this);
  }

  /** Closes the stream because of what the visitor sent. */
  fail(code: number): void {
    if (this.destroyed) return;
    this.#drop();
    this.#carrier.reset(this, code);
    process.nextTick(Http2Stream.#tellClosed, this);
  }

  /** The visitor has used this much of its window. */
  spend(bytes: number): void {
    this.receiveWindow -= bytes;
    if (this.#hasEnded) this.fail(STREAM_CLOSED);
    else if (this.receiveWindow < 0) this.fail(FLOW_CONTROL_ERROR);
  }

  #give(bytes: Buffer, content: number): void {
    this.bytesRead += bytes.length;
    this.waiting += content;
    // What waits is copied: a small piece would keep the whole read in memory that it has arrived in.
    const isNext = this.#isFlowing && this.#input === undefined;
    this.#input = isNext ? bytes : joined(this.#input ?? EMPTY, bytes);
    this.#inputContent += content;
    this.#count(bytes.length);
    this.#passInput();
  }

  #passInput(): void {
    let accepted = 0;
    while (this.#isFlowing && !this.destroyed) {
      const { bytes, content } = this.#given;
      this.waiting -= content;
      accepted += content;
      if (bytes > 0) this.#count(-bytes);
      const piece = this.#input;
      this.#given = { bytes: piece?.length ?? 0, content: this.#inputContent };
      this.#input = undefined;
      this.#inputContent = 0;
      if (piece === undefined) break;
      this.#owner?.arrived(piece);
    }
    if (this.#endWaits && this.#isFlowing) {
      this.#endWaits = false;
      this.#owner?.ended();
    }
    // Even if the reader has just closed the stream: the connection returns only what still waits.
    if (accepted === 0) return;
    this.waitsSince = this.waiting > 0 ? this.#carrier.now() : Infinity;
    this.#carrier.accepted(this, accepted);
  }

  static #goOn(this: void, stream: Http2Stream): void {
    stream.#passInput();
  }

  static #tellClosed(this: void, stream: Http2Stream): void {
    stream.#owner?.closed();
  }

  #count(change: number): void {
    this.inputWaiting += change;
    this.#carrier.waits(change);
  }

  // For its connection: the response

  /** Whether it has something to send that only its own window may hold up. */
  get hasOutput(): boolean {
    if (this.destroyed || this.#isEnded) return false;
    if (this.#head !== undefined) return true;
    return this.#contentBytes > 0 ? this.sendWindow > 0 : this.#isComplete;
  }

  /** Whether it cannot send anything while the connection may not carry content. */
  get needsWindow(): boolean {
    return this.#head === undefined && this.#contentBytes > 0;
  }

  /** Whether both sides have ended it, as far as the visitor knows. */
  get isDone(): boolean {
    return this.#isEnded && this.#hasEnded;
  }

  /** Whether something of the response waits to be taken. */
  get #hasUnsent(): boolean {
    return this.#contentBytes > 0 || this.#head !== undefined || (this.#isComplete && !this.#isEnded);
  }

  /** @returns false if that is more than a window may be (RFC 9113 section 6.9.1) */
  grow(bytes: number): boolean {
    this.sendWindow += bytes;
    return this.sendWindow <= WINDOW_MAX;
  }

  /**
   * Hands over its next frames: the head, and up to one frame of content.
   *
   * @param window bytes of content that the connection may carry
   * @returns bytes of content
   */
  take(to: Buffer[], encoder: HeaderEncoder, window: number): number {
    if (this.#head !== undefined) {
      const isWhole = this.#isComplete && this.#contentBytes === 0 && this.#trailers.length === 0;
      const { status, fields } = this.#head;
      this.#head = undefined;
      to.push(...headersFrames(this.id, block(encoder, fields, status), isWhole));
      if (isWhole) this.#isEnded = true;
    }
    const bytes = Math.max(0, Math.min(this.#contentBytes, this.sendWindow, window, FRAME_MAX));
    const isLast = this.#isComplete && bytes === this.#contentBytes;
    if (bytes > 0) {
      const isEnd = isLast && this.#trailers.length === 0;
      to.push(frame(DATA, isEnd ? END_STREAM : 0, this.id, bytes));
      this.#takeContent(to, bytes);
      if (isEnd) this.#isEnded = true;
    }
    if (isLast && !this.#isEnded) {
      this.#isEnded = true;
      if (this.#trailers.length === 0) to.push(frame(DATA, END_STREAM, this.id, 0));
      else to.push(...headersFrames(this.id, block(encoder, this.#trailers), true));
    }
    return bytes;
  }

  #takeContent(to: Buffer[], bytes: number): void {
    this.sendWindow -= bytes;
    this.#contentBytes -= bytes;
    for (let missing = bytes; missing > 0;) {
      const [piece = EMPTY] = this.#content;
      if (piece.length <= missing) this.#content.shift();
      else this.#content[0] = piece.subarray(missing);
      to.push(piece.length <= missing ? piece : piece.subarray(0, missing));
      missing -= Math.min(missing, piece.length);
    }
  }

  /** What it handed over has been accepted by the system. */
  sent(): void {
    if (this.destroyed) return;
    this.#stallsAt = this.#stallMs === 0 ? Infinity : this.#carrier.now() + this.#stallMs;
    if (this.#hasUnsent) return;
    this.writableLength = 0;
    this.#owner?.sent();
    this.#onFlushed?.();
    this.#onFlushed = undefined;
    if (this.#isEnded) this.#over();
  }

  /** Ends a visitor that takes nothing, by its own time limit. */
  tick(now: number): void {
    if (now >= this.#failsAt && !this.#isComplete) return this.fail(PROTOCOL_ERROR);
    if (now < this.#stallsAt) return;
    this.#stallsAt = Infinity;
    this.#owner?.stalled();
  }

  /** The response was sent. If the visitor is still sending its request, it should stop (RFC 9113 section 8.1). */
  #over(): void {
    if (this.destroyed) return;
    this.#drop();
    if (this.#hasEnded) this.#carrier.over(this);
    else this.#carrier.reset(this, NO_ERROR);
    process.nextTick(Http2Stream.#tellClosed, this);
  }

  #drop(): void {
    this.destroyed = true;
    this.#stallsAt = Infinity;
    this.#content.length = 0;
    this.#contentBytes = 0;
    this.#input = undefined;
    this.writableLength = 0;
    this.#count(-this.inputWaiting);
  }

  // Of a socket

  attach(owner: ConnectionOwner): void {
    this.#owner = owner;
  }

  /** Hands over the head of the request, and whatever follows it. To be called once, when there is an owner. */
  start(): void {
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
    process.nextTick(Http2Stream.#goOn, this);
  }

  /** Content of the response. */
  write(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.bytesWritten += bytes.length;
    if (this.destroyed) return;
    this.#content.push(bytes);
    this.#contentBytes += bytes.length;
    this.#hasMore(bytes.length);
  }

  end(onFlushed: () => void): void {
    if (this.destroyed) return;
    // The service's response breaks off.
    if (!this.#isComplete) return this.destroy();
    this.#onFlushed = onFlushed;
    this.#carrier.ready(this);
  }

  destroy(): void {
    this.fail(INTERNAL_ERROR);
  }

  /** Cuts the response short. */
  resetAndDestroy(): void {
    this.destroy();
  }

  setTimeout(ms: number): void {
    this.#stallMs = ms;
    this.#stallsAt = ms === 0 || this.destroyed ? Infinity : this.#carrier.now() + ms;
  }

  // Of a taker of messages

  begin(status: number, fields: readonly MessageField[]): void {
    const bytes = fields.reduce((sum, { name, value }) => sum + name.length + value.length + LINE_EXTRA, 0);
    this.bytesWritten += bytes;
    if (this.destroyed) return;
    const sent = this.isWebSocket ? statusOfConnect(status) : status;
    if (sent < 200) return this.#carrier.inform(this, { status, fields });
    this.#head = { status: sent, fields };
    this.#hasBegun = true;
    this.#hasMore(bytes);
  }

  finish(trailers: readonly MessageField[]): void {
    if (this.destroyed) return;
    this.#trailers = trailers;
    this.#isComplete = true;
    this.#hasMore(0);
  }

  #hasMore(bytes: number): void {
    if (this.#failsAt !== Infinity) this.#failsAt = this.#carrier.now() + RESPONSE_PAUSE_MS;
    this.writableLength += bytes;
    this.#carrier.ready(this);
  }
}

/** Content in the chunked coding (RFC 9112 section 7.1). */
function chunk(content: Buffer): Buffer {
  const size = `${content.length.toString(16)}\r\n`;
  const bytes = Buffer.allocUnsafe(size.length + content.length + 2);
  bytes.write(size, 'latin1');
  content.copy(bytes, size.length);
  bytes.write('\r\n', size.length + content.length, 'latin1');
  return bytes;
}

/** Any success accepts the WebSocket (RFC 8441 section 5), but that of HTTP/1.1 only 101. */
function statusOfConnect(status: number): number {
  if (status === 101) return 200;
  return status >= 200 && status < 300 ? 501 : status;
}

export function block(encoder: HeaderEncoder, fields: readonly MessageField[], status?: number): Buffer {
  encoder.begin();
  if (status !== undefined) encoder.add(':status', String(status));
  for (const { name, value } of fields) encoder.add(name, value);
  return encoder.finish();
}
