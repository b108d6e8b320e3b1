/**
 * An established WebSocket used as a byte stream: a data socket on either end (protocol.md section 6.2). Each
 * write is one binary message; received data is passed on in pieces as it arrives. The relay's end of a control socket
 * sends text as well.
 */
import type { Duplex } from 'node:stream';
import { CloseCode } from '../control.ts';
import { readAtOnce, type ReadSocket, type SocketReads } from '../scheduler/fair-reads.ts';
import {
  applyMask,
  type FrameHandler,
  frameHeaderSize,
  FrameReader,
  type MessageLimits,
  Opcode,
  type Role,
  writeFrameHeader,
} from './frames.ts';

/** How long a peer has to read everything up to the Close frame. */
const FLUSH_TIMEOUT_MS = 60_000;
/**
 * How long a peer has to read the Close frame of a stream that was aborted: it must learn of that within 1 s,
 * and the rest is useless.
 */
const BREAK_TIMEOUT_MS = 250;
/** How long a peer has to answer a Close frame before its socket is destroyed. */
const CLOSE_TIMEOUT_MS = 1000;
/** Bytes up to which header and payload are copied into one write. Above, copying costs more than a second write. */
const COPY_MAX = 16_384;
/** Content of the ping that measures the round trip. Other pings differ. */
const ROUND_TRIP = Buffer.from('round trip');
const NONE = Buffer.alloc(0);
/** Number of keys drawn together from the system's random source. */
const KEY_POOL_SIZE = 1024;

export interface ByteStreamHandler {
  onStreamData(piece: Buffer): void;
  /** Queued data was handed to the system. Called only after a `write` that returned `false`. */
  onStreamDrain(): void;
  /** The peer has sent all its data, and still accepts data. Only raw connections have that. */
  onStreamEnd?(): void;
  /**
   * The stream has ended, by either side. Called once, with the code of the peer's Close frame, or
   * {@link CloseCode.abnormal} if the connection broke or violated the protocol.
   */
  onStreamClose(code: number): void;
  /** A pong has arrived. */
  onStreamPong?(): void;
  /**
   * The connection below is closed. Called also after `close` and `destroy`, with the code of the peer's Close frame, or
   * {@link CloseCode.abnormal} without one.
   */
  onConnectionClosed?(code: number): void;
}

export interface ByteStreamOptions {
  /** bytes to send in one packet with the first frame: the rest of the handshake */
  readonly preface?: Buffer;
  readonly read?: ReadSocket;
  /** of a peer that may also send text */
  readonly messages?: MessageLimits;
  /** how long the peer has to read the Close frame and to answer it, if not as long as on a data socket */
  readonly closeTimeoutMs?: number;
}

/** Destroys a connection with the code that its byte stream then ends with, instead of {@link CloseCode.abnormal}. */
export class ConnectionLost extends Error {
  readonly code: number;

  /** @param code of the end */
  constructor(code: number) {
    super('the connection was lost');
    this.code = code;
  }
}

/** Whether a close code means that the peer has sent all its data: 1000, or no code. */
export function isCleanClose(code: number): boolean {
  return code === CloseCode.normal || code === CloseCode.noStatus;
}

/**
 * Whether the data before a close is delivered in full. 1011 means that its source broke off: what had arrived from it may
 * be a complete message.
 */
export function flushesBefore(code: number): boolean {
  return isCleanClose(code) || code === CloseCode.internalError;
}

export class WebSocketByteStream implements FrameHandler {
  readonly #socket: Duplex;
  readonly #role: Role;
  readonly #reader: FrameReader;
  readonly #read: ReadSocket;
  /** set once the flow has started */
  #reads: SocketReads | undefined;
  #head: Buffer;
  /** Bytes to send before the first frame. */
  #preface: Buffer | undefined;
  #handler: ByteStreamHandler | undefined;
  #pings: PingLimit | undefined;
  /** The latest ping, received while none could be answered. */
  #lastPing: Buffer | undefined;
  #pongUnderWay = false;
  /** Whether the peer has neither sent nor read anything since {@link probe}. */
  #silent = false;
  /** when {@link measureRoundTrip} sent its ping, in monotonic ms, and its result */
  #measuredAt: number | undefined;
  #roundTripMs = Infinity;
  #closeSent = false;
  /** whether an empty message means that its sender has sent all its data */
  #carriesEnd = false;
  #hasReadAll = false;
  /** of the peer's Close frame */
  #peerCode: number = CloseCode.abnormal;
  readonly #closeTimeoutMs: number | undefined;
  /** Whether the peer has closed as well while some of our data was still queued. */
  #destroyWhenFlushed = false;
  #ended = false;
  #closeTimer: NodeJS.Timeout | undefined;

