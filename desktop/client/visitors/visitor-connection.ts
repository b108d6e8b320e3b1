import { CloseCode } from '../../../shared/control.ts';
import { type ByteStreamHandler, isCleanClose } from '../../../shared/websocket/byte-stream.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import type { DataHandler, DataSocket } from '../data/data-dialer.ts';
import type { FilterMaker, StreamFilter } from '../data/stream-filter.ts';
import type { LocalDialer, LocalDialHandler } from '../local/local-dialer.ts';
import { faultOf, LocalErrorResponse, type LocalFault, localFault } from '../local/local-error.ts';
import { LocalExchange, type LocalPool, reuse, type ReuseHandler } from '../local/local-reuse.ts';
import type { LocalConnection, LocalHandler } from '../local/local-service.ts';
import type { Attempt } from '../network/dial.ts';
import type { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';

/**
 * How long a local service may keep its connection open after the visitor has left. With the tick this stays
 * within 1 s (protocol.md section 4.3).
 */
const LOCAL_LINGER_MS = 750;
/**
 * How long the local service can go without accepting data before the client checks whether the visitor is still
 * connected: it reads nothing until then, so it does not see the end of the stream. As long as the relay waits for a
 * visitor who may have left.
 */
export const LOCAL_BLOCKED_MS = 10_000;
/**
 * Milliseconds between two such checks. The second one detects a visitor who has left, within 1 s (protocol.md section
 * 4.3).
 */
export const LOCAL_BLOCKED_LOOK_MS = 500;

/** One visitor's connection, from its announcement to its end. */
export interface Visitor extends Attempt {
  /**
   * Serves an announced visitor.
   *
   * @param open opens its data socket
   * @param peers as in a `connection` message
   */
  announced(open: (handler: DataHandler) => Attempt, peers?: string): void;
  /** Serves a visitor whose data socket is already open, starting with its first bytes. */
  arrived(stream: DataSocket, first: Buffer): void;
  /**
   * Called at regular intervals. Returns `true` once, when the first request has waited that many of them for a
   * response.
   */
  looksSlow(times: number): boolean;
}

/** Shared by the visitors of a tunnel. */
export interface VisitorContext {
  readonly local: LocalDialer;
  readonly pool: LocalPool;
  readonly deadlines: Deadlines;
  /** filters around the data sockets, starting at the socket */
  readonly filters: readonly FilterMaker[];
  readonly onLocalRefused: (error: Error) => void;
  /** The local service has closed a connection without a response. */
  readonly onLocalReset: () => void;
  /** Inspects a piece of a response, like {@link VisitorConnection.inspect}; `isNext`: the previous piece asked for it. */
  readonly inspect: (piece: Buffer, isNext: boolean, request: Buffer | undefined) => boolean;
  readonly onDataFailed: (error: RelayRefusal | RelayUnreachable) => void;
  /** May be called more than once. */
  readonly onEnd: (visitor: Visitor) => void;
}

/** Connects a data socket with a local connection. The first bytes decide whether a used local connection is suitable. */
export class VisitorConnection
  implements Visitor, DataHandler, LocalDialHandler, ReuseHandler, ByteStreamHandler
{
  readonly #context: VisitorContext;
  #data: Attempt | undefined;
  #stream: DataSocket | undefined;
  /** wraps the data socket, if there are any filters */
  #filter: StreamFilter | undefined;
  /** when it was announced, in monotonic ms; 0 if nothing needs it */
  #announcedAt = 0;
  /** data received from the data socket before a local connection existed */
  readonly #held: Buffer[] = [];
  #exchange: LocalExchange | undefined;
  #localAttempt: Attempt | undefined;
  #local: LocalConnection | undefined;
  /** why the local connection failed */
  #refusal: Error | undefined;
  /** currently owns both ends */
  #service: Bridge | LocalErrorResponse | undefined;
  #isInspected = false;
  /** how often {@link looksSlow} has found it waiting */
  #looks = 0;

  constructor(context: VisitorContext) {
    this.#context = context;
  }

  announced(open: (handler: DataHandler) => Attempt): void {
    if (this.#context.filters.length > 0) this.#announcedAt = this.#context.deadlines.now();
    // Dials both together: over a network the data socket needs three round trips, which hide the local connection.
    if (this.#context.pool.size === 0) this.#dialLocal();
    this.#data = open(this);
  }

  arrived(stream: DataSocket, first: Buffer): void {
    this.#open(stream).onStreamData(first);
  }

  /** Cuts both connections. */
  cancel(): void {
    this.#data?.cancel();
    this.#leaveLocal();
    if (this.#service === undefined) this.#stream?.destroy();
    else this.#service.cut();
    this.ended();
  }

  opened(stream: DataSocket): void {
    this.#open(stream);
  }

  failed(error: RelayRefusal | RelayUnreachable): void {
    this.#leaveLocal();
    this.#context.onDataFailed(error);
    this.ended();
  }

  onStreamData(piece: Buffer): void {
    this.#held.push(piece);
    if (this.#held.length > 1) this.#stream?.pause();
    else this.#begin(piece);
  }

  onStreamDrain(): void {}

  /** The visitor has left before being served. */
  onStreamClose(): void {
    this.#leaveLocal();
    this.ended();
  }

  connected(local: LocalConnection): void {
    this.#localAttempt = undefined;
    this.#local = local;
    this.#filter?.connected();
    if (this.#held.length > 0) this.#bridge(local);
  }

  refused(error: Error): void {
    this.#localAttempt = undefined;
    this.#refusal = error;
    if (this.#stream !== undefined) this.#refuse(this.#stream, error);
  }

  answered(local: LocalConnection, first: Buffer): void {
    this.#localAttempt = undefined;
    this.#bridge(local, first);
  }

  unanswered(): void {
    this.#dialLocal();
  }

  // Callbacks of its bridge

  /** The bridge has ended, and its local connection is free for another visitor. */
  released(local: LocalConnection): void {
    this.#context.pool.put(local);
    this.ended();
  }

  /** The bridge has ended, and its local connection is closed. */
  ended(): void {
    this.#context.onEnd(this);
  }

  /**
   * The local service has closed without a byte of a response. The data socket is open and now belongs to the visitor.
   *
   * @param request the request that {@link Bridge.start} sent
   * @param failure why the service took no request, if it has given a reason
   */
  unansweredBy(request: Buffer, failure?: Error): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    if (failure !== undefined) return this.#refuse(stream, failure, [request]);
    this.#context.onLocalReset();
    this.#answer(stream, faultOf('local-reset'), [request]);
  }

  /** The request could not be sent to the local service. The visitor has got an error response. */
  localFailed(error: Error): void {
    this.#context.onLocalRefused(error);
  }

  /**
   * Inspects a piece of a response that may have a 4xx status, or may have no head. Returns `true` to see the next
   * piece as well.
   *
   * @param request what {@link Bridge.start} sent, if nothing of a response came before
   */
  inspect(piece: Buffer, request: Buffer | undefined): boolean {
    this.#isInspected = this.#context.inspect(piece, this.#isInspected, request);
    return this.#isInspected;
  }

  /** @returns the receiver of the first bytes, if they have already arrived */
  #open(stream: DataSocket): ByteStreamHandler {
    this.#data = undefined;
    const { filters, deadlines } = this.#context;
    const waitedMs = this.#announcedAt === 0 ? 0 : deadlines.now() - this.#announcedAt;
    let outer = stream;
    let entry: ByteStreamHandler | undefined;
    for (const filter of filters) {
      const filtered = filter(outer, waitedMs);
      if (filtered === undefined) continue;
      entry ??= filtered;
      outer = filtered;
      this.#filter = filtered;
    }
    this.#stream = outer;
    if (this.#local !== undefined) this.#filter?.connected();
    outer.attach(this);
    if (this.#refusal !== undefined && this.#service === undefined) this.#refuse(outer, this.#refusal);
    return entry ?? this;
  }

  looksSlow(times: number): boolean {
    if (!this.#isWaiting) return false;
    this.#looks += 1;
    return this.#looks === times;
  }

  get #isWaiting(): boolean {
    const service = this.#service;
    return service === undefined ? this.#held.length > 0 : service instanceof Bridge && service.isWaiting;
  }

  #begin(first: Buffer): void {
    this.#exchange = LocalExchange.of(first);
    if (this.#local !== undefined) return this.#bridge(this.#local);
    if (this.#localAttempt !== undefined || this.#refusal !== undefined) return;
    const used = this.#exchange === undefined ? undefined : this.#context.pool.take();
    if (used === undefined) return this.#dialLocal();
    this.#filter?.connected();
    this.#localAttempt = reuse(used, first, this);
  }

  #dialLocal(): void {
    this.#localAttempt = this.#context.local.connect(this);
  }

  #leaveLocal(): void {
    this.#localAttempt?.cancel();
    this.#local?.destroy();
  }

  /** @param answer the local service's response so far to the first bytes */
  #bridge(local: LocalConnection, answer?: Buffer): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    const [first, ...more] = this.#held;
    if (more.length > 0) stream.resume();
    const bridge = new Bridge(stream, local, this.#exchange, this.#context.deadlines, this);
    this.#service = bridge;
    bridge.start(answer === undefined ? first : undefined);
    for (const piece of more) bridge.onStreamData(piece);
    if (answer !== undefined) bridge.onLocalData(answer);
  }

  #refuse(stream: DataSocket, error: Error, request: readonly Buffer[] = this.#held): void {
    this.#context.onLocalRefused(error);
    if (this.#held.length > 1) stream.resume();
    this.#answer(stream, localFault(this.#context.local.target, error), request);
  }

  /** @param request the part of the request that has arrived */
  #answer(stream: DataSocket, fault: LocalFault, request: readonly Buffer[]): void {
    const { deadlines } = this.#context;
    const response = new LocalErrorResponse(stream, fault, deadlines, () => this.ended());
    this.#service = response;
    response.start();
    for (const piece of request) response.onStreamData(piece);
  }
}

type BridgeOwner = Pick<VisitorConnection, 'released' | 'ended' | 'unansweredBy' | 'localFailed' | 'inspect'>;

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
      this.#local.destroy();
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
    if (!this.#ended) {
      this.#ended = true;
      if (this.#request !== undefined) return this.#owner.unansweredBy(this.#request, failure);
      this.#stream.close(CloseCode.internalError);
    }
    if (failure !== undefined) this.#owner.localFailed(failure);
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
