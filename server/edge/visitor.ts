/**
 * One inbound connection, and the only owner of what happens on it: reads the head of a request, decides who responds,
 * passes on both bodies, and begins again. `#serve`, `#begin`, `#pass` and `end` follow each other in this order for
 * every request. A connection may switch between tunnels and the API.
 */
import { API_ERRORS, ApiError, type VisitorErrorCode } from '../../shared/errors.ts';
import { BodyError } from '../../shared/http1/body.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import { HeadReader } from '../../shared/http1/head.ts';
import { hostname } from '../../shared/networks.ts';
import type { UpgradeRequest } from '../clients/upgrades.ts';
import { countApiRefusal, type RequestCounts, requests } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import {
  errorResponse,
  factsOfHead,
  type OwnResponse,
  requestFacts,
  routeResponse,
  upgradeRefusal,
} from './builtin-responses.ts';
import type { ConnectionLimiter, LimitedConnection, SlotHolder } from './connection-limiter.ts';
import { Exchange, type ExchangeEnd, type ExchangeOwner, type UpstreamRequest } from './exchange.ts';
import { KeptStreams } from './kept-streams.ts';
import { type Onward, passOn } from './onward.ts';
import { type Peer, REQUEST_HEAD_MAX_BYTES } from './request-head.ts';
import { RequestRecord } from './request-record.ts';
import { informationalResponsesFor, sendOwn } from './response.ts';
import { type Destination, oversizeFault, type ParsedRequest, parseRequest, type Route } from './route.ts';
import {
  BARRED_RESPONSE_MS,
  BODY_TIMEOUT_MS,
  DRAIN_IDLE_MS,
  HEAD_TIMEOUT_MS,
  IDLE_TIMEOUT_MS,
  LEAVE_TIMEOUT_MS,
  LINGER_MAX_MS,
  LINGER_TIMEOUT_MS,
  REPLACED_IDLE_MS,
} from './timeouts.ts';
import type { AllowedRequest, Upstreams } from './upstreams.ts';
import { isAllowedVisitor, isFormEntry } from './visitor-access.ts';
import type { VisitorConnection } from './visitor-connection.ts';
import { pipe, VisitorSocket, type VisitorSocketHandler } from './visitor-socket.ts';

/**
 * `head`: between requests or inside a head. `exchange`: a request is in progress. `upgrading`: an upgrade to one of
 * the relay's own sockets is being decided. `lingering`: the last response was sent, further input is discarded.
 * `gone`: closed, or given away to a WebSocket, a client or another relay, and no longer controlled by this class
 * except for its end.
 */
type State = 'head' | 'exchange' | 'upgrading' | 'lingering' | 'gone';

/** How a request ends. */
type RequestEnd =
  | ExchangeEnd
  /** Its rest may not be read. `head`: as much of the head as has arrived, if the head is the problem. */
  | { readonly kind: 'refused'; readonly code: VisitorErrorCode; readonly head?: string | undefined }
  /** A client takes over the connection. */
  | { readonly kind: 'upgraded' }
  /** Nothing of it was sent anywhere: it is read again, possibly by another relay. */
  | { readonly kind: 'recalled' }
  /** The visitor has left. */
  | { readonly kind: 'left' };

const MISDIRECTED: Route = { kind: 'refuse', code: 'misdirected' };

export interface VisitorOptions {
  /** Returns the limiter that decides on each of its requests. */
  readonly enter: (visitor: Visitor) => ConnectionLimiter;
  /** called once, when the connection is closed or given away */
  readonly gone: (visitor: Visitor) => void;
  /** whether the relay that this one has replaced passed it on; by default not */
  readonly isPassed?: boolean;
  /** the streams of its connection, if it is one of several; by default it keeps one of its own */
  readonly kept?: KeptStreams;
}

