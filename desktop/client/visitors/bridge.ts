/** Pipes one data socket to one local connection and back (protocol.md section 6.3). */
import { CloseCode } from '../../../shared/control.ts';
import { type ByteStreamHandler, isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import type { DataSocket } from '../data/data-dialer.ts';
import { LOCAL_BLOCKED_LOOK_MS, LOCAL_BLOCKED_MS, LOCAL_LINGER_MS } from '../limits.ts';
import type { LocalConnection, LocalHandler } from '../local/local-service.ts';
import type { LocalExchange } from '../local/local-exchange.ts';

export interface BridgeOwner {
  /** The bridge has ended, and its local connection is free for another visitor. */
  released(local: LocalConnection): void;
  /** The bridge has ended, and its local connection is closed. */
  ended(): void;
  /**
   * The local service has closed without a byte of a response. The data socket is open and now belongs to the owner.
   *
   * @param request the request that {@link Bridge.start} sent
   */
  unansweredBy(request: Buffer): void;
  /** The request could not be sent to the local service. The visitor has got an error response. */
  localFailed(error: Error): void;
  /**
   * Inspects a piece of a response that may have a 4xx status, or may have no head. Returns `true` to see the next
   * piece as well.
   *
   * @param request what {@link Bridge.start} sent, if nothing of a response came before
   */
  inspect(piece: Buffer, request: Buffer | undefined): boolean;
}

/** The first letter of a response. */
const H = 0x48;
/** The first digit of a 4xx status, and its position in a response. */
const FOUR = 0x34;
const STATUS_AT = 'HTTP/1.1 '.length;

/**
 * Backpressure works both ways: the side that cannot write pauses the other's reading, and nothing else is queued.
 *
 * Endings: the local service's clean end is close 1000, after everything it sent; its reset is close 1011, so that the
 * relay breaks the visitor's connection instead of completing it. A clean close of the relay ends the local connection
 * and waits {@link LOCAL_LINGER_MS} for it, or releases it if only one complete exchange of a reusable kind took place.
 * Any other close means that the visitor is gone, and cuts the local connection immediately.
 */
export class Bridge implements ByteStreamHandler, LocalHandler, Expiring {
  readonly #stream: DataSocket;
  readonly #local: LocalConnection;
  readonly #deadlines: Deadlines;
  readonly #owner: BridgeOwner;
  /** set while the connection may be released */
  #exchange: LocalExchange | undefined;
  /** the first data sent, until the first byte of a response */
  #request: Buffer | undefined;
  #isInspected = false;
  #ended = false;

  /**
   * @param exchange of the request that {@link start} sends, or that has been sent; `undefined` if the connection must
   *   not be released
   */
  constructor(
    stream: DataSocket,
    local: LocalConnection,
    exchange: LocalExchange | undefined,
    deadlines: Deadlines,
    owner: BridgeOwner,
  ) {
    this.#stream = stream;
    this.#local = local;
    this.#exchange = exchange;
    this.#deadlines = deadlines;
    this.#owner = owner;
  }

  /**
   * Starts the flow.
   *
   * @param request first bytes for the local service
   */
  start(request?: Buffer): void {
    if (!this.#local.isOpen) {
      this.#ended = true;
      if (request !== undefined) return this.#owner.unansweredBy(request);
      this.#stream.close(CloseCode.internalError);
      this.#owner.ended();
      return;
    }
    this.#request = request;
    this.#local.attach(this);
    this.#stream.attach(this);
    if (request !== undefined && !this.#local.write(request)) this.#waitForLocal();
  }

  /** Whether the first request has no response yet. */
  get isWaiting(): boolean {
    return this.#request !== undefined;
  }

  /** Cuts both connections. */
  cut(): void {
    this.#ended = true;
    this.#stream.destroy();
    this.#local.destroy();
  }

  onStreamData(chunk: Buffer): void {
    this.#exchange = undefined;
    if (!this.#local.write(chunk)) this.#waitForLocal();
  }

  onStreamDrain(): void {
    this.#local.resume();
  }

  onStreamClose(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    if (!isCleanClose(code)) this.#local.destroy();
    else if (this.#exchange?.isReusable === true) this.#owner.released(this.#local);
    else this.#endLocal();
  }

  onLocalData(chunk: Buffer): void {
    const request = this.#request;
    this.#request = undefined;
    if (this.#isInspected || chunk[STATUS_AT] === FOUR || (request !== undefined && chunk[0] !== H))
      this.#isInspected = this.#owner.inspect(chunk, request);
    if (this.#exchange !== undefined) this.#exchange.follow(chunk);
    if (!this.#stream.write(chunk)) this.#local.pause();
  }

  onLocalDrain(): void {
    if (this.#ended) return;
    this.#deadlines.delete(this);
    this.#stream.resume();
  }

  onLocalEnd(): void {
    if (this.#ended) return;
    if (this.#request !== undefined) return this.#local.destroy();
    this.#ended = true;
    this.#stream.close(CloseCode.normal);
    this.#endLocal();
  }

  onLocalClose(failure?: Error): void {
    this.#deadlines.delete(this);
    if (failure !== undefined) this.#owner.localFailed(failure);
    if (!this.#ended) {
      this.#ended = true;
      if (this.#request !== undefined) return this.#owner.unansweredBy(this.#request);
      this.#stream.close(CloseCode.internalError);
    }
    this.#owner.ended();
  }

  /** The local connection has not closed in time, or the service has had no room for a long time. */
  expire(): void {
    if (this.#ended) return this.#local.destroy();
    this.#deadlines.add(this, LOCAL_BLOCKED_LOOK_MS);
    this.#stream.lookForEnd();
  }

  #waitForLocal(): void {
    if (this.#ended) return;
    this.#stream.pause();
    this.#deadlines.add(this, LOCAL_BLOCKED_MS);
  }

  #endLocal(): void {
    this.#local.end();
    // Discards what the service still sends; unread data would hide the end of the connection.
    this.#local.resume();
    this.#deadlines.add(this, LOCAL_LINGER_MS);
  }
}
