/**
 * One end of a trunk: a WebSocket that carries the streams of many visitors (protocol.md section 10). The relay
 * begins streams, and the client serves them.
 */
import { CloseCode } from '../control.ts';
import type { ByteStreamHandler, WebSocketByteStream } from '../websocket/byte-stream.ts';
import { DATA_MAX_BYTES, type FrameHandler, FrameReader, LAST_STREAM_ID } from './frames.ts';
import { WideStreams } from './receiver.ts';
import { Batch } from './sender.ts';
import { type StreamCarrier, TrunkStream } from './trunk-stream.ts';

/**
 * Maximum number of open streams on a trunk. A stream whose end the other side has not answered counts as open.
 */
export const STREAMS_MAX = 4096;
/**
 * Round-trip time above which the peer of a trunk is treated as distant: a window of 64 KiB per stream is little
 * above it and plenty below.
 */
export const FAR_PATH_MS = 5;
/**
 * Number of round trips that are measured before a slow peer is treated as distant: one that is busy or has just
 * been started takes longer to answer.
 */
const PATH_PINGS_MAX = 10;
/** How long a client waits between two of them. Its trunk has no visitors for most of the time, and no clock. */
const PATH_PING_MS = 1000;
/**
 * Number of bytes that a trunk sends from one stream before it switches to another: each waiting stream gets as
 * much before the first continues. On a trunk to a nearby peer it is one frame of 64 KiB, because each piece costs the
 * peer a system call.
 */
const TURN_BYTES = 16 * 1024;
const NOTHING = Buffer.alloc(0);

export interface TrunkOwner {
  /**
   * The peer has begun a stream, with its first bytes; a raw connection, which has {@link TrunkStream.peers}, begins
   * without any. Must attach to the stream, or close it, before it returns.
   */
  begun(stream: TrunkStream, first: Buffer): void;
  /**
   * The peer asks to continue over a data socket of this id: call {@link TrunkStream.moveTo} or
   * {@link TrunkStream.moveFailed}.
   */
  moveAsked(stream: TrunkStream, connectionId: string): void;
  /**
   * The trunk has ended, after its streams: with the code of the peer's Close frame, or with
   * {@link CloseCode.abnormal}.
   */
  closed(code: number): void;
}

interface TrunkOptions {
  /** Which end begins streams. */
  readonly begins: 'this' | 'peer';
  readonly owner: TrunkOwner;
  /** ms that the peer has to read more of the remaining data of an ended stream */
  readonly flushMs: number;
}

/** The used part of a trunk's socket. */
export type TrunkSocket = Pick<
  WebSocketByteStream,
  | 'attach'
  | 'write'
  | 'writeAll'
  | 'close'
  | 'destroy'
  | 'probe'
  | 'isSilent'
  | 'measureRoundTrip'
  | 'roundTripMs'
>;

export class Trunk implements StreamCarrier, ByteStreamHandler, FrameHandler {
  readonly flushMs: number;
  readonly #socket: TrunkSocket;
  readonly #begins: boolean;
  readonly #owner: TrunkOwner;
  readonly #reader: FrameReader;
  /** by id */
  readonly #streams = new Map<number, TrunkStream>();
  readonly #rounds = new SendRounds<TrunkStream>();
  /** streams that have sent nothing, and have no id yet */
  readonly #unsent = new Set<TrunkStream>();
  /** streams whose end the peer knows but has not answered: since {@link expectAnswers}, and for longer */
  #unanswered = new Set<TrunkStream>();
  readonly wide = new WideStreams<TrunkStream>();
  readonly carried = { sent: 0, received: 0 };
  #overdue = new Set<TrunkStream>();
  /** streams with data in the current bytes */
  readonly #arrivals: TrunkStream[] = [];
  #lastId = 0;
  #isScheduled = false;
  #hasRoom = true;
  #words = 0;
  /** number of round-trip measurements */
  #pathPings = 0;
  /** no earlier one by sent data, monotonic ms */
  #measuresFrom = 0;
  #isUnanswered = false;
  #isRetired = false;
  #isClosed = false;

  /** @param socket without a handler */
  constructor(socket: TrunkSocket, { begins, owner, flushMs }: TrunkOptions) {
    this.flushMs = flushMs;
    this.#reader = new FrameReader(this);
    this.#socket = socket;
    this.#begins = begins === 'this';
    this.#owner = owner;
    socket.attach(this);
  }

  /** Streams that are open, or whose end the other side has not answered. */
  get size(): number {
    return this.#streams.size + this.#unsent.size;
  }

  /** Whether a stream can be begun. */
  get takesStreams(): boolean {
    const hasId = this.#lastId + this.#unsent.size < LAST_STREAM_ID;
    return hasId && !this.#isRetired && !this.#isClosed && this.size < STREAMS_MAX;
  }

