/**
 * An established WebSocket used as a byte stream: what a data socket is on either end (docs/protocol.md section 6.2). Each
 * write is one binary message; what arrives is passed on in pieces as it comes.
 */
import type { Duplex } from 'node:stream';
import { CloseCode } from '../control.ts';
import { readAtOnce, type ReadSocket, type SocketReads } from '../socket-reads.ts';
import { applyMask, frameHeaderSize, FrameReader, Opcode, type Role, writeFrameHeader } from './frames.ts';
import { PingLimit } from './ping-limit.ts';

/** @limit ms a peer has to take everything up to the Close frame. */
const FLUSH_TIMEOUT_MS = 60_000;
/** @limit ms the same for a stream that is broken off: the other side must hear of it within 1 s, and nobody needs the rest. */
const BREAK_TIMEOUT_MS = 250;
/** @limit ms a peer has to answer a Close frame it was sent before its socket is cut. */
const CLOSE_TIMEOUT_MS = 1000;
/** Bytes up to which header and payload are copied into one write; above, the copy costs more than a second one. */
const COPY_MAX = 16_384;
/** Content of the ping that measures a round trip, and of no other. */
const ROUND_TRIP = Buffer.from('round trip');
const NONE = Buffer.alloc(0);
/** Keys drawn from the system's random source at a time. */
const KEY_POOL_SIZE = 1024;

export interface ByteStreamHandler {
  onStreamData(piece: Buffer): void;
  /** What was queued has been handed to the system; only after a `write` that answered `false`. */
  onStreamDrain(): void;
  /**
   * The stream has ended, once, whoever ended it: the code of the peer's Close frame, or
   * {@link CloseCode.abnormal} where the connection broke or broke the protocol.
   */
  onStreamClose(code: number): void;
}

export interface ByteStreamOptions {
  /** bytes to send first, in one packet with the first frame: what is left of the handshake */
  readonly preface?: Buffer;
  readonly read?: ReadSocket;
}

/** Whether a close code says that the peer sent all it had to: 1000, or none given. */
export function isCleanClose(code: number): boolean {
  return code === CloseCode.normal || code === CloseCode.noStatus;
}

export class WebSocketByteStream {
  readonly #socket: Duplex;
  readonly #role: Role;
  readonly #reader: FrameReader;
  readonly #read: ReadSocket;
  /** once the flow has started */
  #reads: SocketReads | undefined;
  #head: Buffer;
  /** Bytes that go out in front of the first frame. */
  #preface: Buffer | undefined;
  #handler: ByteStreamHandler | undefined;
  readonly #pings = new PingLimit();
  /** The latest ping that came while none could be answered. */
  #lastPing: Buffer | undefined;
  #pongUnderWay = false;
  /** Whether the peer has sent and taken nothing since {@link probe}. */
  #silent = false;
  /** when {@link measureRoundTrip} has asked, monotonic ms, and what it has found */
  #measuredAt: number | undefined;
  #roundTripMs = Infinity;
  #closeSent = false;
  /** The peer has closed too, while some of ours was still queued. */
  #destroyWhenFlushed = false;
  #ended = false;
  #closeTimer: NodeJS.Timeout | undefined;

  /**
   * @param socket upgraded, with nothing else listening to it but for errors
   * @param head bytes that were read behind the upgrade
   */
  constructor(
    socket: Duplex,
    role: Role,
    head: Buffer,
    { preface, read = readAtOnce }: ByteStreamOptions = {},
  ) {
    this.#socket = socket;
    this.#role = role;
    this.#head = head;
    this.#preface = preface;
    this.#read = read;
    this.#reader = new FrameReader(role, {
      onPayload: (piece) => {
        if (!this.#ended) this.#handler?.onStreamData(piece);
      },
      onPing: (payload) => this.#pinged(payload),
      onPong: (payload) => this.#ponged(payload),
      onClose: (code) => this.#peerClosed(code),
      onProtocolError: (code) => this.#peerBrokeProtocol(code),
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#socketClosed());
  }

  /** Starts the flow, or hands it to another handler. */
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
    socket.on('end', () => socket.destroy());
    if (socket.destroyed) return this.#end(CloseCode.abnormal);
    const head = this.#head;
    this.#head = NONE;
    // Whoever did the handshake may have left the socket paused, so that nothing was lost on the way here.
    if (socket.isPaused()) this.#reads.resume();
    if (head.length > 0) this.#reader.push(head);
  }

