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

/** Stands between a data socket and its handler. This one passes everything on; others see or change what passes. */
export class StreamFilter implements DataSocket, ByteStreamHandler {
  readonly #inner: DataSocket;
  #handler: ByteStreamHandler | undefined;

  constructor(inner: DataSocket) {
    this.#inner = inner;
  }

  /** There is a local connection for what comes from now on. */
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
 */
export type FilterMaker = (inner: DataSocket, waitedMs: number) => StreamFilter;

/** The seam between the path of visitors' bytes and whoever wants to see them. */

/** Told of every visitor's connection. Without one, nothing is spent on it. */
export interface Recorder {
  /**
   * A visitor's first bytes are about to come.
   *
   * @param waitedMs ms from the visitor's announcement until its data socket was open; 0 where it came through one that was
   */
  open(waitedMs: number): Recording;
}

/**
 * What one visitor's connection and the local service say to each other, piece by piece as it passes; an answer that
 * Culvert gives in place of the service counts as the service's. The bytes belong to others: what is kept is copied
 * before the call returns.
 */
export interface Recording {
  /** There is a local connection for what comes from now on; once more where another takes its place. */
  connected(): void;
  toLocal(bytes: Buffer): void;
  toVisitor(bytes: Buffer): void;
  /**
   * Nothing follows. Called once.
   *
   * @param isBroken the connection did not end as its two sides meant it to
   */
  end(isBroken: boolean): void;
}

/** Has a recorder see what passes over one data socket. */
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

/** The relay has refused what is longer. */
const NO_LIMITS = { target: Infinity, fields: Infinity };

/**
 * Gives every request of a data socket another Host, and leaves the rest as it came. The requests are followed to know
 * where each begins; one that cannot be followed breaks the connection, since what comes behind it could not be either.
 */
export class HostRewriter extends StreamFilter {
  readonly #host: string;
  readonly #requests = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  /** of the request under way; `undefined` between two */
  #body: BodyTracker | undefined;
  /** reads the answer to an upgrade, until it is known whether what follows is HTTP */
  #answers: HeadReader | undefined;
  /** what came behind the offer of an upgrade, until then */
  #held: Buffer[] = [];
  #heldBytes = 0;
  /** whether its handler takes nothing at present */
  #isPaused = false;
  /** bytes are passed on unseen: after an upgrade, or after the end */
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

  /** The other side decides how much it sends, and the local service how long it takes to answer. */
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
      // The body of the request that offers it belongs to the request.
      if (this.#answers !== undefined && this.#body === undefined) return this.#hold(rest);
      rest = this.#body === undefined ? this.#followHead(rest) : this.#followBody(this.#body, rest);
    }
  }

  /** @returns the bytes behind what was taken */
  #followHead(bytes: Buffer): Buffer {
    const end = this.#requests.push(bytes);
    if (end === undefined) return bytes.subarray(bytes.length);
    const head = typeof end === 'string' ? end : parseRequestHead(end.head, NO_LIMITS);
    const framing = typeof head === 'string' ? head : requestFraming(head);
    if (typeof end === 'string' || typeof head === 'string' || typeof framing === 'string')
      return this.#break(bytes);
    // Each is replaced by a longer one, so a head with many would grow without a limit.
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
    // Whoever writes on may change the bytes.
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

  /** It is known what follows the offer of an upgrade. */
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
