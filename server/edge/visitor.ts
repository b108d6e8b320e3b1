/**
 * One inbound connection: reads request heads, serves one request after the other, and ends cleanly. A connection may
 * switch between tunnels and the API.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { API_ERRORS, ApiError } from '../../shared/errors.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import { HeadReader } from '../../shared/http1/head.ts';
import { hostname } from '../../shared/networks.ts';
import { ScheduledReads } from '../../shared/scheduler/fair-reads.ts';
import type { UpgradeRequest } from '../clients/upgrades.ts';
import { countApiRefusal } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import { upgradeRefusal } from './builtin-responses.ts';
import type { ConnectionLimiter, LimitedConnection, SlotHolder } from './connection-limiter.ts';
import type { Exchange } from './exchange.ts';
import { type Peer, REQUEST_HEAD_MAX_BYTES } from './request-head.ts';
import { oversizeFault, type ParsedRequest, parseRequest, type Route } from './route.ts';
import {
  BODY_TIMEOUT_MS,
  DRAIN_IDLE_MS,
  HEAD_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  LEAVE_TIMEOUT_MS,
  LINGER_MAX_MS,
  LINGER_TIMEOUT_MS,
  REPLACED_IDLE_MS,
} from './timeouts.ts';
import type { Upstreams } from './upstreams.ts';
import { type RequestsOwner, VisitorRequests } from './visitor-requests.ts';
import {
  type VisitorConnection,
  VisitorOutput,
  VisitorSocket,
  type VisitorSocketHandler,
} from './visitor-socket.ts';

/**
 * `head`: between requests or inside a head. `exchange`: a request is in progress. `upgrading`: an upgrade to one of
 * the relay's own sockets is being decided. `lingering`: the last response was sent, further input is discarded.
 * `gone`: closed, or given away to a WebSocket, a client or another relay, and no longer controlled by this class
 * except for its end.
 */
type State = 'head' | 'exchange' | 'upgrading' | 'lingering' | 'gone';

const MISDIRECTED: Route = { kind: 'refuse', code: 'misdirected' };

interface VisitorOptions {
  /** Returns the limiter that decides on each of its requests. */
  readonly enter: (visitor: Visitor) => ConnectionLimiter;
  /** called once, when the connection is closed or given away */
  readonly gone: (visitor: Visitor) => void;
  /** whether the relay that this one has replaced passed it on; by default not */
  readonly isPassed?: boolean;
}

export class Visitor implements SlotHolder, LimitedConnection, RequestsOwner, VisitorSocketHandler {
  readonly #socket: VisitorSocket;
  readonly #peer: Peer;
  readonly #upstreams: Upstreams;
  readonly #gone: VisitorOptions['gone'];
  readonly #requests: VisitorRequests;
  readonly #reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  #state: State = 'head';
  #processing = false;
  #inputEnded = false;
  #draining = false;
  /** whether requests wait until it is known which relay serves them */
  #isHeld = false;
  /** the relay that serves requests instead of this one */
  #onward: Onward | undefined;
  /** whether it was passed on by the relay that this one has replaced */
  readonly #isPassed: boolean;
  /** Monotonic ms when its current time limit ends. */
  #deadline: number;
  /** the last deadline of a connection that discards its input */
  #lingersUntil = Infinity;

  constructor(
    socket: VisitorConnection,
    peer: Peer,
    upstreams: Upstreams,
    { enter, gone, isPassed = false }: VisitorOptions,
  ) {
    this.#isPassed = isPassed;
    this.#socket = new VisitorSocket(socket, () => this.#requests.target ?? peer.address, this);
    this.#peer = peer;
    this.#upstreams = upstreams;
    this.#gone = gone;
    this.#requests = new VisitorRequests(this.#socket, peer, upstreams, enter(this), this);
    this.#deadline = upstreams.now() + IDLE_TIMEOUT_MS;
  }

  // For the edge