  /**
   * Sends bytes as one binary message. They belong to the stream from then on: it may mask them in place.
   *
   * @returns `false` when more is queued than should be: wait for `onDrain`
   */
  write(chunk: Buffer): boolean {
    if (this.#closeSent || this.#ended) return true;
    return this.#send(Opcode.binary, chunk);
  }

  /**
   * Sends bytes as one binary message, as {@link write} does.
   *
   * @param size bytes of all pieces
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

  /** Stops the flow towards the handler, and so the peer once the system's buffers are full. */
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
   * Finds out whether the peer has left while the handler has no room. A paused socket does not notice it, so this sends a ping: the
   * first ping to a closed connection brings a reset, and the next one fails.
   */
  lookForEnd(): void {
    this.#send(Opcode.ping, NONE);
  }

  /** Has {@link roundTripMs} measured, once more unless that is under way. */
  measureRoundTrip(): void {
    if (this.#measuredAt !== undefined) return;
    this.#measuredAt = performance.now();
    this.#send(Opcode.ping, ROUND_TRIP);
  }

  /** The least ms that a ping and its pong took; Infinity before that was measured. */
  get roundTripMs(): number {
    return this.#roundTripMs;
  }

  /** Whether the peer has sent nothing at all since {@link probe}, and taken nothing of what was queued. */
  get isSilent(): boolean {
    return this.#silent;
  }

  /**
   * Ends the stream: a Close frame behind what was written, then the connection. The handler hears nothing more.
   *
   * @param code {@link CloseCode}; `normal` says that everything was sent
   * @param reason for whoever looks into the peer; up to 123 bytes
   */
  close(code: number, reason = ''): void {
    if (this.#closeSent) return;
    this.#ended = true;
    const closed = (): void => {
      if (this.#destroyWhenFlushed) this.#giveBack();
      else this.#armCloseTimer(CLOSE_TIMEOUT_MS);
    };
    this.#sendClose(code, closed, reason);
    // What the peer still sends must be read, or its Close frame never comes.
    this.#reads?.flush();
    this.resume();
  }

  /** Cuts the connection. The handler hears nothing more. */
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

  #ponged(payload: Buffer): void {
    if (this.#measuredAt === undefined || !payload.equals(ROUND_TRIP)) return;
    this.#roundTripMs = Math.min(this.#roundTripMs, performance.now() - this.#measuredAt);
    this.#measuredAt = undefined;
  }

  #pinged(payload: Buffer): void {
    if (this.#pings.admits()) this.#answerPing(payload);
    else this.#refusePeer(CloseCode.policyViolation, 'too many pings');
  }

  /**
   * One pong at a time, and none while the peer takes nothing: of the pings that come meanwhile only the latest is to be
   * answered (RFC 6455 section 5.5.3).
   */
  #answerPing(payload: Buffer): void {
    const waits = this.#pongUnderWay || this.#socket.writableNeedDrain;
    // A copy: what came with it is not to stay for as long as its answer waits.
    this.#lastPing = waits ? Buffer.alloc(payload.length, payload) : undefined;
    if (waits) return;
    this.#pongUnderWay = true;
    this.#send(Opcode.pong, payload, this.#onPongSent);
  }

  readonly #onPongSent = (): void => {
    this.#pongUnderWay = false;
    this.#answerLastPing();
  };

  #answerLastPing(): void {
    if (this.#lastPing !== undefined) this.#answerPing(this.#lastPing);
  }

  #sendClose(code: number, onFlushed: () => void, reason = ''): void {
    const payload = Buffer.from(code === CloseCode.noStatus ? '' : `..${reason}`);
    if (payload.length > 0) payload.writeUInt16BE(code);
    this.#send(Opcode.close, payload, onFlushed);
    this.#closeSent = true;
    if (this.#socket.writableLength > 0)
      this.#armCloseTimer(isCleanClose(code) ? FLUSH_TIMEOUT_MS : BREAK_TIMEOUT_MS);
  }

  /**
   * Nothing follows in either direction (RFC 6455 section 7.1.1): once everything of ours is with the system, the
   * connection is given back without waiting for the peer to do so first.
   */
  #peerClosed(code: number): void {
    const socket = this.#socket;
    if (!this.#closeSent) this.#sendClose(code, () => this.#giveBack());
    else if (socket.writableLength === 0) socket.destroy();
    else this.#destroyWhenFlushed = true;
    this.#end(code);
  }

  /** Closes the connection once all is with the system. Within the callback of a write, Node would make an error of it. */
  #giveBack(): void {
    queueMicrotask(() => this.#socket.destroy());
  }

  #peerBrokeProtocol(code: number): void {
    this.#sendClose(code, () => this.#armCloseTimer(CLOSE_TIMEOUT_MS));
    this.#socket.end();
    this.#end(CloseCode.abnormal);
  }

  /** Ends the connection once all is with the system, and reads nothing more of what the peer sends. */
  #refusePeer(code: number, reason: string): void {
    this.#reader.stop();
    this.pause();
    this.#sendClose(code, () => this.#giveBack(), reason);
    this.#end(CloseCode.abnormal);
  }

  #socketClosed(): void {
    this.#reads?.flush();
    // A closed socket is collected late, and would take along all that listens to it.
    this.#socket.removeAllListeners();
    clearTimeout(this.#closeTimer);
    this.#end(CloseCode.abnormal);
  }

  #end(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handler?.onStreamClose(code);
  }

  #armCloseTimer(ms: number): void {
    clearTimeout(this.#closeTimer);
    if (this.#socket.destroyed) return;
    this.#closeTimer = setTimeout(() => this.#socket.destroy(), ms);
  }
}

const keys = new Int32Array(KEY_POOL_SIZE);
let nextKey = KEY_POOL_SIZE;

/** A fresh masking key (RFC 6455 section 10.3), never 0, which means "not masked". */
function nextMask(): number {
  if (nextKey === KEY_POOL_SIZE) {
    crypto.getRandomValues(keys);
    nextKey = 0;
  }
  return keys[nextKey++] || 1;
}