  /**
   * Begins a stream, which the trunk must accept. Its first bytes announce it to the peer.
   *
   * @param peers of a raw connection, which is announced immediately: the visitor's address and the one it has connected
   *   to, divided by a space
   */
  open(peers = ''): TrunkStream {
    const stream = new TrunkStream(this, 0, peers);
    this.#unsent.add(stream);
    if (peers !== '') this.ready(stream);
    return stream;
  }

  /** Begins no further streams, and closes the trunk after the end of the last one. */
  retire(): void {
    this.#isRetired = true;
    this.#closeUnused();
  }

  /**
   * Ends the trunk, and breaks off all of its streams.
   *
   * @param code {@link CloseCode}; `abnormal` if the peer is gone, which is then not told
   */
  close(code: number): void {
    if (this.#isClosed) return;
    if (code === CloseCode.abnormal) this.#socket.destroy();
    else this.#socket.close(code);
    this.onStreamClose(code);
  }

  /** Ends the trunk if the peer has not answered an end that it knew before the last call. */
  expectAnswers(): void {
    if (this.#overdue.size > 0) return this.onProtocolError('the end of a stream was not answered');
    [this.#unanswered, this.#overdue] = [this.#overdue, this.#unanswered];
  }

  /** The number of events received from the peer. */
  get words(): number {
    return this.#words;
  }

  /** Whether nothing was received since data was sent on an open stream, and {@link probe} has not been called. */
  get isUnanswered(): boolean {
    return this.#isUnanswered && this.size > 0;
  }

  get isSilent(): boolean {
    return this.#socket.isSilent;
  }

  probe(): void {
    this.#isUnanswered = false;
    if (!this.#socket.isSilent) this.#socket.probe();
  }

  /** Whether the peer has answered a ping as fast as a nearby one. */
  get isNear(): boolean {
    return this.#socket.roundTripMs < FAR_PATH_MS;
  }

  /** Measures the distance of the peer, unless that is known. To be called now and then. */
  measurePath(): void {
    if (this.isNear || this.#pathPings === PATH_PINGS_MAX) return;
    if (this.#socket.measureRoundTrip()) this.#pathPings += 1;
  }

  ready(stream: TrunkStream): void {
    if (this.#isClosed) return;
    this.#rounds.add(stream);
    this.#schedule();
  }

  begin(stream: TrunkStream): number {
    this.#unsent.delete(stream);
    this.#lastId += 1;
    this.#streams.set(this.#lastId, stream);
    return this.#lastId;
  }

  awaitAnswer(stream: TrunkStream): void {
    this.#unanswered.add(stream);
  }

  forget(stream: TrunkStream): void {
    this.wide.set(stream, false);
    this.#unanswered.delete(stream);
    this.#overdue.delete(stream);
    if (!this.#unsent.delete(stream)) this.#streams.delete(stream.id);
    this.#rounds.delete(stream);
  }

  onStreamData(piece: Buffer): void {
    this.#words += 1;
    this.#isUnanswered = false;
    this.#reader.push(piece);
    for (const stream of this.#arrivals) stream.handOverArrived();
    this.#arrivals.length = 0;
  }

  /** The owner of a trunk that begins streams calls {@link measurePath} itself. */
  #measureAgain(): void {
    const now = performance.now();
    if (now < this.#measuresFrom) return;
    this.#measuresFrom = now + PATH_PING_MS;
    this.measurePath();
  }

  onStreamDrain(): void {
    this.#hasRoom = true;
    if (this.#rounds.size > 0) this.#send();
  }

  onStreamClose(code: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#reader.stop();
    for (const stream of [...this.#streams.values(), ...this.#unsent]) stream.lost();
    this.#owner.closed(code);
  }

  onOpen(id: number, peers: string): void {
    if (this.#begins || id <= this.#lastId || this.#streams.size >= STREAMS_MAX) {
      return this.onProtocolError(`OPEN of stream ${id} is out of order`);
    }
    this.#lastId = id;
    const stream = new TrunkStream(this, id, peers);
    this.#streams.set(id, stream);
    if (peers !== '') return this.#owner.begun(stream, NOTHING);
    stream.attach({
      onStreamData: (first) => this.#owner.begun(stream, first),
      onStreamDrain: () => {},
      onStreamClose: () => {},
    });
  }

  onData(id: number, piece: Buffer): void {
    const stream = this.#streams.get(id);
    const result = stream?.received(piece) ?? 'refused';
    if (stream !== undefined && result === 'first') this.#arrivals.push(stream);
    else if (result === 'refused') this.onProtocolError(`DATA of stream ${id} is not allowed`);
  }

  onEnd(id: number, code: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined || !stream.ended(code)) this.onProtocolError(`stream ${id} has ended`);
    else this.#closeUnused();
  }

  onWindow(id: number, bytes: number): void {
    const stream = this.#streams.get(id);
    // Both sides may have moved the stream while the frame was on its way.
    const isGone = stream === undefined && id <= this.#lastId;
    if (!isGone && stream?.granted(bytes) !== true)
      this.onProtocolError(`WINDOW of stream ${id} is not allowed`);
  }

  onMove(id: number, connectionId: string): void {
    const stream = this.#begins ? undefined : this.#streams.get(id);
    if (stream?.moveAsked(() => this.#owner.moveAsked(stream, connectionId)) !== true)
      this.onProtocolError(`MOVE of stream ${id} is not allowed`);
  }

  onMoved(id: number): void {
    const stream = this.#streams.get(id);
    if (stream?.moved() === true) this.#closeUnused();
    else this.onProtocolError(`MOVED of stream ${id} is not allowed`);
  }

  onEof(id: number): void {
    if (this.#streams.get(id)?.sentAll() !== true) this.onProtocolError(`EOF of stream ${id} is not allowed`);
  }

  onProtocolError(reason: string): void {
    this.#socket.close(CloseCode.protocolError, reason);
    this.onStreamClose(CloseCode.abnormal);
  }

  /** Closes a retired trunk after the frames that end its last stream. Data before their answers is not needed. */
  #closeUnused(): void {
    if (!this.#isRetired || this.size > this.#unanswered.size + this.#overdue.size) return;
    for (const stream of this.#streams.values()) if (!stream.hasSentEnd) return;
    this.close(CloseCode.normal);
  }

  /**
   * Sends at the end of this turn of the event loop, with all data of this turn. With only one stream, sends after the
   * current callback, since no other stream could add data.
   */
  #schedule(): void {
    if (this.#isScheduled || !this.#hasRoom) return;
    this.#isScheduled = true;
    if (this.size === 1) queueMicrotask(this.#sendScheduled);
    else setImmediate(this.#sendScheduled);
  }

  readonly #sendScheduled = (): void => {
    this.#isScheduled = false;
    if (this.#hasRoom && !this.#isClosed) this.#send();
  };

  #send(): void {
    const batch = new Batch();
    let hasRoom: TrunkStream[] | undefined;
    const { isNear } = this;
    if (!this.#begins && !isNear && this.#pathPings < PATH_PINGS_MAX) this.#measureAgain();
    while (!batch.isFull) {
      const stream = this.#rounds.next();
      if (stream === undefined) break;
      const turn = isNear || this.#rounds.size === 0 ? DATA_MAX_BYTES : TURN_BYTES;
      if (stream.putInto(batch, turn)) this.#rounds.add(stream);
      if (stream.takeRoom()) (hasRoom ??= []).push(stream);
    }
    if (batch.size > 0) {
      this.#isUnanswered = true;
      this.#hasRoom = batch.sendOn(this.#socket);
    }
    if (this.#rounds.size > 0) this.#schedule();
    if (hasRoom !== undefined) for (const stream of hasRoom) stream.tellRoom();
    this.#closeUnused();
  }
}

/**
 * Decides which stream sends next. New senders go before continuing ones, which take turns, so small data is sent
 * before large data (as in FQ-CoDel, RFC 8290 section 4.2). An item that has had a turn keeps its place in the round,
 * even without data, so that each other item has at most one turn while it waits.
 */
export class SendRounds<T> {
  readonly #fresh = new Set<T>();
  /** items that have had a turn, the next one first, and whether they have data */
  readonly #round = new Map<T, boolean>();
  #size = 0;

  /** The number of items with data. */
  get size(): number {
    return this.#size;
  }

  /** The item has data, or more of it. A waiting item keeps its place. */
  add(item: T): void {
    const waits = this.#round.get(item);
    if (waits === true || this.#fresh.has(item)) return;
    this.#size += 1;
    if (waits === undefined) this.#fresh.add(item);
    else this.#round.set(item, true);
  }

  /** Returns the item whose turn it is. */
  next(): T | undefined {
    for (const item of this.#fresh) {
      this.#fresh.delete(item);
      return this.#turn(item);
    }
    for (const [item, waits] of this.#round) {
      this.#round.delete(item);
      if (waits) return this.#turn(item);
    }
    return undefined;
  }

  /** Removes an item without further data. */
  delete(item: T): void {
    if (this.#fresh.delete(item) || this.#round.get(item) === true) this.#size -= 1;
    this.#round.delete(item);
  }

  #turn(item: T): T {
    this.#size -= 1;
    this.#round.set(item, false);
    return item;
  }
}
