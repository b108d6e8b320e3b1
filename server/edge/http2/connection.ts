/** One HTTP/2 connection (RFC 9113): each of its streams becomes a visitor of its own. */
import type { TLSSocket } from 'node:tls';
import type { AddressCount, LimitedConnection, Slot, SlotHolder } from '../connection-limiter.ts';
import { KeptStreams } from '../kept-streams.ts';
import { DRAIN_IDLE_MS, HEAD_TIMEOUT_MS, IDLE_TIMEOUT_MS, LINGER_TIMEOUT_MS } from '../timeouts.ts';
import type { VisitorConnection } from '../visitor-connection.ts';
import {
  ACK,
  BlockReader,
  COMPRESSION_ERROR,
  ConnectionError,
  CONTINUATION,
  END_HEADERS,
  ENHANCE_YOUR_CALM,
  FLOW_CONTROL_ERROR,
  FRAME_MAX,
  FRAME_SIZE_ERROR,
  type FieldBlock,
  type FrameHandler,
  FrameReader,
  frame,
  GOAWAY,
  goawayFrame,
  HEADERS,
  INTERNAL_ERROR,
  NO_ERROR,
  numberFrame,
  PING,
  PRIORITY,
  PRIORITY_UPDATE,
  PROTOCOL_ERROR,
  PUSH_PROMISE,
  REFUSED_STREAM,
  RST_STREAM,
  SETTINGS,
  SETTINGS_TIMEOUT,
  STREAM_CLOSED,
  WINDOW_MAX,
  WINDOW_UPDATE,
} from './frames.ts';
import {
  Allowance,
  HTTP2_CONTROL_BURST,
  HTTP2_CONTROL_PER_SECOND,
  HTTP2_RESETS_BURST,
  HTTP2_RESETS_PER_SECOND,
  ResetStreams,
} from './allowance.ts';
import { CompressionError, HeaderDecoder } from './hpack.ts';
import { HTTP2_STREAM_WINDOW_BYTES, Intake } from './intake.ts';
import { Http2Output } from './output.ts';
import { EarlyUrgencies, priorityUpdate } from './priority.ts';
import { RequestFields, TrailerFields } from './request.ts';
import { HTTP2_STREAMS_MAX, OPENING, VisitorSettings } from './settings.ts';
import { UnreadLimit } from './unread.ts';
import { Http2Stream, type MessageHead, type StreamCarrier } from './stream.ts';

/** Maximum number of idle streams to tunnels that one HTTP/2 connection keeps for its next requests. */
const HTTP2_KEPT_STREAMS_MAX = 32;
/** In a first GOAWAY: streams that are on their way are still served (RFC 9113 section 6.8). */
const EVERY_STREAM = WINDOW_MAX;
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

export class Http2Connection implements SlotHolder, LimitedConnection, StreamCarrier, FrameHandler {
  readonly now: () => number;
  /** what its streams keep for the next ones */
  readonly kept: KeptStreams;
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
  #isEnding = false;
  #isClosed = false;

  // From the visitor
  readonly #reader = new FrameReader(this);
  readonly #decoder = new HeaderDecoder();
  readonly #resets: Allowance;
  readonly #controls: Allowance;
  readonly #resetStreams = new ResetStreams();
  /** streams that were opened by the bytes that are being read */
  #opened: Http2Stream[] = [];
  readonly #blocks = new BlockReader();
  /** monotonic ms at which a frame, or a block of fields, of which a part has arrived must be complete */
  #frameDeadline = Infinity;
  /** whether a frame or a block has become complete in the bytes that are being read */
  #hasProgressed = false;
  readonly #early = new EarlyUrgencies();
  #lastStream = 0;
  /** the same with those that are not served because the connection is about to close */
  #lastSeen = 0;
  readonly #settings = new VisitorSettings((bytes) => this.#output.resizeTable(bytes));
  /** monotonic ms by which the visitor must have acknowledged the relay's settings */
  #settingsDeadline: number;
  readonly #intake = new Intake(this.#streams, (bytes) => this.#output.send(bytes));

  // To the visitor
  readonly #output: Http2Output;
  readonly #unread: UnreadLimit;

