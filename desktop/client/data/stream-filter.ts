import { type ByteStreamHandler, isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import type { RawProtocol } from '../local/local-service.ts';
import type { DataSocket } from './data-dialer.ts';

/** Maximum size of a request's headers from the relay: the relay accepts heads of 16 KiB and adds fields. */
export const REQUEST_HEAD_MAX_BYTES = 32 * 1024;
/** For parsing them: no further limits, because the relay has already refused longer ones. */
export const NO_LIMITS = { target: Infinity, fields: Infinity };
/**
 * Maximum size of response headers that the client parses, because the relay accepts no larger ones. A response
 * with a longer head is still passed on if its headers are not changed, but its connection is not reused.
 */
export const RESPONSE_HEAD_MAX_BYTES = 64 * 1024;

/** What was done to a request on purpose: `failed` ones have not reached the local service. */
export type Rehearsed = 'failed' | 'delayed';

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

  /** The current request is a rehearsal (visitors/rehearsal.ts). */
  rehearsed(how: Rehearsed): void {
    if (this.#inner instanceof StreamFilter) this.#inner.rehearsed(how);
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

  end(): void {
    this.#inner.end();
  }

  close(code: number): void {
    this.ended(!isCleanClose(code));
    this.#inner.close(code);
  }

  destroy(): void {
    this.ended(true);
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
    this.ended(!isCleanClose(code));
    this.#handler?.onStreamClose(code);
  }

  /**
   * Nothing passes from now on. It may be called several times.
   *
   * @param _isBroken whether it ended other than as its two sides intended
   */
  protected ended(_isBroken: boolean): void {}
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
  /** Called once for each raw connection, with the visitor's address if the relay has told it. */
  openRaw(protocol: RawProtocol, visitor: string | undefined): RawRecording;
}

/** How a raw connection has ended. `done`: both sides have ended it. `cut`: the client or the relay. */
export type RawEnd = 'done' | 'visitor-reset' | 'service-reset' | 'refused' | 'cut';

/** Counts the bytes of a raw connection. */
export interface RawRecording {
  /** It has reached the local service. */
  connected(): void;
  toLocal(bytes: number): void;
  toVisitor(bytes: number): void;
  /** Called once. */
  ended(how: RawEnd): void;
}

/**
 * Receives the data of one visitor's connection and the local service, piece by piece as it passes. A response that
 * Culvert sends instead of the service counts as the service's. The bytes belong to the caller: copy what you keep
 * before the call returns.
 */
export interface Recording {
  /** A local connection exists for the data that follows. Called again when another one replaces it. */
  connected(): void;
  /** The current request is a rehearsal. */
  rehearsed(how: Rehearsed): void;
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
  readonly #recorder: Pick<Recorder, 'open'>;
  readonly #waitedMs: number;
  #recording: Recording | undefined;
  #isConnected = false;
  #hasEnded = false;

  /** @param waitedMs as in {@link Recorder.open} */
  constructor(inner: DataSocket, recorder: Pick<Recorder, 'open'>, waitedMs = 0) {
    super(inner);
    this.#recorder = recorder;
    this.#waitedMs = waitedMs;
  }

  override connected(): void {
    this.#isConnected = true;
    if (!this.#hasEnded) this.#recording?.connected();
    super.connected();
  }

  override rehearsed(how: Rehearsed): void {
    if (!this.#hasEnded) this.#recording?.rehearsed(how);
    super.rehearsed(how);
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

  protected override ended(isBroken: boolean): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#recording?.end(isBroken);
  }

  #open(): Recording {
    const recording = this.#recorder.open(this.#waitedMs);
    if (this.#isConnected) recording.connected();
    return recording;
  }
}