export class Visitor implements SlotHolder, LimitedConnection, ExchangeOwner, VisitorSocketHandler {
  readonly #socket: VisitorSocket;
  readonly #peer: Peer;
  readonly #upstreams: Upstreams;
  readonly #admission: ConnectionLimiter;
  readonly #record: RequestRecord;
  readonly #gone: VisitorOptions['gone'];
  /** whether it was passed on by the relay that this one has replaced */
  readonly #isPassed: boolean;
  readonly #reader = new HeadReader(REQUEST_HEAD_MAX_BYTES);
  readonly #kept: KeptStreams;
  #state: State = 'head';
  /** the request in progress, or the one that opened a WebSocket */
  #plan: ParsedRequest | undefined;
  /** the same as its upstream receives it, if it has one */
  #request: UpstreamRequest | undefined;
  /** the request and its response, in state `exchange` */
  #exchange: Exchange | undefined;
  /** Shares the scheduling of large input: the upstream of the latest request. */
  #group: unknown;
  #isServing = false;
  #isDraining = false;
  /** whether requests wait until it is known which relay serves them */
  #isHeld = false;
  /** the relay that serves requests instead of this one */
  #onward: Onward | undefined;
  /** Monotonic ms when its current time limit ends. */
  #deadline: number;
  /** the last deadline of a connection that discards its input */
  #lingersUntil = Infinity;
  /** Monotonic ms when the response is cut because its visitor no longer has access; `undefined` for all others. */
  #cutAt: number | undefined;

  constructor(
    socket: VisitorConnection,
    peer: Peer,
    upstreams: Upstreams,
    { enter, gone, isPassed = false, kept = new KeptStreams(1, upstreams.now) }: VisitorOptions,
  ) {
    this.#group = peer.address;
    this.#socket = new VisitorSocket(socket, () => this.#group, this);
    this.#peer = peer;
    this.#upstreams = upstreams;
    this.#admission = enter(this);
    this.#record = new RequestRecord(this.#socket, peer, upstreams);
    this.#gone = gone;
    this.#isPassed = isPassed;
    this.#kept = kept;
    this.#deadline = upstreams.now() + IDLE_TIMEOUT_MS;
  }

  // A request, from its first byte to its end

  onInput(): void {
    this.#serve();
  }

