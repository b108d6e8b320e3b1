import { CloseCode } from '../../../shared/control.ts';
import { BodyError, type BodyTracker, requestFraming, trackBody } from '../../../shared/http1/body.ts';
import { fieldValue } from '../../../shared/http1/fields.ts';
import {
  HeadReader,
  HeadWriter,
  parseRequestHead,
  parseResponseHead,
  type RequestHead,
} from '../../../shared/http1/head.ts';
import { type ByteStreamHandler, isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import { REQUEST_HEAD_MAX_BYTES, RESPONSE_HEAD_MAX_BYTES, UPGRADE_EARLY_MAX_BYTES } from '../limits.ts';
import type { DataSocket } from './data-dialer.ts';

/** Sits between a data socket and its handler. This base passes everything on; subclasses observe or change it. */
export class StreamFilter implements DataSocket, ByteStreamHandler {
  readonly #inner: DataSocket;
  #handler: ByteStreamHandler | undefined;

  constructor(inner: DataSocket) {
    this.#inner = inner;
  }

  /** A local connection exists for the data that follows. */
  connected(): void {
    if (this.#inner instanceof StreamFilter) this.#inner.connected();
  }

  attach(handler: ByteStreamHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (isFirst) this.#inner.attach(this);
  }

  write(chunk: Buffer): boolean {
    return this.#inner.write(chunk);
  }

  pause(): void {
    this.#inner.pause();
  }

  resume(): void {
    this.#inner.resume();
  }

  close(code: number): void {
    this.#inner.close(code);
  }

  destroy(): void {
    this.#inner.destroy();
  }

  lookForEnd(): void {
    this.#inner.lookForEnd();
  }

  onStreamData(piece: Buffer): void {
    this.#handler?.onStreamData(piece);
  }

  onStreamDrain(): void {
    this.#handler?.onStreamDrain();
  }

  onStreamClose(code: number): void {
    this.#handler?.onStreamClose(code);
  }
}

/**
 * Puts a filter around a data socket.
 *
 * @param waitedMs ms from the visitor's announcement until the data socket was open
 * @returns `undefined` if this visitor needs none
 */
export type FilterMaker = (inner: DataSocket, waitedMs: number) => StreamFilter | undefined;

/** The interface between the visitors' data path and observers of it. */

/** Observes every visitor's connection. Without a recorder, observing costs nothing. */
export interface Recorder {
  /**
   * Called before a visitor's first bytes.
   *
   * @param waitedMs ms from the visitor's announcement until its data socket was open; 0 if the visitor came through an
   *   open trunk
   */
  open(waitedMs: number): Recording;
}

/**
 * Receives the data of one visitor's connection and the local service, piece by piece as it passes. A response that
 * Culvert sends instead of the service counts as the service's. The bytes belong to the caller: copy what you keep
 * before the call returns.
 */
export interface Recording {
  /** A local connection exists for the data that follows. Called again when another one replaces it. */
  connected(): void;
  toLocal(bytes: Buffer): void;
  toVisitor(bytes: Buffer): void;
  /**
   * No more data follows. Called once.
   *
   * @param isBroken whether the connection ended other than as its two sides intended
   */
  end(isBroken: boolean): void;
}

/** Passes the data of one data socket to a recorder. */
export class RecordedStream extends StreamFilter {
  readonly #recorder: Recorder;
  readonly #waitedMs: number;
  #recording: Recording | undefined;
  #isConnected = false;
  #hasEnded = false;

  /** @param waitedMs as in {@link Recorder.open} */
  constructor(inner: DataSocket, recorder: Recorder, waitedMs = 0) {
    super(inner);
    this.#recorder = recorder;
    this.#waitedMs = waitedMs;
  }

  override connected(): void {
    this.#isConnected = true;
    if (!this.#hasEnded) this.#recording?.connected();
    super.connected();
  }

  override onStreamData(piece: Buffer): void {
    if (!this.#hasEnded) {
      this.#recording ??= this.#open();
      this.#recording.toLocal(piece);
    }
    super.onStreamData(piece);
  }

  override write(chunk: Buffer): boolean {
    // Before it is written: a data socket masks bytes in place.
    if (!this.#hasEnded) this.#recording?.toVisitor(chunk);
    return super.write(chunk);
  }

  override close(code: number): void {
    this.#end(!isCleanClose(code));
    super.close(code);
  }

  override destroy(): void {
    this.#end(true);
    super.destroy();
  }

  override onStreamClose(code: number): void {
    this.#end(!isCleanClose(code));
    super.onStreamClose(code);
  }

  #open(): Recording {
    const recording = this.#recorder.open(this.#waitedMs);
    if (this.#isConnected) recording.connected();
    return recording;
  }

  #end(isBroken: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#recording?.end(isBroken);
  }
}

/** The relay has already refused longer ones. */
const NO_LIMITS = { target: Infinity, fields: Infinity };

/**
 * Replaces the Host of every request on a data socket, and leaves the rest unchanged. It parses each request to find
 * the start of the next. A request that cannot be parsed breaks the connection, because nothing after it can be parsed
 * either.
 */
export class HostRewriter extends StreamFilter {
  readonly #host: string;
  readonly #requests = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  /** of the current request; `undefined` between two */
  #body: BodyTracker | undefined;
  /** reads the response to an upgrade, until it is known whether HTTP follows */
  #answers: HeadReader | undefined;
  /** bytes after the offer of an upgrade, until its response is known */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** whether the handler has paused the stream */
  #isPaused = false;
  /** whether bytes pass through unparsed: after an upgrade, or after the end */
  #isThrough = false;

  /** @param host the Host to send */
  constructor(inner: DataSocket, host: string) {
    super(inner);
    this.#host = host;
  }

  override onStreamData(piece: Buffer): void {
    if (this.#isThrough) super.onStreamData(piece);
    else this.#follow(piece);
  }

  override pause(): void {
    this.#isPaused = true;
    super.pause();
  }

  override resume(): void {
    this.#isPaused = false;
    if (this.#heldBytes <= UPGRADE_EARLY_MAX_BYTES) super.resume();
  }

  /** Bounded, because the other side decides how much it sends, and the local service how long it takes to respond. */
  #hold(piece: Buffer): void {
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > UPGRADE_EARLY_MAX_BYTES) super.pause();
  }

  override write(chunk: Buffer): boolean {
    if (this.#answers !== undefined) this.#readAnswer(this.#answers, chunk);
    return super.write(chunk);
  }

  #follow(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0 && !this.#isThrough) {
      // The body belongs to the request that offers the upgrade.
      if (this.#answers !== undefined && this.#body === undefined) return this.#hold(rest);
      rest = this.#body === undefined ? this.#followHead(rest) : this.#followBody(this.#body, rest);
    }
  }

  /** @returns the bytes after the head */
  #followHead(bytes: Buffer): Buffer {
    const end = this.#requests.push(bytes);
    if (end === undefined) return bytes.subarray(bytes.length);
    const head = typeof end === 'string' ? end : parseRequestHead(end.head, NO_LIMITS);
    const framing = typeof head === 'string' ? head : requestFraming(head);
    if (typeof end === 'string' || typeof head === 'string' || typeof framing === 'string')
      return this.#break(bytes);
    // Each Host is replaced by a longer one, so a head with many would grow without a limit.
    if (head.fields.filter((field) => field.is('host')).length > 1) return this.#break(bytes);
    const body = trackBody(framing);
    if (!body.done) this.#body = body;
    if (fieldValue(head.fields, 'upgrade') !== undefined)
      this.#answers = new HeadReader(RESPONSE_HEAD_MAX_BYTES);
    super.onStreamData(this.#rewrite(head));
    return end.rest;
  }

  #followBody(body: BodyTracker, bytes: Buffer): Buffer {
    let end: number;
    try {
      end = body.advance(bytes, 0);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      return this.#break(bytes);
    }
    if (body.done) this.#body = undefined;
    super.onStreamData(end === bytes.length ? bytes : bytes.subarray(0, end));
    return bytes.subarray(end);
  }

  #rewrite(head: RequestHead): Buffer {
    const writer = new HeadWriter(head.bytes, this.#host.length);
    let from = 0;
    for (const field of head.fields) {
      if (!field.is('host')) continue;
      writer.keep(from, field.start);
      writer.text(`${field.name}: ${this.#host}\r\n`);
      from = field.end;
    }
    writer.keep(from, head.bytes.length);
    return writer.end();
  }

  #readAnswer(reader: HeadReader, chunk: Buffer): void {
    // Receivers of the chunk may change its bytes.
    let rest: Buffer = Buffer.from(chunk);
    while (rest.length > 0) {
      const end = reader.push(rest);
      if (end === undefined) return;
      const head = typeof end === 'string' ? undefined : parseResponseHead(end.head);
      if (typeof end === 'string' || head === undefined) return void this.#break(rest);
      rest = end.rest;
      if (head.status === 101 || head.status >= 200) return this.#settle(head.status === 101);
    }
  }

  /** The response to the offered upgrade is known. */
  #settle(isUpgraded: boolean): void {
    this.#answers = undefined;
    this.#isThrough = isUpgraded;
    const wasFull = this.#heldBytes > UPGRADE_EARLY_MAX_BYTES;
    this.#heldBytes = 0;
    for (const piece of this.#held.splice(0)) this.onStreamData(piece);
    if (wasFull && !this.#isPaused && this.#heldBytes <= UPGRADE_EARLY_MAX_BYTES) super.resume();
  }

  #break(bytes: Buffer): Buffer {
    this.#isThrough = true;
    this.#answers = undefined;
    this.#held = [];
    this.#heldBytes = 0;
    this.destroy();
    super.onStreamClose(CloseCode.abnormal);
    return bytes.subarray(bytes.length);
  }
}
