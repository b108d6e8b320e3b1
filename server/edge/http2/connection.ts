/** One HTTP/2 connection (RFC 9113): each of its streams becomes a visitor of its own. */
import { isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { ResponseHead } from '../../../shared/http1/head.ts';
import {
  DRAIN_IDLE_MS,
  HEAD_TIMEOUT_MS,
  HTTP2_BLOCK_MAX_BYTES,
  HTTP2_CONNECTION_WINDOW_BYTES,
  HTTP2_CONTROL_BURST,
  HTTP2_CONTROL_PER_SECOND,
  HTTP2_RESETS_BURST,
  HTTP2_RESETS_PER_SECOND,
  HTTP2_STANDSTILL_MS,
  HTTP2_STREAM_WINDOW_BYTES,
  HTTP2_STREAMS_MAX,
  HTTP2_UNREAD_MS,
  HTTP2_WIDEN_BYTES,
  HTTP2_WRITE_BYTES,
  IDLE_TIMEOUT_MS,
  LINGER_TIMEOUT_MS,
  REQUEST_HEAD_MAX_BYTES,
} from '../../limits.ts';
import type { AddressCount, LimitedConnection, Slot, SlotHolder } from '../connection-limiter.ts';
import type { VisitorConnection } from '../visitor-socket.ts';
import {
  ACK,
  COMPRESSION_ERROR,
  ConnectionError,
  CONTINUATION,
  DEFAULT_WINDOW,
  ENABLE_PUSH,
  END_HEADERS,
  END_STREAM,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  FRAME_MAX,
  FRAME_SIZE_ERROR,
  type FrameHandler,
  FrameReader,
  frame,
  GOAWAY,
  goawayFrame,
  HEADER_TABLE_SIZE,
  HEADERS,
  headersFrames,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE,
  NO_ERROR,
  NO_RFC7540_PRIORITIES,
  numberFrame,
  PADDED,
  PING,
  PRIORITY,
  PROTOCOL_ERROR,
  PUSH_PROMISE,
  REFUSED_STREAM,
  RST_STREAM,
  SETTINGS,
  SETTINGS_TIMEOUT,
  settingsFrame,
  STREAM_CLOSED,
  WINDOW_MAX,
  WINDOW_UPDATE,
  WITH_PRIORITY,
} from './frames.ts';
import { CompressionError, HeaderDecoder, HeaderEncoder } from './hpack.ts';
import { RequestFields, TrailerFields } from './request.ts';
import { block, Http2Stream, type StreamCarrier } from './stream.ts';

/** In a first GOAWAY: streams that are on their way are still served (RFC 9113 section 6.8). */
const EVERY_STREAM = WINDOW_MAX;
/** Streams that the relay has reset: the visitor may have sent frames of them before it knew. */
const RESET_REMEMBERED = 200;
/** What may wait in the relay for a connection (protocol.md section 4.5). */
const WAITING_MAX_BYTES = HTTP2_CONNECTION_WINDOW_BYTES + HTTP2_STREAM_WINDOW_BYTES;
/** How much has to be accepted before the visitor is told that it may send as much again. */
const UPDATE_SHARE = 4;

const OPENING = Buffer.concat([
  settingsFrame([
    [MAX_CONCURRENT_STREAMS, HTTP2_STREAMS_MAX],
    [INITIAL_WINDOW_SIZE, HTTP2_STREAM_WINDOW_BYTES],
    [MAX_HEADER_LIST_SIZE, REQUEST_HEAD_MAX_BYTES],
    [NO_RFC7540_PRIORITIES, 1],
  ]),
  numberFrame(WINDOW_UPDATE, 0, HTTP2_CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW),
]);

interface Http2Options {
  /** Monotonic ms, as coarse as the deadlines permit. */
  readonly now: () => number;
  /** its slot among the relay's connections while it has no stream: each stream has its own */
  readonly slot: (holder: SlotHolder) => Slot;
  readonly address: (connection: LimitedConnection) => AddressCount;
  /** called when the visitor has opened a stream with a request */
  readonly onStream: (stream: VisitorConnection) => void;
  /** called once, when the connection is closed */
  readonly onClosed: () => void;
}

/** A block of fields that is not complete. */
interface FieldBlock {
  readonly stream: number;
  readonly isEnd: boolean;
  readonly pieces: Buffer[];
  bytes: number;
}

export class Http2Connection implements SlotHolder, LimitedConnection, StreamCarrier, FrameHandler {
  readonly now: () => number;
  readonly #socket: TLSSocket;
  readonly #onStream: Http2Options['onStream'];
  readonly #onClosed: Http2Options['onClosed'];
  readonly #slot: Slot;
  readonly #address: AddressCount;
  readonly #streams = new Map<number, Http2Stream>();
  /** Monotonic ms at which the connection is closed if it has no stream by then. */
  #deadline: number;
  #isDraining = false;
  /** whether new streams are no longer served, and the connection closes with its last one */
  #isLeaving = false;
  #isClosed = false;

  // From the visitor
  readonly #reader = new FrameReader(this);
  readonly #decoder = new HeaderDecoder();
  readonly #resets: Allowance;
  readonly #controls: Allowance;
  readonly #resetStreams = new Set<number>();
  /** streams that were opened by the bytes that are being read */
  #opened: Http2Stream[] = [];
  #block: FieldBlock | undefined;
  /** monotonic ms at which a frame, or a block of fields, of which a part has arrived must be complete */
  #frameDeadline = Infinity;
  /** whether a frame or a block has become complete in the bytes that are being read */
  #hasProgressed = false;
  #lastStream = 0;
  /** the same with those that are not served because the connection is about to close */
  #lastSeen = 0;
  #hasSettings = false;
  /** monotonic ms by which the visitor must have acknowledged the relay's settings */
  #settingsDeadline: number;
  #receiveWindow = HTTP2_CONNECTION_WINDOW_BYTES;
  /** bytes of requests that wait for their readers */
  #waiting = 0;
  /** content that was accepted and that the visitor has not been told of */
  #accepted = 0;
  /** the one stream with a wide window, and how much of it was accepted without a pause */
  #flow = { stream: 0, bytes: 0, isWide: false };

  // To the visitor
  readonly #encoder = new HeaderEncoder();
  /** frames that come before those of the streams */
  #control: Buffer[] = [OPENING];
  #controlBytes = 0;
  /** streams with something to send, in the order of their turns */
  readonly #ready = new Set<Http2Stream>();
  #sendWindow = DEFAULT_WINDOW;
  #streamSendWindow = DEFAULT_WINDOW;
  /** streams of which something is being written; `undefined` while nothing is */
  #writing: Http2Stream[] | undefined;
  /** whether something of a stream was sent since the latest tick */
  #hasSent = false;
  /** monotonic ms since which nothing of a stream was sent although too much waits */
  #unreadSince: number;
  #willFlush = false;

  /** @param socket whose handshake has chosen `h2` */
  constructor(socket: TLSSocket, { now, slot, address, onStream, onClosed }: Http2Options) {
    this.#socket = socket;
    this.now = now;
    this.#onStream = onStream;
    this.#onClosed = onClosed;
    this.#unreadSince = now();
    this.#deadline = now() + IDLE_TIMEOUT_MS;
    this.#settingsDeadline = now() + IDLE_TIMEOUT_MS;
    this.#slot = slot(this);
    this.#address = address(this);
    this.#resets = new Allowance(now, HTTP2_RESETS_BURST, HTTP2_RESETS_PER_SECOND);
    this.#controls = new Allowance(now, HTTP2_CONTROL_BURST, HTTP2_CONTROL_PER_SECOND);
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#closed());
    this.#flushSoon();
  }

  // For the edge

  /** What its address is counted by. */
  get address(): AddressCount {
    return this.#address;
  }

  /** Closes what is past its time limit. To be called every {@link DEADLINE_TICK_MS}. */
  tick(now: number): void {
    for (const stream of this.#streams.values()) stream.tick(now);
    this.#endStandstill(now);
    if (now >= this.#frameDeadline) this.#timeOut(this.#block?.stream ?? this.#reader.partialHead);
    if (now >= this.#settingsDeadline) this.#fail(SETTINGS_TIMEOUT);
    if (now < this.#deadline || (this.#streams.size > 0 && !this.#isDraining)) return;
    if (!this.#isLeaving) this.#leave(NO_ERROR);
    else if (this.#streams.size === 0) this.destroy();
  }

  /** Lets its streams end, and asks the visitor to open new ones elsewhere (RFC 9113 section 6.8). */
  drain(): void {
    if (this.#isDraining || this.#isClosed) return;
    this.#isDraining = true;
    this.#send(goawayFrame(EVERY_STREAM, NO_ERROR));
    this.#deadline = this.now() + DRAIN_IDLE_MS;
  }

  get isWaiting(): boolean {
    return this.#streams.size === 0;
  }

  giveWay(): void {
    if (this.#streams.size === 0) this.#leave(NO_ERROR);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stream of this.#streams.values()) stream.aborted();
    this.#streams.clear();
    this.#ready.clear();
    this.#slot.leave();
    this.#address.leave();
    this.#onClosed();
  }

  /** Serves no new stream, and closes the connection after the present ones. */
  #leave(code: number): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#send(goawayFrame(this.#lastStream, code));
    if (this.#streams.size === 0) this.#endSocket();
  }

  /** The visitor has violated the protocol. */
  #fail(code: number): void {
    if (this.#isClosed) return;
    this.#isLeaving = true;
    this.#send(goawayFrame(this.#lastStream, code));
    for (const stream of this.#streams.values()) stream.aborted();
    this.#streams.clear();
    this.#ready.clear();
    this.#endSocket();
  }

  /** Sends what waits, and closes. */
  #endSocket(): void {
    this.#deadline = Math.min(this.#deadline, this.now() + LINGER_TIMEOUT_MS);
    this.#settingsDeadline = Infinity;
    this.#frameDeadline = Infinity;
    this.#flush();
    this.#socket.end();
  }

  // Frames of the visitor

  #read(bytes: Buffer): void {
    // After an error, the rest means nothing.
    if (this.#isClosed || this.#socket.writableEnded) return;
    this.#hasProgressed = false;
    try {
      this.#reader.push(bytes);
    } catch (error) {
      if (error instanceof ConnectionError) return this.#fail(error.code);
      if (error instanceof CompressionError) return this.#fail(COMPRESSION_ERROR);
      throw error;
    } finally {
      if (this.#block === undefined && !this.#reader.partial) this.#frameDeadline = Infinity;
      else if (this.#hasProgressed || this.#frameDeadline === Infinity)
        this.#frameDeadline = this.now() + HEAD_TIMEOUT_MS;
      // Only now: a stream that was also reset never becomes a visitor.
      const opened = this.#opened;
      this.#opened = [];
      for (const stream of opened) this.#begin(stream);
    }
  }

  #begin(stream: Http2Stream): void {
    if (stream.destroyed || this.#isClosed) return;
    this.#onStream(stream);
    stream.begin();
  }

  onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (!this.#hasSettings && (type !== SETTINGS || (flags & ACK) !== 0))
      throw new ConnectionError(PROTOCOL_ERROR, 'no settings');
    if (this.#block !== undefined && type !== CONTINUATION)
      throw new ConnectionError(PROTOCOL_ERROR, 'a frame within a block of fields');
    // A block has as much time as a frame.
    if (type !== CONTINUATION || (flags & END_HEADERS) !== 0) this.#hasProgressed = true;
    switch (type) {
      case HEADERS:
        return this.#onHeaders(flags, stream, payload);
      case CONTINUATION:
        return this.#onContinuation(flags, stream, payload);
      case RST_STREAM:
        return this.#onReset(stream, payload);
      case SETTINGS:
        return this.#onSettings(flags, stream, payload);
      case WINDOW_UPDATE:
        return this.#onWindowUpdate(stream, payload);
      case PING:
        return this.#onPing(flags, stream, payload);
      case PUSH_PROMISE:
        throw new ConnectionError(PROTOCOL_ERROR, 'a push by a visitor');
      case GOAWAY:
        if (stream !== 0) throw new ConnectionError(PROTOCOL_ERROR, 'GOAWAY of a stream');
        if (payload.length < 8) throw new ConnectionError(FRAME_SIZE_ERROR, 'a short GOAWAY');
        return this.#spend();
      case PRIORITY:
        if (stream === 0) throw new ConnectionError(PROTOCOL_ERROR, 'PRIORITY of no stream');
        if (payload.length !== 5) this.#resetUnknown(stream, FRAME_SIZE_ERROR);
        else if ((payload.readUInt32BE() & WINDOW_MAX) === stream) this.#resetUnknown(stream, PROTOCOL_ERROR);
        return this.#spend();
      default:
        // Unknown frames are ignored (RFC 9113 section 4.1).
        return this.#spend();
    }
  }

  /** A frame that does nothing for a request. Too many of them end the connection. */
  #spend(): void {
    if (!this.#controls.spend()) throw new ConnectionError(ENHANCE_YOUR_CALM, 'too many frames');
  }

  #onHeaders(flags: number, id: number, payload: Buffer): void {
    if (id % 2 === 0) throw new ConnectionError(PROTOCOL_ERROR, 'a stream that no visitor may open');
    let start = 0;
    let end = payload.length;
    if ((flags & PADDED) !== 0) {
      start = 1;
      end -= payload[0] ?? Infinity;
    }
    if ((flags & WITH_PRIORITY) !== 0) {
      if (end - start < 5) throw new ConnectionError(FRAME_SIZE_ERROR, 'HEADERS without their priority');
      if ((payload.readUInt32BE(start) & WINDOW_MAX) === id)
        throw new ConnectionError(PROTOCOL_ERROR, 'a stream that depends on itself');
      start += 5;
    }
    if (end < start) throw new ConnectionError(PROTOCOL_ERROR, 'more padding than payload');
    this.#block = { stream: id, isEnd: (flags & END_STREAM) !== 0, pieces: [], bytes: 0 };
    this.#addToBlock(this.#block, flags, payload.subarray(start, end));
  }

  #onContinuation(flags: number, id: number, payload: Buffer): void {
    if (this.#block?.stream !== id) throw new ConnectionError(PROTOCOL_ERROR, 'a block without a beginning');
    if (payload.length < FRAME_MAX / 4) this.#spend();
    this.#addToBlock(this.#block, flags, payload);
  }

  #addToBlock(fields: FieldBlock, flags: number, piece: Buffer): void {
    fields.bytes += piece.length;
    if (fields.bytes > HTTP2_BLOCK_MAX_BYTES)
      throw new ConnectionError(ENHANCE_YOUR_CALM, 'a block above the limit');
    fields.pieces.push(piece);
    if ((flags & END_HEADERS) === 0) return;
    this.#block = undefined;
    const [first = piece] = fields.pieces;
    this.#onBlock(fields, fields.pieces.length === 1 ? first : Buffer.concat(fields.pieces));
  }

  #onBlock({ stream: id, isEnd }: FieldBlock, bytes: Buffer): void {
    const stream = this.#streams.get(id);
    if (stream !== undefined) return this.#onTrailers(stream, isEnd, bytes);
    const fields = new RequestFields();
    // Always, because later blocks refer to this one.
    this.#decoder.decode(bytes, fields.add);
    if (id <= this.#lastStream) {
      if (this.#resetStreams.has(id)) return;
      throw new ConnectionError(STREAM_CLOSED, 'HEADERS of a closed stream');
    }
    this.#lastSeen = id;
    if (this.#isLeaving) return this.#spend();
    this.#lastStream = id;
    if (this.#streams.size >= HTTP2_STREAMS_MAX) return this.#resetUnknown(id, REFUSED_STREAM);
    const windows = { receive: HTTP2_STREAM_WINDOW_BYTES, send: this.#streamSendWindow };
    const opened = new Http2Stream(id, fields.write(isEnd), isEnd, windows, this);
    this.#streams.set(id, opened);
    if (this.#streams.size === 1) {
      this.#slot.leave();
      this.#address.busy();
    }
    if (opened.lacksBody) opened.fail(PROTOCOL_ERROR);
    else this.#opened.push(opened);
  }

  #onTrailers(stream: Http2Stream, isEnd: boolean, bytes: Buffer): void {
    const trailers = new TrailerFields();
    this.#decoder.decode(bytes, trailers.add);
    if (!stream.receives) stream.fail(STREAM_CLOSED);
    else if (!isEnd) stream.fail(PROTOCOL_ERROR);
    else stream.ends(trailers.write());
  }

  onDataBegin(id: number, length: number): void {
    if (!this.#hasSettings || this.#block !== undefined)
      throw new ConnectionError(PROTOCOL_ERROR, 'DATA in the wrong place');
    if (id === 0 || id > this.#lastSeen) throw new ConnectionError(PROTOCOL_ERROR, 'DATA of no stream');
    this.#hasProgressed = true;
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0)
      throw new ConnectionError(FLOW_CONTROL_ERROR, 'more content than the window');
    const stream = this.#streams.get(id);
    if (length === 0) this.#spend();
    if (stream === undefined) {
      if (!this.#resetStreams.has(id) && id <= this.#lastStream) this.#resetUnknown(id, STREAM_CLOSED);
    } else stream.spend(length);
  }

  onData(id: number, content: Buffer, padding: number): void {
    const stream = this.#streams.get(id);
    const unread = stream === undefined ? content.length : stream.receive(content);
    this.#returnWindow(unread + padding);
    // A window that padding has used is given back at once, because nothing of it waits.
    if (padding > 0 && stream !== undefined) this.#update(stream, padding);
  }

  onDataEnd(id: number, isLast: boolean): void {
    if (isLast) this.#streams.get(id)?.ends();
  }

  #onReset(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong RST_STREAM');
    if (id === 0 || id > this.#lastSeen) throw new ConnectionError(PROTOCOL_ERROR, 'RST_STREAM of no stream');
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.#spend();
    this.#forget(stream);
    stream.aborted();
    // What is under way finishes (CVE-2023-44487).
    if (!this.#resets.spend()) this.#leave(ENHANCE_YOUR_CALM);
  }

  #onSettings(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new ConnectionError(PROTOCOL_ERROR, 'SETTINGS of a stream');
    if ((flags & ACK) !== 0) {
      if (payload.length > 0) throw new ConnectionError(FRAME_SIZE_ERROR, 'a long acknowledgement');
      this.#settingsDeadline = Infinity;
      return this.#spend();
    }
    if (payload.length % 6 !== 0) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong SETTINGS');
    if (this.#hasSettings) this.#spend();
    this.#hasSettings = true;
    for (let at = 0; at < payload.length; at += 6)
      this.#set(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    this.#send(frame(SETTINGS, ACK, 0, 0));
  }

  #set(name: number, value: number): void {
    if (name === HEADER_TABLE_SIZE) this.#encoder.resize(value);
    else if (name === ENABLE_PUSH && value > 1)
      throw new ConnectionError(PROTOCOL_ERROR, 'a wrong ENABLE_PUSH');
    else if (name === MAX_FRAME_SIZE && (value < FRAME_MAX || value > 2 ** 24 - 1))
      throw new ConnectionError(PROTOCOL_ERROR, 'a wrong MAX_FRAME_SIZE');
    else if (name === INITIAL_WINDOW_SIZE) {
      if (value > WINDOW_MAX) throw new ConnectionError(FLOW_CONTROL_ERROR, 'a window above the limit');
      const more = value - this.#streamSendWindow;
      this.#streamSendWindow = value;
      for (const stream of this.#streams.values()) this.#grow(stream, more);
    }
  }

  #onWindowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong WINDOW_UPDATE');
    if (id > this.#lastSeen) throw new ConnectionError(PROTOCOL_ERROR, 'WINDOW_UPDATE of no stream');
    this.#spend();
    const more = payload.readUInt32BE() & WINDOW_MAX;
    const stream = this.#streams.get(id);
    if (id === 0) {
      if (more === 0) throw new ConnectionError(PROTOCOL_ERROR, 'an empty WINDOW_UPDATE');
      this.#sendWindow += more;
      if (this.#sendWindow > WINDOW_MAX)
        throw new ConnectionError(FLOW_CONTROL_ERROR, 'a window above the limit');
      this.#flushSoon();
    } else if (more === 0) stream?.fail(PROTOCOL_ERROR);
    else if (stream !== undefined) this.#grow(stream, more);
  }

  #grow(stream: Http2Stream, bytes: number): void {
    if (!stream.grow(bytes)) return stream.fail(FLOW_CONTROL_ERROR);
    if (stream.hasOutput) this.ready(stream);
  }

  #onPing(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new ConnectionError(PROTOCOL_ERROR, 'PING of a stream');
    if (payload.length !== 8) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong PING');
    this.#spend();
    if ((flags & ACK) === 0) this.#send(frame(PING, ACK, 0, payload));
  }

  /** A head that is not complete in time, as in HTTP/1.1. Nothing else can be read behind it. */
  #timeOut(id: number | undefined): void {
    if (id !== undefined && id > this.#lastStream) {
      this.#lastStream = id;
      this.#encoder.begin();
      this.#encoder.add(':status', '408');
      this.#encoder.add('culvert-error', 'request-timeout');
      for (const bytes of headersFrames(id, this.#encoder.finish(), true)) this.#send(bytes);
    }
    this.#fail(NO_ERROR);
  }

  // The request bodies

  waits(change: number): void {
    this.#waiting += change;
    // Tiny pieces take several times their size.
    while (this.#waiting > WAITING_MAX_BYTES) {
      const stillest = this.#stillest();
      if (stillest === undefined) return;
      stillest.fail(ENHANCE_YOUR_CALM);
    }
  }

  accepted(stream: Http2Stream, bytes: number): void {
    this.#returnWindow(bytes);
    this.#update(stream, bytes);
  }

  /** Lets the visitor send on the connection again what nothing of which waits. */
  #returnWindow(bytes: number): void {
    if (this.#isClosed) return;
    this.#accepted += bytes;
    if (this.#accepted < HTTP2_CONNECTION_WINDOW_BYTES / UPDATE_SHARE) return;
    this.#receiveWindow += this.#accepted;
    this.#send(numberFrame(WINDOW_UPDATE, 0, this.#accepted));
    this.#accepted = 0;
  }

  /**
   * Lets the visitor send more of a body. One that is passed on as fast as it arrives gets the whole window of the
   * connection, unless another one is moving, too: at first, a visitor can send only a small window per round trip.
   */
  #update(stream: Http2Stream, bytes: number): void {
    if (!stream.receives || stream.destroyed) return;
    if (this.#flow.stream !== stream.id) this.#flow = { stream: stream.id, bytes: 0, isWide: false };
    this.#flow.bytes += bytes;
    const isWide = this.#flow.bytes > HTTP2_WIDEN_BYTES;
    const window = isWide ? HTTP2_CONNECTION_WINDOW_BYTES : HTTP2_STREAM_WINDOW_BYTES;
    const more = window - stream.waiting - stream.receiveWindow;
    if (more < window / UPDATE_SHARE) return;
    stream.receiveWindow += more;
    this.#send(numberFrame(WINDOW_UPDATE, stream.id, more));
  }

  /**
   * Bodies that nobody reads have used up the window of the connection, which others need, or the visitor does not read
   * its responses: what has stood still for longest gives way.
   */
  #endStandstill(now: number): void {
    if (this.#receiveWindow < HTTP2_STREAM_WINDOW_BYTES) {
      const stillest = this.#stillest();
      if (stillest !== undefined && now - stillest.waitsSince >= HTTP2_STANDSTILL_MS)
        stillest.fail(ENHANCE_YOUR_CALM);
    }
    let bytes = this.#waiting + this.#controlBytes;
    for (const { writableLength } of this.#streams.values()) bytes += writableLength;
    if (bytes <= WAITING_MAX_BYTES || this.#hasSent) this.#unreadSince = now;
    this.#hasSent = false;
    if (now - this.#unreadSince < HTTP2_UNREAD_MS) return;
    for (const stream of this.#streams.values()) {
      if (bytes <= WAITING_MAX_BYTES) return;
      if (stream.writableLength === 0) continue;
      bytes -= stream.writableLength + stream.inputWaiting;
      stream.fail(ENHANCE_YOUR_CALM);
    }
  }

  #stillest(): Http2Stream | undefined {
    let stillest: Http2Stream | undefined;
    for (const stream of this.#streams.values())
      if (stream.waitsSince < (stillest?.waitsSince ?? Infinity)) stillest = stream;
    return stillest;
  }

  // For its streams

  ready(stream: Http2Stream): void {
    this.#ready.add(stream);
    this.#flushSoon();
  }

  inform(stream: Http2Stream, { status, fields }: ResponseHead): void {
    if (this.#writing !== undefined || this.#controlBytes > 0 || this.#ready.size > 0) return;
    for (const bytes of headersFrames(stream.id, block(this.#encoder, fields, status), false))
      this.#send(bytes);
    this.#flush();
  }

  reset(stream: Http2Stream, code: number): void {
    this.#forget(stream);
    this.#resetUnknown(stream.id, code, false);
  }

  over(stream: Http2Stream): void {
    this.#forget(stream);
  }

  /** @param isCaused whether the visitor has caused it, and may not do so without end */
  #resetUnknown(id: number, code: number, isCaused = true): void {
    if (this.#isClosed) return;
    this.#resetStreams.add(id);
    const [oldest] = this.#resetStreams;
    if (this.#resetStreams.size > RESET_REMEMBERED && oldest !== undefined) this.#resetStreams.delete(oldest);
    this.#send(numberFrame(RST_STREAM, id, code));
    if (isCaused && !this.#resets.spend()) this.#leave(ENHANCE_YOUR_CALM);
  }

  #forget(stream: Http2Stream): void {
    if (!this.#streams.delete(stream.id)) return;
    this.#ready.delete(stream);
    // What waited for its reader is gone.
    this.#returnWindow(stream.waiting);
    if (this.#streams.size > 0 || this.#isClosed) return;
    this.#slot.park();
    this.#address.end();
    this.#deadline = this.now() + (this.#isDraining ? 0 : IDLE_TIMEOUT_MS);
    if (this.#isLeaving) this.#endSocket();
  }

  // Writing

  #send(bytes: Buffer): void {
    if (this.#isClosed) return;
    this.#control.push(bytes);
    this.#controlBytes += bytes.length;
    // The visitor asks for more responses to frames than it reads.
    if (this.#controlBytes > HTTP2_WRITE_BYTES && this.#writing !== undefined) this.destroy();
    else this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#willFlush || this.#writing !== undefined) return;
    this.#willFlush = true;
    process.nextTick(this.#flush);
  }

  /** Writes what waits: one frame of each stream in turn. */
  readonly #flush = (): void => {
    this.#willFlush = false;
    if (this.#isClosed || this.#writing !== undefined) return;
    const frames = this.#control;
    this.#control = [];
    this.#controlBytes = 0;
    const written = new Set<Http2Stream>();
    let bytes = 0;
    while (bytes < HTTP2_WRITE_BYTES) {
      const stream = this.#next();
      if (stream === undefined) break;
      const before = frames.length;
      const content = stream.take(frames, this.#encoder, this.#sendWindow);
      this.#sendWindow -= content;
      // The visitor may answer each with an update of either window.
      if (content > 0) this.#controls.earn(2);
      for (let index = before; index < frames.length; index += 1) bytes += frames[index]?.length ?? 0;
      written.add(stream);
      if (stream.hasOutput) this.#ready.add(stream);
    }
    if (frames.length === 0) return;
    this.#writing = [...written];
    // One copy, which TLS would make as well.
    this.#socket.write(frames.length === 1 ? (frames[0] ?? '') : Buffer.concat(frames), this.#onWritten);
  };

  /** Takes the stream whose turn it is. */
  #next(): Http2Stream | undefined {
    for (const stream of this.#ready) {
      if (this.#sendWindow <= 0 && stream.needsWindow) continue;
      this.#ready.delete(stream);
      if (stream.hasOutput) return stream;
    }
    return undefined;
  }

  readonly #onWritten = (): void => {
    const written = this.#writing ?? [];
    this.#writing = undefined;
    if (this.#isClosed) return;
    if (written.length > 0) this.#hasSent = true;
    for (const stream of written) stream.sent();
    if (this.#ready.size > 0 || this.#control.length > 0) this.#flush();
  };
}

/** How often a visitor may do something that costs the relay more than the visitor. */
class Allowance {
  readonly #now: () => number;
  readonly #burst: number;
  readonly #perMs: number;
  #left: number;
  #at: number;

  constructor(now: () => number, burst: number, perSecond: number) {
    this.#now = now;
    this.#burst = burst;
    this.#perMs = perSecond / 1000;
    this.#left = burst;
    this.#at = now();
  }

  /** @returns whether it may */
  spend(): boolean {
    if (this.#left < 1) {
      const now = this.#now();
      this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs);
      this.#at = now;
    }
    this.#left -= 1;
    return this.#left >= 0;
  }

  /** It may that much more often. */
  earn(times: number): void {
    this.#left = Math.min(this.#burst, this.#left + times);
  }
}

/*
 * Which hosts a connection's certificate is valid for: requests for others are misdirected (RFC 9110 section 15.5.20).
 */

/** Number of hosts that are remembered for a connection: a page loads from few. */
const REMEMBERED_MAX = 100;

/**
 * @param socket after its handshake
 * @returns whether requests for a host may come over this connection: that which the visitor named in its handshake, and
 *   what the certificate is valid for. `host` is in lower case, without a port
 */
export function coverageOf(socket: TLSSocket): (host: string) => boolean {
  const named = typeof socket.servername === 'string' ? socket.servername.toLowerCase() : '';
  const certificate = socket.getX509Certificate();
  const known = new Map<string, boolean>();
  return (host) => {
    if (host === named) return true;
    const before = known.get(host);
    if (before !== undefined) return before;
    // Nobody names an IP address in a handshake (RFC 6066 section 3).
    const covers = isAddress(host) ? named === '' : certificate?.checkHost(host) !== undefined;
    if (known.size < REMEMBERED_MAX) known.set(host, covers);
    return covers;
  };
}

function isAddress(host: string): boolean {
  return isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0;
}