  /**
   * @param socket upgraded, with only an `error` listener
   * @param head bytes read after the upgrade
   */
  constructor(
    socket: Duplex,
    role: Role,
    head: Buffer,
    { preface, read = readAtOnce, messages, closeTimeoutMs }: ByteStreamOptions = {},
  ) {
    this.#socket = socket;
    this.#role = role;
    this.#head = head;
    this.#preface = preface;
    this.#read = read;
    this.#closeTimeoutMs = closeTimeoutMs;
    this.#reader = new FrameReader(role, this, messages);
    socket.on('error', destroyIt);
    socket.on('close', () => this.#socketClosed());
  }

  /** Starts the flow, or passes it to another handler. */
  attach(handler: ByteStreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst) this.#start();
  }

  #start(): void {
    const socket = this.#socket;
    // Nothing was written yet, and the peer may wait for the handshake before it sends anything.
    if (this.#preface !== undefined) socket.write(this.#preface);
    this.#preface = undefined;
    socket.on('drain', () => {
      this.#silent = false;
      this.#answerLastPing();
      if (!this.#ended) this.#handler?.onStreamDrain();
    });
    this.#reads = this.#read(socket, (chunk) => {
      this.#silent = false;
      this.#reader.push(chunk);
    });
    socket.on('end', destroyIt);
    if (socket.destroyed) return this.#end(CloseCode.abnormal);
    const head = this.#head;
    this.#head = NONE;
    // The code of the handshake may have left the socket paused, so that no data was lost.
    if (socket.isPaused()) this.#reads.resume();
    if (head.length > 0) this.#reader.push(head);
  }

  /**
   * Sends bytes as one binary message. The caller must not use them afterwards, because they may be masked in place.
   *
   * @returns `false` if too much is queued: wait for `onDrain`
   */
  write(chunk: Buffer): boolean {
    if (this.#closeSent || this.#ended || chunk.length === 0) return true;
    return this.#send(Opcode.binary, chunk);
  }

  /** Both sides know that an empty message means {@link end}. To be called before the flow starts. */
  carryEnd(): void {
    this.#carriesEnd = true;
  }

  /** Tells the peer after the written data that no more follows, if {@link carryEnd} was called. The peer may still send. */
  end(): void {
    if (this.#carriesEnd && !this.#closeSent && !this.#ended) this.#send(Opcode.binary, NONE);
  }

  /** Sends a text message. */
  writeText(text: string): void {
    if (!this.#closeSent && !this.#ended) this.#send(Opcode.text, Buffer.from(text));
  }

  /** Bytes that were sent, and that the system has not accepted yet. */
  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  /**
   * Sends bytes as one binary message, like {@link write}.
   *
   * @param size total bytes of all pieces
   */
  writeAll(pieces: readonly Buffer[], size: number): boolean {
    const socket = this.#socket;
    if (this.#closeSent || this.#ended || !socket.writable) return true;
    const mask = this.#role === 'client' ? nextMask() : 0;
    const header = Buffer.allocUnsafe(frameHeaderSize(size, this.#role));
    writeFrameHeader(header, Opcode.binary, size, mask);
    socket.cork();
    let room = socket.write(header);
    let offset = 0;
    for (const piece of pieces) {
      if (mask !== 0) applyMask(piece, mask, offset);
      offset += piece.length;
      room = socket.write(piece);
    }
    socket.uncork();
    return room;
  }

  /** Stops the flow to the handler, and thereby the peer, once the system's buffers are full. */
  pause(): void {
    if (this.#reads === undefined) this.#socket.pause();
    else this.#reads.pause();
  }

  resume(): void {
    if (this.#reads === undefined) this.#socket.resume();
    else this.#reads.resume();
  }

  /** Whether {@link pause} is in force. */
  get isPaused(): boolean {
    return this.#reads === undefined ? this.#socket.isPaused() : this.#reads.isPaused;
  }

  /** Asks the peer for a sign of life, with a ping (RFC 6455 section 5.5.2). */
  probe(): void {
    this.#silent = true;
    this.#send(Opcode.ping, Buffer.alloc(0));
  }

  /**
   * Detects a peer that has left while the handler has no room. A paused socket does not notice that, so this sends a
   * ping: the first ping to a closed connection causes a reset, and the next one fails.
   */
  lookForEnd(): void {
    this.#send(Opcode.ping, NONE);
  }

  /** Measures {@link roundTripMs} again. @returns false while a measurement is under way */
  measureRoundTrip(): boolean {
    if (this.#measuredAt !== undefined) return false;
    this.#measuredAt = performance.now();
    this.#send(Opcode.ping, ROUND_TRIP);
    return true;
  }

  /** The shortest time between a ping and its pong in ms; Infinity before a measurement. */
  get roundTripMs(): number {
    return this.#roundTripMs;
  }

  /** Whether the peer has sent nothing since {@link probe}, and read nothing of the queued data. */
  get isSilent(): boolean {
    return this.#silent;
  }

  /**
   * Ends the stream: sends a Close frame after the written data, then closes the connection. The handler is no longer
   * called.
   *
   * @param code {@link CloseCode}; `normal` means that all data was sent
   * @param reason for debugging the peer; up to 123 bytes
   */
  close(code: number, reason = ''): void {
    if (this.#closeSent) return;
    this.#ended = true;
    const closed = (): void => {
      if (this.#destroyWhenFlushed) this.#giveBack();
      else this.#armCloseTimer(CLOSE_TIMEOUT_MS);
    };
    this.#sendClose(code, closed, reason);
    // Data of the peer must be read, or its Close frame never arrives.
    this.#reads?.flush();
    this.resume();
  }

  /** Cuts the connection. The handler is no longer called. */
  destroy(): void {
    this.#ended = true;
    this.#socket.destroy();
  }

  #send(opcode: Opcode, payload: Buffer, onFlushed?: () => void): boolean {
    const socket = this.#socket;
    if (this.#closeSent || !socket.writable) return true;
    const mask = this.#role === 'client' ? nextMask() : 0;
    const preface = this.#preface;
    this.#preface = undefined;
    const start = preface === undefined ? 0 : preface.length;
    const size = start + frameHeaderSize(payload.length, this.#role);
    const isSmall = payload.length <= COPY_MAX;
    const frame = Buffer.allocUnsafe(isSmall ? size + payload.length : size);
    preface?.copy(frame);
    writeFrameHeader(start === 0 ? frame : frame.subarray(start), opcode, payload.length, mask);
    if (isSmall) {
      payload.copy(frame, size);
      if (mask !== 0) applyMask(frame.subarray(size), mask, 0);
      return socket.write(frame, onFlushed);
    }
    if (mask !== 0) applyMask(payload, mask, 0);
    socket.cork();
    socket.write(frame);
    const room = socket.write(payload, onFlushed);
    socket.uncork();
    return room;
  }

  /* What the reader of frames calls. */

  onPayload(piece: Buffer): void {
    if (!this.#ended && !this.#hasReadAll) this.#handler?.onStreamData(piece);
  }

  onEmptyMessage(): void {
    if (!this.#carriesEnd || this.#ended || this.#hasReadAll) return;
    this.#hasReadAll = true;
    this.#handler?.onStreamEnd?.();
  }

  onPong(payload: Buffer): void {
    this.#handler?.onStreamPong?.();
    if (this.#measuredAt === undefined || !payload.equals(ROUND_TRIP)) return;
    this.#roundTripMs = Math.min(this.#roundTripMs, performance.now() - this.#measuredAt);
    this.#measuredAt = undefined;
  }

  onPing(payload: Buffer): void {
    this.#pings ??= new PingLimit();
    if (this.#pings.admits()) this.#answerPing(payload);
    else this.#refusePeer(CloseCode.policyViolation, 'too many pings');
  }

  /**
   * Sends one pong at a time, and none while the peer does not read: of the pings received in the meantime, only the
   * latest must be answered (RFC 6455 section 5.5.3).
   */
  #answerPing(payload: Buffer): void {
    const waits = this.#pongUnderWay || this.#socket.writableNeedDrain;
    // A copy, so that the chunk of the ping does not stay in memory while the answer waits.
    this.#lastPing = waits ? Buffer.alloc(payload.length, payload) : undefined;
    if (waits) return;
    this.#pongUnderWay = true;
    this.#send(Opcode.pong, payload, () => this.#pongSent());
  }

  #pongSent(): void {
    this.#pongUnderWay = false;
    this.#answerLastPing();
  }

  #answerLastPing(): void {
    if (this.#lastPing !== undefined) this.#answerPing(this.#lastPing);
  }

  #sendClose(code: number, onFlushed: () => void, reason = ''): void {
    const payload = Buffer.from(code === CloseCode.noStatus ? '' : `..${reason}`);
    if (payload.length > 0) payload.writeUInt16BE(code);
    this.#send(Opcode.close, payload, onFlushed);
    this.#closeSent = true;
    if (this.#socket.writableLength > 0)
      this.#armCloseTimer(flushesBefore(code) ? FLUSH_TIMEOUT_MS : BREAK_TIMEOUT_MS);
  }

  /**
   * Nothing follows in either direction (RFC 6455 section 7.1.1). Once the system has all our data, the connection is
   * closed without waiting for the peer to do so first.
   */
  onClose(code: number): void {
    const socket = this.#socket;
    this.#peerCode = code;
    if (!this.#closeSent) this.#sendClose(code, () => this.#giveBack());
    else if (socket.writableLength === 0) socket.destroy();
    else this.#destroyWhenFlushed = true;
    this.#end(code);
  }

  /** Closes the connection once the system has all data. Within the callback of a write, Node would report an error. */
  #giveBack(): void {
    queueMicrotask(() => this.#socket.destroy());
  }

  onProtocolError(code: number): void {
    this.#sendClose(code, () => this.#armCloseTimer(CLOSE_TIMEOUT_MS));
    this.#socket.end();
    this.#end(CloseCode.abnormal);
  }

  /** Ends the connection once the system has all data, and reads nothing more from the peer. */
  #refusePeer(code: number, reason: string): void {
    this.#reader.stop();
    this.pause();
    this.#sendClose(code, () => this.#giveBack(), reason);
    this.#end(CloseCode.abnormal);
  }

  #socketClosed(): void {
    this.#reads?.flush();
    // A closed socket is garbage-collected late, and would keep its listeners alive.
    this.#socket.removeAllListeners();
    // What is still written to a dead TLS connection may fail after that.
    this.#socket.on('error', destroyIt);
    clearTimeout(this.#closeTimer);
    const { errored } = this.#socket;
    this.#end(errored instanceof ConnectionLost ? errored.code : CloseCode.abnormal);
    this.#handler?.onConnectionClosed?.(this.#peerCode);
  }

  #end(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handler?.onStreamClose(code);
  }

  #armCloseTimer(ms: number): void {
    clearTimeout(this.#closeTimer);
    if (this.#socket.destroyed) return;
    this.#closeTimer = setTimeout(() => this.#socket.destroy(), this.#closeTimeoutMs ?? ms);
  }
}

function destroyIt(this: Duplex): void {
  this.destroy();
}

const keys = new Int32Array(KEY_POOL_SIZE);
let nextKey = KEY_POOL_SIZE;

/** A new masking key (RFC 6455 section 10.3), never 0, which means "not masked". */
function nextMask(): number {
  if (nextKey === KEY_POOL_SIZE) {
    crypto.getRandomValues(keys);
    nextKey = 0;
  }
  return keys[nextKey++] || 1;
}

/** ms over which the pings of a peer are counted. */
const WINDOW_MS = 1000;
/**
 * Maximum number of pings that a peer may send per second: more than arrive together from a client that pings
 * every second and was held up for a minute.
 */
export const PINGS_MAX = 100;

/** Detects a peer that sends too many pings: each costs about as much as a message, and needs an answer as well. */
class PingLimit {
  #count = 0;

  /** Counts a ping. @returns whether the peer has sent at most {@link PINGS_MAX} within a second */
  admits(): boolean {
    if (this.#count === 0) setTimeout(() => (this.#count = 0), WINDOW_MS).unref();
    this.#count += 1;
    return this.#count <= PINGS_MAX;
  }
}

/** The text that a server appends to the client's key to prove that it supports WebSocket (RFC 6455 section 1.3). */
export const HANDSHAKE_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