  /** Reads as much of the input as can be served now: heads and bodies, one request after the other. */
  #serve(): void {
    if (this.#isServing) return;
    if (this.#onward !== undefined && this.#state === 'head' && this.#socket.hasInput)
      return this.#passOn(this.#onward);
    this.#isServing = true;
    while (this.#takesInput()) {
      const bytes = this.#socket.takeInput();
      if (bytes === undefined) break;
      if (this.#exchange === undefined) this.#readHead(bytes);
      else this.#readBody(this.#exchange, bytes);
    }
    this.#isServing = false;
    if (this.#socket.inputEnded && !this.#socket.hasInput) this.#inputIsOver();
    if (this.#state !== 'gone') this.#socket.updateReading(this.#exchange?.isBlocked === true);
  }

  #takesInput(): boolean {
    // No input is read from a visitor that does not read its responses.
    if (this.#state === 'head') return !this.#isHeld && !this.#socket.isFull;
    return this.#state === 'exchange' && this.#exchange?.takesBody === true;
  }

  #readHead(bytes: Buffer): void {
    if (!this.#reader.partial) this.#deadline = this.#upstreams.now() + HEAD_TIMEOUT_MS;
    const end = this.#reader.push(bytes);
    if (end === undefined) return;
    if (end === 'malformed') return this.#refuse('bad-request', this.#reader.text);
    if (end === 'too-large') return this.#refuse(oversizeFault(this.#reader.text), this.#reader.text);
    if (end.rest.length > 0) this.#socket.returnInput(end.rest);
    this.#deadline = this.#socket.inputEnded ? this.#leaveBy : Infinity;
    const plan = parseRequest(end.head, this.#upstreams.context);
    if (typeof plan === 'string') return this.#refuse(plan, end.head.toString('latin1'));
    this.#begin(this.#isCovered(plan) ? plan : { ...plan, route: MISDIRECTED });
    this.#watchBody();
  }

  #isCovered({ head }: ParsedRequest): boolean {
    const { covers } = this.#peer;
    return covers === undefined || covers(hostname(fieldValue(head.fields, 'host') ?? ''));
  }

  /** A well-formed request: decides who responds to it. */
  #begin(plan: ParsedRequest): void {
    this.#plan = plan;
    this.#record.begin(plan, plan.head.bytes.length);
    const { route } = plan;
    const entry = this.#upstreams.enter(plan, this.#peer);
    const isRefused =
      entry !== undefined && !(entry instanceof Promise) && !isAllowedVisitor(entry) && !isFormEntry(entry);
    // Visitors who have to wait for access do not get the notice before.
    const own = isRefused ? entry : entry instanceof Promise ? undefined : this.#upstreams.noticeFor(plan);
    const refusal = this.#admission.begin(plan, own !== undefined);
    if (refusal?.ends === true) return this.#refuse(refusal.code);
    if (refusal !== undefined) return this.end({ kind: 'failed', code: refusal.code, text: refusal.text });
    if (own !== undefined) return this.#answer(own, requests.tunnel);
    if (route.kind === 'refuse') return this.end({ kind: 'failed', code: route.code });
    if (route.kind === 'options' || route.kind === 'redirect')
      return this.#answer(routeResponse(route), requests.relay);
    // A stream of HTTP/2 has no socket to give away.
    const hasSocket = this.#socket.messages === undefined;
    if (route.kind === 'relay' && plan.upgrade && hasSocket && this.#upstreams.handlesUpgrade(route.target))
      return void this.#upgrade(plan, route.target);
    this.#pass(plan, route, isRefused ? undefined : entry);
  }

  /** Passes a request on to its upstream, over the kept stream or a new one. */
  #pass(plan: ParsedRequest, route: Destination, entry: AllowedRequest): void {
    const request = this.#upstreams.request(plan, route, this.#peer, entry);
    this.#request = request;
    this.#group = request.target;
    this.#cutAt = undefined;
    this.#record.countIn(request.outcomes);
    const interims = informationalResponsesFor(plan, this.#peer);
    const close = plan.close || this.#isLast;
    this.#state = 'exchange';
    this.#exchange = new Exchange({ plan, request, interims, close }, this.#socket, this);
    this.#exchange.start(this.#kept.take(request));
  }

  #readBody(exchange: Exchange, bytes: Buffer): void {
    if (!this.#socket.inputEnded) this.#deadline = Infinity;
    try {
      const rest = exchange.takeBody(bytes);
      if (rest !== undefined) this.#socket.returnInput(rest);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#refuse('bad-request');
    }
    this.#watchBody();
  }

  /** A request body may be silent for this long, unless the other side does not accept it, or sends its response. */
  #watchBody(): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#socket.inputEnded) return;
    if (exchange.requestDone || exchange.isBlocked || exchange.isTwoWay) this.#deadline = Infinity;
    else if (this.#deadline === Infinity) this.#deadline = this.#upstreams.now() + BODY_TIMEOUT_MS;
  }

  flowChanged(): void {
    this.#watchBody();
    this.#serve();
  }

  onOutputTaken(): void {
    this.onOutput();
    this.#exchange?.resumeResponse();
    this.#serve();
  }

  /** Asks one of the relay's own WebSockets to take over the connection. */
  async #upgrade(plan: ParsedRequest, target: string): Promise<void> {
    // Its connection would end with the previous relay.
    if (this.#isPassed)
      return this.#refuseUpgrade(new ApiError(API_ERRORS.unavailable, { 'Retry-After': '1' }));
    this.#state = 'upgrading';
    this.#record.countIn(requests.relay);
    try {
      await this.#upstreams.upgrade(plan, target, this.#peer, () => this.#giveAway());
    } catch (error) {
      if (this.#state !== 'upgrading') return;
      const refusal = error instanceof ApiError ? error : this.#upstreams.unexpected(error);
      countApiRefusal(refusal);
      this.#refuseUpgrade(refusal);
    }
  }

  #refuseUpgrade(error: ApiError): void {
    this.#answer(upgradeRefusal(error), requests.relay);
  }

  #giveAway(): ReturnType<UpgradeRequest['takeOver']> {
    if (this.#state !== 'upgrading') return undefined;
    this.end({ kind: 'upgraded' });
    this.#leave();
    const { socket, bytes: head } = this.#socket.release();
    const own = socket.detach?.();
    return own && { socket: own, head };
  }

  // The end of a request

  /** The only way out of a request: counts how it has ended, sends what is missing, and leads on to the next one. */
  end(end: RequestEnd): void {
    const plan = this.#plan;
    const request = this.#request;
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (end.kind === 'switched') return this.#join(end.stream);
    this.#plan = undefined;
    this.#request = undefined;
    switch (end.kind) {
      case 'completed':
        this.#record.end('answered', exchange?.status);
        this.#keep(request, end, exchange?.challengesConnection === true);
        return this.#next(end.close);
      case 'failed':
        this.#tellOwner(request, end.refused);
        if (end.code === 'tunnel-unknown') this.#record.countIn(requests.nowhere);
        this.#admission.refused();
        return this.#respond(
          errorResponse(end.code, requestFacts(plan), this.#upstreams.context.abuseContact, end.text),
          this.#endsUnread(plan, exchange),
        );
      case 'intercepted':
        this.#admission.refused();
        return this.#respond(end.response, this.#endsUnread(plan, exchange));
      case 'refused': {
        const { code, head } = end;
        if (plan === undefined) this.#record.begin(undefined, head?.length ?? 0);
        const facts = head === undefined ? requestFacts(plan) : factsOfHead(head);
        return this.#respond(errorResponse(code, facts, this.#upstreams.context.abuseContact), true);
      }
      case 'broken':
        this.#tellOwner(request, end.refused);
        this.#record.end('broken', exchange?.status);
        this.#state = 'gone';
        return end.reset ? this.#socket.reset() : this.#socket.destroy();
      case 'upgraded':
        return this.#record.end('upgraded', 101);
      case 'recalled':
        this.#record.passed();
        this.#state = 'head';
        if (plan !== undefined) this.#socket.returnInput(plan.head.bytes);
        return;
      case 'left':
        // A visitor may stop sending its request when the response is complete, and HTTP/2 asks it to.
        this.#record.end(exchange?.responded === true ? 'answered' : 'abandoned', exchange?.status);
        return exchange?.abort();
    }
  }

  /** The relay itself responds to a well-formed request. */
  #answer(response: OwnResponse, counts: RequestCounts): void {
    this.#record.countIn(counts);
    this.end({ kind: 'intercepted', response });
  }

  /**
   * Refuses a request whose rest may not be read. If its response has begun, only the end of the connection can show
   * that.
   *
   * @param head as much of the head as has arrived, if the head is the problem
   */
  #refuse(code: VisitorErrorCode, head?: string): void {
    this.#exchange?.abort();
    if (this.#exchange?.committed === true) this.#socket.destroy();
    else this.end({ kind: 'refused', code, head });
  }

  #respond(response: OwnResponse, close: boolean): void {
    sendOwn(this.#socket, response, close);
    this.#record.responded(response);
    this.#next(close);
  }

  /** Whether the connection ends with a response of the relay itself: the rest of a body is not read. */
  #endsUnread(plan: ParsedRequest | undefined, exchange: Exchange | undefined): boolean {
    const bodyDone = plan?.framing.kind === 'none' || exchange?.requestDone === true;
    return plan === undefined || plan.close || this.#isLast || !bodyDone;
  }

  /** Keeps a stream that can carry another request. */
  #keep(
    request: UpstreamRequest | undefined,
    { stream, close }: Extract<RequestEnd, { kind: 'completed' }>,
    isChallenged: boolean,
  ): void {
    if (request === undefined || stream === undefined) return;
    const { target, host, keepsStream } = request;
    const { isShared } = this.#kept;
    // A proxy's next request may be another visitor's.
    const isOwn = !this.#peer.trusted && !isShared;
    const isLast = close && !isShared;
    if (isLast || keepsStream === 'none' || (keepsStream === 'own' && !isOwn) || (isChallenged && isShared))
      return stream.finish();
    this.#kept.keep(stream, { target, host, isChallenged: isChallenged && isOwn });
  }

  #endKept(): void {
    if (!this.#kept.isShared) this.#kept.end();
  }

  /** @param refused the line that made the response invalid, if there is one */
  #tellOwner(request: UpstreamRequest | undefined, refused: string | undefined): void {
    if (request?.tunnel === undefined || refused === undefined) return;
    this.#upstreams.tellOwner(request.tunnel, { code: 'local-malformed', detail: refused });
  }