  /** Ends the connection if it is past its time limit. To be called every {@link DEADLINE_TICK_MS}. */
  tick(now: number): void {
    this.#requests.tick(now);
    if (now < this.#deadline) return;
    // A reset: if the visitor still reads, it must not see a complete response.
    if (this.#mayHaveLeft) return this.#socket.reset();
    const { exchange } = this.#requests;
    // A response has begun in the meantime.
    if (exchange?.isTwoWay === true) return void (this.#deadline = Infinity);
    const waitsForRequest = (this.#state === 'head' && this.#reader.partial) || this.#state === 'exchange';
    const head = this.#state === 'head' ? this.#reader.text : undefined;
    if (waitsForRequest && exchange?.committed !== true) this.#requests.refuse('request-timeout', head);
    else if ((this.#draining || this.#onward !== undefined) && this.#state === 'head') this.#end();
    else this.#socket.destroy();
  }

  /**
   * The relay is shutting down: the next response that can announce it is the connection's last. If none is due, a
   * request that may be on its way gets {@link DRAIN_IDLE_MS} to arrive.
   */
  drain(): void {
    this.#draining = true;
    this.#requests.closeAfter();
    if (this.#state === 'head' && !this.#reader.partial)
      this.#deadline = this.#upstreams.now() + DRAIN_IDLE_MS;
  }

  /** New requests wait, as do those to the relay itself that are not yet scheduled. */
  hold(): void {
    this.#isHeld = true;
    if (this.#requests.isOwn && this.#requests.exchange?.hasStream !== true) this.#recall();
  }

  /** Requests are served again. */
  resume(): void {
    this.#isHeld = false;
    this.#process();
  }

  /** Another relay serves from now on; requests already sent to a tunnel or the API are completed here. */
  leave(onward: Onward): void {
    this.#onward = onward;
    this.#recall();
    this.#requests.closeAfter();
    if (this.#state !== 'head') return;
    if (this.#socket.hasInput || this.#reader.partial) this.#passOn(onward);
    else this.#deadline = this.#upstreams.now() + REPLACED_IDLE_MS;
  }

  /** Cancels a request that was not sent anywhere yet. */
  #recall(): void {
    const head = this.#requests.recall();
    if (head === undefined) return;
    this.#state = 'head';
    this.#socket.returnInput(head);
  }

  /** Whether the relay itself is processing a request. `unread`: one whose body has not ended. */
  get ownWork(): 'none' | 'unread' | 'read' {
    if (!this.#requests.isOwn) return 'none';
    return this.#requests.exchange?.requestDone === true ? 'read' : 'unread';
  }

  /** Responds to a request whose body does not end while the relay waits for it. */
  refuseUnread(): void {
    this.#requests.refuse('relay-busy');
  }

  /** Whether none of its requests waits for a stream or is still to come. */
  get isSettled(): boolean {
    const { exchange } = this.#requests;
    return exchange === undefined ? this.#state !== 'head' : exchange.hasStream;
  }

  /** The access policy of a tunnel changed. */
  review(tunnel: LiveTunnel): void {
    this.#requests.review(tunnel);
  }

  get isWaiting(): boolean {
    return this.#state === 'head' && !this.#reader.partial && !this.#socket.hasInput;
  }

  /** A visitor in the middle of a head gets a response. */
  giveWay(): void {
    if (this.#state !== 'head') return;
    if (this.#reader.partial) this.#requests.refuse('relay-busy', this.#reader.text);
    else this.#end();
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#socket.destroy();
  }

  // Input

  onInput(): void {
    this.#process();
  }

  /** Reads as much of the input as its state allows. */
  #process(): void {
    if (this.#processing) return;
    if (this.#onward !== undefined && this.#state === 'head' && this.#socket.hasInput)
      return this.#passOn(this.#onward);
    this.#processing = true;
    while (this.#takesInput()) {
      const bytes = this.#socket.takeInput();
      if (bytes === undefined) break;
      const { exchange } = this.#requests;
      if (exchange === undefined) this.#readHead(bytes);
      else this.#readBody(exchange, bytes);
    }
    this.#processing = false;
    if (this.#inputEnded && !this.#socket.hasInput) this.#inputIsOver();
    if (this.#state !== 'gone') this.#socket.updateReading(this.#requests.exchange?.isBlocked === true);
  }

  #takesInput(): boolean {
    // No input is read from a visitor that does not read its responses.
    if (this.#state === 'head') return !this.#isHeld && !this.#socket.isFull;
    return this.#state === 'exchange' && this.#requests.exchange?.takesBody === true;
  }

  #readHead(bytes: Buffer): void {
    if (!this.#reader.partial) this.#deadline = this.#upstreams.now() + HEAD_TIMEOUT_MS;
    const end = this.#reader.push(bytes);
    if (end === undefined) return;
    if (end === 'malformed') return this.#requests.refuse('bad-request', this.#reader.text);
    if (end === 'too-large')
      return this.#requests.refuse(oversizeFault(this.#reader.text), this.#reader.text);
    if (end.rest.length > 0) this.#socket.returnInput(end.rest);
    this.#deadline = this.#inputEnded ? this.#leaveBy : Infinity;
    const plan = parseRequest(end.head, this.#upstreams.context);
    if (typeof plan === 'string') return this.#requests.refuse(plan, end.head.toString('latin1'));
    this.#state = 'exchange';
    this.#requests.begin(this.#isCovered(plan) ? plan : { ...plan, route: MISDIRECTED });
    this.#watchBody();
  }

  #isCovered({ head }: ParsedRequest): boolean {
    const { covers } = this.#peer;
    return covers === undefined || covers(hostname(fieldValue(head.fields, 'host') ?? ''));
  }

  #readBody(exchange: Exchange, bytes: Buffer): void {
    if (!this.#inputEnded) this.#deadline = Infinity;
    this.#requests.takeBody(exchange, bytes);
    this.#watchBody();
  }

  /** A request body may be silent for this long, unless the other side does not accept it, or sends its response. */
  #watchBody(): void {
    const { exchange } = this.#requests;
    if (exchange === undefined || this.#inputEnded) return;
    if (exchange.requestDone || exchange.isBlocked || exchange.isTwoWay) this.#deadline = Infinity;
    else if (this.#deadline === Infinity) this.#deadline = this.#upstreams.now() + BODY_TIMEOUT_MS;
  }

  onInputEnd(): void {
    this.#inputEnded = true;
    // A WebSocket cannot be half-open: a peer that ends its side before it is open does not want one.
    if (this.#state === 'upgrading') return this.#socket.destroy();
    this.#deadline = this.#mayHaveLeft ? this.#leaveBy : this.#deadline;
    this.#process();
  }

  /**
   * Whether the visitor has closed its side during a request. It may wait for the response, or be gone. Only a write
   * reveals which: Node stops watching a socket after the end of its input.
   */
  get #mayHaveLeft(): boolean {
    return this.#inputEnded && this.#state === 'exchange';
  }

  /** When such a visitor counts as gone unless it is sent something. A full socket has its own time limit. */
  get #leaveBy(): number {
    return this.#socket.isFull ? Infinity : this.#upstreams.now() + LEAVE_TIMEOUT_MS;
  }

  /** The visitor has half-closed and everything it sent has been read. */
  #inputIsOver(): void {
    if (this.#state === 'head') this.#end();
    else if (this.#requests.exchange?.requestDone === false) this.#socket.destroy();
  }

  onOutput(): void {
    if (this.#mayHaveLeft) this.#deadline = this.#leaveBy;
  }

  onOutputTaken(): void {
    this.onOutput();
    this.#requests.exchange?.resumeResponse();
    this.#process();
  }

  // Callbacks of its requests

  flowChanged(): void {
    this.#watchBody();
    this.#process();
  }

  requestOver(close: boolean): void {
    if (close) return this.#end();
    this.#state = 'head';
    this.#deadline = this.#upstreams.now() + (this.#draining ? DRAIN_IDLE_MS : IDLE_TIMEOUT_MS);
    this.#process();
  }

  upgradeAsked(plan: ParsedRequest, target: string): void {
    // Its connection would end with the previous relay.
    if (this.#isPassed)
      return this.#requests.refuseUpgrade(
        upgradeRefusal(new ApiError(API_ERRORS.unavailable, { 'Retry-After': '1' })),
      );
    this.#state = 'upgrading';
    void this.#upgrade(plan, target);
  }

  async #upgrade(plan: ParsedRequest, target: string): Promise<void> {
    try {
      await this.#upstreams.upgrade(plan, target, this.#peer, () => this.#giveAway());
    } catch (error) {
      if (this.#state !== 'upgrading') return;
      const refusal = error instanceof ApiError ? error : this.#upstreams.unexpected(error);
      countApiRefusal(refusal);
      this.#requests.refuseUpgrade(upgradeRefusal(refusal));
    }
  }

  #giveAway(): ReturnType<UpgradeRequest['takeOver']> {
    if (this.#state !== 'upgrading') return undefined;
    this.#requests.upgraded();
    this.#leave();
    const { socket, head } = this.#socket.release();
    // No stream of HTTP/2 asks for an upgrade.
    return socket instanceof Duplex ? { socket, head } : undefined;
  }

  switched(stream: ByteStream): void {
    this.#state = 'gone';
    this.#deadline = Infinity;
    const { socket, head } = this.#socket.release();
    pipe(socket, stream, this.#requests.target, () => this.#leave());
    if (head.length > 0) socket.emit('data', head);
    if (this.#inputEnded) socket.emit('end');
  }

  /** Another relay serves the rest of the connection. */
  #passOn(onward: Onward): void {
    this.#state = 'gone';
    this.#deadline = Infinity;
    this.#requests.leave();
    const begun = Buffer.from(this.#reader.text, 'latin1');
    const { socket, head } = this.#socket.release();
    const bytes = Buffer.concat([begun, head]);
    void passOn({ socket, bytes, hasEnded: this.#inputEnded }, this.#peer, onward, () => this.#gone(this));
  }

  // Endings

  /** Ends the connection after what was sent; further input is discarded for a while. */
  #end(): void {
    if (this.#state === 'gone' || this.#state === 'lingering') return;
    this.#state = 'lingering';
    this.#requests.finish();
    this.#deadline = Infinity;
    this.#socket.end(() => {
      this.#lingersUntil = this.#upstreams.now() + LINGER_MAX_MS;
      this.onDiscarded();
    });
  }

  /** A visitor that is still sending may read the response only afterwards, and a reset would take it away. */
  onDiscarded(): void {
    if (this.#lingersUntil === Infinity) return;
    this.#deadline = Math.min(this.#lingersUntil, this.#upstreams.now() + LINGER_TIMEOUT_MS);
  }

  onClosed(): void {
    this.#requests.abandon();
    this.#leave();
  }

  #leave(): void {
    this.#state = 'gone';
    this.#deadline = Infinity;
    this.#requests.leave();
    this.#gone(this);
  }
}

/* Joins a visitor's connection and a stream once both speak WebSocket, with nothing left to parse. */

/**
 * Passes bytes on in both directions until one side ends; then the other is ended as well (protocol.md section
 * 6.3).
 *
 * @param socket without listeners, except for errors
 * @param group shares its scheduling when the visitor sends much
 * @param onClosed called once, when the visitor's connection is closed
 */
export function pipe(
  socket: VisitorConnection,
  stream: ByteStream,
  group: unknown,
  onClosed: () => void,
): void {
  const output = new VisitorOutput(socket, () => stream.resume());
  const reads = new ScheduledReads(socket, () => group, {
    onChunk(bytes) {
      if (!stream.write(bytes)) reads.pause();
    },
    onEnd() {
      stream.finish();
      end();
    },
  });
  socket.on('close', () => {
    reads.flush();
    stream.abort();
    onClosed();
  });
  stream.attach({
    onBytes(bytes) {
      output.send(bytes);
      if (output.isFull) stream.pause();
    },
    onRoom: () => reads.resume(),
    onEnded(clean) {
      if (clean) end();
      else socket.destroy();
    },
  });

  function end(): void {
    output.end(() => setTimeout(() => socket.destroy(), LINGER_TIMEOUT_MS).unref());
  }
}

/* The rest of a visitor's connection, for the relay that has replaced this one. */

/**
 * Opens a connection to the relay that serves instead of this one.
 *
 * @param onReset called when the visitor must be cut in a way that cannot be mistaken for a clean end
 */
export type Onward = (peer: Peer, onReset: () => void) => Promise<Socket>;

/** A visitor's connection without a request in progress. */
export interface Rest {
  readonly socket: VisitorConnection;
  /** unread bytes of the visitor */
  readonly bytes: Buffer;
  /** whether that is all the visitor will send */
  readonly hasEnded: boolean;
}

/**
 * Joins both until they end, each direction separately. If the other relay cannot be reached or breaks off, the
 * visitor is cut.
 *
 * @param onClosed called once, when the visitor's connection is closed
 */
export async function passOn(
  { socket, bytes, hasEnded }: Rest,
  peer: Peer,
  onward: Onward,
  onClosed: () => void,
): Promise<void> {
  socket.pause();
  socket.once('close', onClosed);
  const next = await onward(peer, () => socket.resetAndDestroy()).catch(() => undefined);
  if (next === undefined) return void socket.resetAndDestroy();
  if (socket.destroyed) return void next.destroy();
  next.once('close', () => {
    if (!next.readableEnded) socket.resetAndDestroy();
  });
  socket.once('close', () => next.destroy());
  const output = new VisitorOutput(socket, () => next.resume());
  next.on('data', (piece: Buffer) => {
    output.send(piece);
    if (output.isFull) next.pause();
  });
  next.on('end', () => output.end(() => {}));
  // It may have been paused after the greeting of the other relay.
  next.resume();
  next.write(bytes);
  if (hasEnded) return void next.end();
  socket.on('data', (piece: Buffer) => {
    if (!next.write(piece)) socket.pause();
  });
  socket.on('end', () => next.end());
  next.on('drain', () => socket.resume());
  socket.resume();
}