  /** @param socket whose handshake has chosen `h2` */
  constructor(socket: TLSSocket, { now, slot, address, onStream, onClosed }: Http2Options) {
    this.#socket = socket;
    this.now = now;
    this.kept = new KeptStreams(HTTP2_KEPT_STREAMS_MAX, now);
    this.#onStream = onStream;
    this.#onClosed = onClosed;
    this.#deadline = now() + IDLE_TIMEOUT_MS;
    this.#settingsDeadline = now() + IDLE_TIMEOUT_MS;
    this.#slot = slot(this);
    this.#address = address(this);
    this.#resets = new Allowance(now, HTTP2_RESETS_BURST, HTTP2_RESETS_PER_SECOND);
    this.#controls = new Allowance(now, HTTP2_CONTROL_BURST, HTTP2_CONTROL_PER_SECOND);
    // The visitor may answer each frame of content with an update of either window.
    this.#output = new Http2Output(socket, () => this.#controls.earn(2));
    this.#unread = new UnreadLimit(this.#streams, this.#intake, this.#output, now());
    socket.setNoDelay(true);
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#closed());
    this.#output.send(OPENING);
  }

  // For the edge

  /** What its address is counted by. */
  get address(): AddressCount {
    return this.#address;
  }

  /** Closes what is past its time limit. To be called every {@link DEADLINE_TICK_MS}. */
  tick(now: number): void {
    for (const stream of this.#streams.values()) stream.tick(now);
    this.kept.tick(now);
    this.#intake.endStandstill(now);
    this.#unread.end(now);
    if (now >= this.#frameDeadline) this.#timeOut(this.#blocks.stream ?? this.#reader.partialHead);
    if (now >= this.#settingsDeadline) this.#fail(SETTINGS_TIMEOUT);
    if (now < this.#deadline || (this.#streams.size > 0 && !this.#isDraining)) return;
    if (!this.#isLeaving) this.#leave(NO_ERROR);
    else if (this.#streams.size === 0) this.destroy();
  }

  /** Lets its streams end, and asks the visitor to open new ones elsewhere (RFC 9113 section 6.8). */
  drain(): void {
    // The last stream of a GOAWAY never increases.
    if (this.#isDraining || this.#isLeaving || this.#isClosed) return;
    this.#isDraining = true;
    this.#output.send(goawayFrame(EVERY_STREAM, NO_ERROR));
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
    this.kept.end();
    this.#slot.leave();
    this.#address.leave();
    this.#onClosed();
  }

  /** Serves no new stream, and closes the connection after the present ones. */
  #leave(code: number): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#output.send(goawayFrame(this.#lastStream, code));
    if (this.#streams.size === 0) this.#endSocket();
  }

  /** The visitor has violated the protocol. */
  #fail(code: number): void {
    if (this.#isClosed) return;
    this.#isLeaving = true;
    this.#output.send(goawayFrame(this.#lastStream, code));
    for (const stream of this.#streams.values()) {
      stream.aborted();
      this.#output.drop(stream);
    }
    this.#streams.clear();
    this.#endSocket();
  }

  /** Sends what waits, and closes. */
  #endSocket(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#deadline = this.now() + LINGER_TIMEOUT_MS;
    this.#settingsDeadline = Infinity;
    this.#frameDeadline = Infinity;
    this.#output.end();
  }

  // Frames of the visitor

  #read(bytes: Buffer): void {
    // After an error, the rest means nothing.
    if (this.#isClosed || this.#isEnding) return;
    this.#hasProgressed = false;
    try {
      this.#reader.push(bytes);
    } catch (error) {
      if (error instanceof ConnectionError) return this.#fail(error.code);
      if (error instanceof CompressionError) return this.#fail(COMPRESSION_ERROR);
      throw error;
    } finally {
      if (this.#isEnding || (this.#blocks.stream === undefined && !this.#reader.partial))
        this.#frameDeadline = Infinity;
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
    stream.start();
  }

  onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (!this.#settings.hasArrived && (type !== SETTINGS || (flags & ACK) !== 0))
      throw new ConnectionError(PROTOCOL_ERROR, 'no settings');
    if (this.#blocks.stream !== undefined && type !== CONTINUATION)
      throw new ConnectionError(PROTOCOL_ERROR, 'a frame within a block of fields');
    // A block has as much time as a frame.
    if (type !== CONTINUATION || (flags & END_HEADERS) !== 0) this.#hasProgressed = true;
    switch (type) {
      case HEADERS:
        return this.#onBlock(this.#blocks.begin(flags, stream, payload));
      case CONTINUATION:
        if (payload.length < FRAME_MAX / 4) this.#spend();
        return this.#onBlock(this.#blocks.add(flags, stream, payload));
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
        if (payload.length !== 5) this.#refuse(stream, FRAME_SIZE_ERROR);
        else if ((payload.readUInt32BE() & WINDOW_MAX) === stream) this.#refuse(stream, PROTOCOL_ERROR);
        return this.#spend();
      case PRIORITY_UPDATE:
        return this.#onPriority(priorityUpdate(stream, payload));
      default:
        // Unknown frames are ignored (RFC 9113 section 4.1).
        return this.#spend();
    }
  }

  #onPriority({ id, urgency }: ReturnType<typeof priorityUpdate>): void {
    this.#spend();
    const stream = this.#streams.get(id);
    if (stream !== undefined) this.#output.prioritize(stream, urgency);
    else if (id > this.#lastSeen) this.#early.set(id, urgency);
  }

  /** A frame that does nothing for a request. Too many of them end the connection. */
  #spend(): void {
    if (!this.#controls.spend()) throw new ConnectionError(ENHANCE_YOUR_CALM, 'too many frames');
  }

  /** @param block if it is complete */
  #onBlock(block: FieldBlock | undefined): void {
    if (block === undefined) return;
    const { stream: id, isEnd, bytes } = block;
    const stream = this.#streams.get(id);
    if (stream !== undefined) return this.#onTrailers(stream, isEnd, bytes);
    const fields = new RequestFields();
    // Always, because later blocks refer to this one.
    this.#decoder.decode(bytes, fields.add);
    if (id <= this.#lastStream) {
      if (this.#resetStreams.has(id)) return;
      throw new ConnectionError(STREAM_CLOSED, 'HEADERS of a closed stream');
    }
    this.#lastSeen = Math.max(this.#lastSeen, id);
    if (this.#isLeaving) return this.#spend();
    this.#lastStream = id;
    if (this.#isFull) return this.#reset(id, REFUSED_STREAM);
    const windows = { receive: HTTP2_STREAM_WINDOW_BYTES, send: this.#settings.streamWindow };
    const opened = new Http2Stream(id, fields.write(isEnd), isEnd, windows, this);
    opened.urgency = this.#early.take(id) ?? opened.urgency;
    this.#streams.set(id, opened);
    if (this.#streams.size === 1) {
      this.#slot.leave();
      this.#address.busy();
    }
    if (opened.lacksBody) opened.fail(PROTOCOL_ERROR);
    else this.#opened.push(opened);
  }

  get #isFull(): boolean {
    if (this.#intake.isFull) return true;
    if (this.#streams.size < HTTP2_STREAMS_MAX) return false;
    // The visitor may know of an end before the system has told the relay that it was sent.
    let open = 0;
    for (const { isDone } of this.#streams.values()) if (!isDone) open += 1;
    return open >= HTTP2_STREAMS_MAX;
  }

  #onTrailers(stream: Http2Stream, isEnd: boolean, bytes: Buffer): void {
    const trailers = new TrailerFields();
    this.#decoder.decode(bytes, trailers.add);
    if (!stream.receives) stream.fail(STREAM_CLOSED);
    else if (!isEnd || stream.isWebSocket) stream.fail(PROTOCOL_ERROR);
    else stream.ends(trailers.write() ?? 'malformed');
  }

  onDataBegin(id: number, length: number, use: 'content' | 'end' | 'none'): void {
    if (!this.#settings.hasArrived || this.#blocks.stream !== undefined)
      throw new ConnectionError(PROTOCOL_ERROR, 'DATA in the wrong place');
    if (this.#isIdle(id)) throw new ConnectionError(PROTOCOL_ERROR, 'DATA of no stream');
    this.#hasProgressed = true;
    if (!this.#intake.spend(length))
      throw new ConnectionError(FLOW_CONTROL_ERROR, 'more content than the window');
    const stream = this.#streams.get(id);
    if (use === 'none' || (use === 'end' && stream === undefined)) this.#spend();
    if (stream === undefined) {
      if (!this.#resetStreams.has(id) && id <= this.#lastStream) this.#reset(id, STREAM_CLOSED);
    } else stream.spend(length);
  }

  onData(id: number, content: Buffer, padding: number): void {
    const stream = this.#streams.get(id);
    const unread = stream === undefined ? content.length : stream.receive(content);
    this.#intake.returnWindow(unread + padding);
    // A window that padding has used is returned immediately, because nothing of it waits.
    if (padding > 0 && stream !== undefined) this.#intake.update(stream, padding);
  }

  onDataEnd(id: number, isLast: boolean): void {
    if (isLast) this.#streams.get(id)?.ends();
  }

  /** Whether the visitor has not opened a stream of that number (RFC 9113 section 5.1). */
  #isIdle(id: number): boolean {
    return id % 2 === 0 || id > this.#lastSeen;
  }

  #onReset(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong RST_STREAM');
    if (this.#isIdle(id)) throw new ConnectionError(PROTOCOL_ERROR, 'RST_STREAM of no stream');
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.#spend();
    this.over(stream);
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
    if (this.#settings.hasArrived) this.#spend();
    const more = this.#settings.read(payload);
    if (more !== 0)
      for (const stream of this.#streams.values())
        if (!this.#grow(stream, more))
          throw new ConnectionError(FLOW_CONTROL_ERROR, 'a window above the limit');
    this.#output.send(frame(SETTINGS, ACK, 0, 0));
  }

  #onWindowUpdate(id: number, payload: Buffer): void {
    if (payload.length !== 4) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong WINDOW_UPDATE');
    if (id !== 0 && this.#isIdle(id)) throw new ConnectionError(PROTOCOL_ERROR, 'WINDOW_UPDATE of no stream');
    this.#spend();
    const more = payload.readUInt32BE() & WINDOW_MAX;
    const stream = this.#streams.get(id);
    if (id === 0) {
      if (more === 0) throw new ConnectionError(PROTOCOL_ERROR, 'an empty WINDOW_UPDATE');
      if (!this.#output.grow(more)) throw new ConnectionError(FLOW_CONTROL_ERROR, 'a window above the limit');
    } else if (more === 0) stream?.fail(PROTOCOL_ERROR);
    else if (stream !== undefined && !this.#grow(stream, more)) stream.fail(FLOW_CONTROL_ERROR);
  }

  #grow(stream: Http2Stream, bytes: number): boolean {
    if (!stream.grow(bytes)) return false;
    if (stream.hasOutput) this.ready(stream);
    return true;
  }

  #onPing(flags: number, id: number, payload: Buffer): void {
    if (id !== 0) throw new ConnectionError(PROTOCOL_ERROR, 'PING of a stream');
    if (payload.length !== 8) throw new ConnectionError(FRAME_SIZE_ERROR, 'a wrong PING');
    this.#spend();
    if ((flags & ACK) === 0) this.#output.send(frame(PING, ACK, 0, payload));
  }

  /** A head that is not complete in time, as in HTTP/1.1. Nothing else can be read behind it. */
  #timeOut(id: number | undefined): void {
    if (id !== undefined && id > this.#lastStream && id % 2 === 1 && !this.#isLeaving) {
      this.#lastStream = id;
      this.#output.respond(id, '408', 'request-timeout');
    }
    this.#fail(NO_ERROR);
  }

  // For its streams

  ready(stream: Http2Stream): void {
    this.#output.ready(stream);
  }

  inform(stream: Http2Stream, head: MessageHead): void {
    this.#output.inform(stream, head);
  }

  waits(change: number): void {
    this.#intake.waits(change);
  }

  accepted(stream: Http2Stream, bytes: number): void {
    this.#intake.returnWindow(bytes);
    this.#intake.update(stream, bytes);
  }

  reset(stream: Http2Stream, code: number): void {
    // Other codes say what the visitor has done, by which it could cancel without end (CVE-2025-8671).
    this.#reset(stream.id, code, code !== NO_ERROR && code !== INTERNAL_ERROR);
    this.over(stream);
  }

  /** An error of a stream that may be in any state. */
  #refuse(id: number, code: number): void {
    if (this.#isIdle(id)) throw new ConnectionError(code, 'an error of no stream');
    const stream = this.#streams.get(id);
    if (stream !== undefined) stream.fail(code);
    else if (!this.#resetStreams.has(id)) this.#reset(id, code);
  }

  /** @param isCaused whether the visitor has caused it, and may not do so without end */
  #reset(id: number, code: number, isCaused = true): void {
    if (this.#isClosed) return;
    this.#resetStreams.add(id);
    this.#output.send(numberFrame(RST_STREAM, id, code));
    if (isCaused && !this.#resets.spend()) this.#leave(ENHANCE_YOUR_CALM);
  }

  over(stream: Http2Stream): void {
    if (!this.#streams.delete(stream.id)) return;
    this.#output.drop(stream);
    // What waited for its reader is gone.
    this.#intake.returnWindow(stream.waiting);
    if (this.#streams.size > 0 || this.#isClosed) return;
    this.#slot.park();
    this.#address.end();
    this.#deadline = this.now() + (this.#isDraining ? 0 : IDLE_TIMEOUT_MS);
    if (this.#isLeaving) this.#endSocket();
  }
}