  /** Everything was sent: waits for the next request, or ends the connection. */
  #next(close: boolean): void {
    if (close) return this.#close();
    this.#admission.end();
    this.#state = 'head';
    this.#deadline = this.#upstreams.now() + (this.#isDraining ? DRAIN_IDLE_MS : IDLE_TIMEOUT_MS);
    this.#serve();
  }

  // The end of the connection

  /** Ends the connection after what was sent; further input is discarded for a while. */
  #close(): void {
    if (this.#state === 'gone' || this.#state === 'lingering') return;
    this.#state = 'lingering';
    this.#admission.end();
    this.#endKept();
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
    if (this.#plan !== undefined) this.end({ kind: 'left' });
    this.#leave();
  }

  /** The connection is closed, or somebody else's. */
  #leave(): void {
    this.#state = 'gone';
    this.#deadline = Infinity;
    this.#record.closed();
    // A connection that a client takes over may have served visitors: a proxy that pools connections uses them for any
    // sender.
    this.#endKept();
    this.#admission.leave();
    this.#gone(this);
  }

  /** The connection is a WebSocket from here on. */
  #join(stream: ByteStream): void {
    this.#state = 'gone';
    this.#deadline = Infinity;
    this.#record.opened();
    pipe(this.#socket.release(), stream, this.#group, () => this.#leave());
    this.staysOpen();
  }

  /** Another relay serves the rest of the connection. */
  #passOn(onward: Onward): void {
    this.#state = 'gone';
    this.#deadline = Infinity;
    this.#endKept();
    this.#admission.leave();
    const begun = Buffer.from(this.#reader.text, 'latin1');
    const rest = this.#socket.release();
    const bytes = Buffer.concat([begun, rest.bytes]);
    void passOn({ ...rest, bytes }, this.#peer, onward, () => this.#gone(this));
  }

  // The visitor has half-closed

  onInputEnd(): void {
    // A WebSocket cannot be half-open: a peer that ends its side before it is open does not want one.
    if (this.#state === 'upgrading') return this.#socket.destroy();
    this.onOutput();
    this.#serve();
  }

  /**
   * Whether the visitor has closed its side during a request. It may wait for the response, or be gone. Only a write
   * reveals which: Node stops watching a socket after the end of its input.
   */
  get #mayHaveLeft(): boolean {
    return this.#socket.inputEnded && this.#state === 'exchange';
  }

  /** When such a visitor counts as gone unless it is sent something. A full socket has its own time limit. */
  get #leaveBy(): number {
    return this.#socket.isFull ? Infinity : this.#upstreams.now() + LEAVE_TIMEOUT_MS;
  }

  onOutput(): void {
    if (this.#mayHaveLeft) this.#deadline = this.#leaveBy;
  }

  /** Everything that it sent has been read. */
  #inputIsOver(): void {
    if (this.#state === 'head') this.#close();
    else if (this.#exchange?.requestDone === false) this.#socket.destroy();
  }

  // Access that ends during a request

  staysOpen(): void {
    // The access policy may have changed since the request arrived.
    this.#endIfBarred();
  }

  /**
   * The access policy of a tunnel changed, or it was suspended: ends what is in progress if its visitor is no longer
   * allowed. A suspended tunnel serves nobody.
   */
  review(tunnel: LiveTunnel): void {
    if (this.#request?.tunnel !== tunnel) return;
    if (!tunnel.isSuspended) return this.#endIfBarred();
    if (this.#plan === undefined || this.#exchange?.committed !== false) return this.#cut();
    this.#exchange.abort();
    this.end({ kind: 'intercepted', response: this.#upstreams.suspended(this.#plan.head) });
  }

  /**
   * Immediately cuts long-lived connections, and everything of a visitor whose own right is over. Any other response
   * has {@link BARRED_RESPONSE_MS} to end.
   */
  #endIfBarred(now = this.#upstreams.now()): void {
    if (this.#plan === undefined || this.#request === undefined) return;
    const standing = this.#upstreams.standing(this.#plan, this.#peer, this.#request);
    const isWebSocket = this.#exchange === undefined;
    if (standing === 'allowed') this.#cutAt = undefined;
    else if (standing === 'revoked' || isWebSocket || this.#exchange?.isEventStream === true) this.#cut();
    else if (now >= (this.#cutAt ??= now + BARRED_RESPONSE_MS)) this.#cut();
  }

  /** Ends what is in progress in a way that does not look like a complete response. */
  #cut(): void {
    if (this.#exchange === undefined) this.#socket.destroy();
    else this.#exchange.cut();
  }

  // For the edge and its limits

  /** Ends what is past its time limit. To be called every {@link DEADLINE_TICK_MS}. */
  tick(now: number): void {
    const isTimed = this.#cutAt !== undefined || this.#request?.entrant?.until !== undefined;
    if (isTimed) this.#endIfBarred(now);
    if (now < this.#deadline) return;
    // A reset: if the visitor still reads, it must not see a complete response.
    if (this.#mayHaveLeft) return this.#socket.reset();
    // A response has begun in the meantime.
    if (this.#exchange?.isTwoWay === true) return void (this.#deadline = Infinity);
    if (this.#state === 'exchange') return this.#refuse('request-timeout');
    if (this.#state !== 'head') return this.#socket.destroy();
    if (this.#reader.partial) return this.#refuse('request-timeout', this.#reader.text);
    if (this.#isLast) this.#close();
    else this.#socket.destroy();
  }

  /** Whether the next response that can announce it is the connection's last. */
  get #isLast(): boolean {
    return this.#isDraining || this.#onward !== undefined;
  }

  /**
   * The relay is shutting down: the next response that can announce it is the connection's last. If none is due, a
   * request that may be on its way gets {@link DRAIN_IDLE_MS} to arrive.
   */
  drain(): void {
    this.#isDraining = true;
    this.#exchange?.closeAfter();
    if (this.#state === 'head' && !this.#reader.partial)
      this.#deadline = this.#upstreams.now() + DRAIN_IDLE_MS;
  }

  /** New requests wait, as do those to the relay itself that are not yet scheduled. */
  hold(): void {
    this.#isHeld = true;
    if (this.ownWork !== 'none' && this.#exchange?.hasStream !== true) this.#recall();
  }

  /** Requests are served again. */
  resume(): void {
    this.#isHeld = false;
    this.#serve();
  }

  /** Another relay serves from now on; requests already sent to a tunnel or the API are completed here. */
  leave(onward: Onward): void {
    this.#onward = onward;
    this.#recall();
    this.#exchange?.closeAfter();
    if (this.#state !== 'head') return;
    if (this.#socket.hasInput || this.#reader.partial) this.#passOn(onward);
    else this.#deadline = this.#upstreams.now() + REPLACED_IDLE_MS;
  }

  /** Cancels a request that was not sent anywhere yet. */
  #recall(): void {
    if (this.#exchange?.recall() === true) this.end({ kind: 'recalled' });
  }

  /** Whether the relay itself is processing a request. `unread`: one whose body has not ended. */
  get ownWork(): 'none' | 'unread' | 'read' {
    if (this.#exchange === undefined || this.#request?.tunnel !== undefined) return 'none';
    return this.#exchange.requestDone ? 'read' : 'unread';
  }

  /** Responds to a request whose body does not end while the relay waits for it. */
  refuseUnread(): void {
    this.#refuse('relay-busy');
  }

  /** Whether none of its requests waits for a stream or is still to come. */
  get isSettled(): boolean {
    return this.#exchange === undefined ? this.#state !== 'head' : this.#exchange.hasStream;
  }

  get isWaiting(): boolean {
    return this.#state === 'head' && !this.#reader.partial && !this.#socket.hasInput;
  }

  /** A visitor in the middle of a head gets a response. */
  giveWay(): void {
    if (this.#state !== 'head') return;
    if (this.#reader.partial) this.#refuse('relay-busy', this.#reader.text);
    else this.#close();
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#socket.destroy();
  }
}
