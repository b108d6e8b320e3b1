/**
 * The requests of one connection, one after the other: refused, passed to their upstreams, or responded to by the
 * relay itself. The connection itself stays with its owner.
 */
import type { VisitorErrorCode } from '../../shared/errors.ts';
import { BodyError } from '../../shared/http1/body.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import type { AccessLog } from '../observe/logger.ts';
import { type RequestCounts, refusals, requests } from '../observe/counters.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { ByteStream } from '../tunnels/stream.ts';
import {
  errorResponse,
  factsOfHead,
  type OwnResponse,
  requestFacts,
  routeResponse,
} from './builtin-responses.ts';
import { type ConnectionLimiter, visitorAddress } from './connection-limiter.ts';
import { Exchange, type ExchangeEnd, type ExchangeOwner, KeptStream } from './exchange.ts';
import type { Peer } from './request-head.ts';
import { informationalResponsesFor } from './response.ts';
import { type Destination, type ParsedRequest, TunnelLookup } from './route.ts';
import type { AllowedRequest, UpstreamRequest, Upstreams } from './upstreams.ts';
import { isAllowedVisitor, isFormEntry } from './visitor-access.ts';
import type { VisitorSocket } from './visitor-socket.ts';

/**
 * @limit How long a response may continue after the access policy has stopped allowing its visitor: as long as at a
 * shutdown, to finish a download.
 */
export const BARRED_RESPONSE_MS = 30_000;

/** Callbacks of the requests to their connection. */
export interface RequestsOwner {
  /** Whether bytes of the body are accepted has changed: see {@link Exchange.takesBody}. */
  flowChanged(): void;
  /** The request is an upgrade to one of the relay's own WebSockets. */
  upgradeAsked(plan: ParsedRequest, target: string): void;
  /** The connection is a WebSocket from here on. */
  switched(stream: ByteStream): void;
  /** The current request is over, and everything was sent. `close`: the connection ends with it. */
  requestOver(close: boolean): void;
}

export class VisitorRequests implements ExchangeOwner {
  readonly #socket: VisitorSocket;
  readonly #peer: Peer;
  readonly #upstreams: Upstreams;
  readonly #admission: ConnectionLimiter;
  readonly #owner: RequestsOwner;
  readonly #outcomes: RequestStats;
  readonly #kept = new KeptStream();
  /** Whether the connection ends with the response to the current request. */
  #isLast = false;
  #plan: ParsedRequest | undefined;
  /** The current request, as its upstream receives it. */
  #request: UpstreamRequest | undefined;
  /** Whether its response is one that stays open: a WebSocket, or an event stream. */
  #staysOpen = false;
  /** Monotonic ms when the response is cut because its visitor no longer has access; `undefined` for all others. */
  #cutAt: number | undefined;
  /** The upstream of the latest request: a tunnel or the relay. */
  #target: object | undefined;
  /** Whether its stream may serve the next request. */
  #keepsStream = false;
  #host = '';
  #exchange: Exchange | undefined;

  constructor(
    socket: VisitorSocket,
    peer: Peer,
    upstreams: Upstreams,
    admission: ConnectionLimiter,
    owner: RequestsOwner,
  ) {
    this.#socket = socket;
    this.#peer = peer;
    this.#upstreams = upstreams;
    this.#admission = admission;
    this.#owner = owner;
    this.#outcomes = new RequestStats(socket, peer, upstreams);
  }

  /** The current request, if it has been passed on. */
  get exchange(): Exchange | undefined {
    return this.#exchange;
  }

  /** The upstream of the latest request; the same object for the same tunnel. */
  get target(): object | undefined {
    return this.#target;
  }

  /** The connection ends with the next response that can still announce it. */
  closeAfter(): void {
    this.#isLast = true;
    this.#exchange?.closeAfter();
  }

  /** A well-formed request has arrived. */
  begin(plan: ParsedRequest): void {
    this.#plan = plan;
    this.#outcomes.begin(plan, plan.head.bytes.length);
    const { route } = plan;
    const entry = this.#upstreams.enter(plan, this.#peer);
    const isRefused =
      entry !== undefined && !(entry instanceof Promise) && !isAllowedVisitor(entry) && !isFormEntry(entry);
    // Visitors who have to wait for access do not get the notice before.
    const own = isRefused ? entry : entry instanceof Promise ? undefined : this.#upstreams.noticeFor(plan);
    const refusal = this.#admission.begin(plan, own !== undefined);
    if (refusal?.ends === true) return this.refuse(refusal.code);
    if (refusal !== undefined) return this.#fail(refusal.code, refusal.text);
    if (own !== undefined) return this.#standIn(own, requests.tunnel);
    if (route.kind === 'refuse') return this.#fail(route.code);
    if (route.kind === 'options' || route.kind === 'redirect')
      return this.#standIn(routeResponse(route), requests.relay);
    if (route.kind === 'relay' && plan.upgrade && this.#upstreams.handlesUpgrade(route.target)) {
      this.#outcomes.countIn(requests.relay);
      return this.#owner.upgradeAsked(plan, route.target);
    }
    this.#passOn(plan, route, isRefused ? undefined : entry);
  }

  #passOn(plan: ParsedRequest, route: Destination, entry: AllowedRequest): void {
    const request = this.#upstreams.request(plan, route, this.#peer, entry);
    this.#request = request;
    this.#staysOpen = false;
    this.#cutAt = undefined;
    this.#target = request.target;
    this.#keepsStream = request.keepsStream;
    this.#outcomes.countIn(request.outcomes);
    const interims = informationalResponsesFor(plan, this.#peer);
    const close = plan.close || this.#isLast;
    this.#exchange = new Exchange({ plan, request, interims, close }, this.#socket, this);
    const { host, target, fresh, repeatable } = request;
    // An idle connection may end at the moment it is reused, which a request that cannot be repeated must not
    // encounter, unless it is the next step of authenticating that connection.
    const mayBeUsed = repeatable || this.#kept.isChallenged;
    const isFresh = fresh || host !== this.#host || !mayBeUsed;
    this.#host = host;
    this.#exchange.start(this.#kept.take(target, isFresh));
  }

  /** Whether the current request is for the relay itself: its API, or a form of the access page. */
  get isOwn(): boolean {
    return this.#exchange !== undefined && this.#request?.tunnel === undefined;
  }

  /**
   * Cancels the current request, if nothing of it was sent anywhere.
   *
   * @returns its head
   */
  recall(): Buffer | undefined {
    if (this.#plan === undefined || this.#exchange?.recall() !== true) return undefined;
    const { bytes } = this.#plan.head;
    this.#forget();
    this.#outcomes.passed();
    return bytes;
  }

  /**
   * The access policy of a tunnel changed, or it was suspended: ends what is in progress if its visitor is no longer
   * allowed. A suspended tunnel serves nobody.
   */
  review(tunnel: LiveTunnel): void {
    if (this.#request?.tunnel !== tunnel) return;
    if (tunnel.isSuspended) this.#suspend();
    else this.#endIfBarred();
  }

  #suspend(): void {
    if (this.#plan === undefined || this.#exchange?.committed !== false) return this.#cut();
    this.#exchange.abort();
    this.#standIn(this.#upstreams.suspended(this.#plan.head), requests.tunnel);
  }

  /** Ends what is in progress when the right of its visitor is over. To be called every {@link DEADLINE_TICK_MS}. */
  tick(now: number): void {
    const isTimed = this.#cutAt !== undefined || this.#request?.entrant?.until !== undefined;
    if (isTimed) this.#endIfBarred(now);
  }

  /**
   * Immediately cuts long-lived connections, and everything of a visitor whose own right is over. Any other response
   * has {@link BARRED_RESPONSE_MS} to end.
   */
  #endIfBarred(now = this.#upstreams.now()): void {
    if (this.#plan === undefined || this.#request === undefined) return;
    const standing = this.#upstreams.standing(this.#plan, this.#peer, this.#request);
    if (standing === 'allowed') this.#cutAt = undefined;
    else if (standing === 'revoked' || this.#staysOpen) this.#cut();
    else if (now >= (this.#cutAt ??= now + BARRED_RESPONSE_MS)) this.#cut();
  }

  /** Ends what is in progress in a way that does not look like a complete response. */
  #cut(): void {
    if (this.#exchange === undefined) this.#socket.destroy();
    else this.#exchange.cut();
  }

  /** Passes on bytes of the request's body, and returns those that come after it. */
  takeBody(exchange: Exchange, bytes: Buffer): void {
    try {
      const rest = exchange.takeBody(bytes);
      if (rest !== undefined) this.#socket.returnInput(rest);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      exchange.abort();
      if (exchange.committed) this.#socket.destroy();
      else this.refuse('bad-request');
    }
  }

  /**
   * Refuses a request whose rest may not be read.
   *
   * @param head as much of the head as has arrived, if the head is the problem
   */
  refuse(code: VisitorErrorCode, head?: string): void {
    this.#exchange?.abort();
    if (this.#plan === undefined) this.#outcomes.begin(undefined, head?.length ?? 0);
    const facts = head === undefined ? requestFacts(this.#plan) : factsOfHead(head);
    this.#respond(errorResponse(code, facts, this.#upstreams.context.abuseContact), true);
  }

  /** Responds to a refused upgrade to one of the relay's own WebSockets. */
  refuseUpgrade(response: OwnResponse): void {
    this.#respond(response, this.#endsUnread);
  }

  /** The upgrade was accepted: the connection serves no more visitors. */
  upgraded(): void {
    this.#outcomes.end('upgraded', 101);
  }

  /** The visitor has left; whatever it was waiting for is dropped. */
  abandon(): void {
    if (this.#plan === undefined) return;
    // A visitor may stop sending its request when the response is complete, and HTTP/2 asks it to.
    const outcome = this.#exchange?.responded === true ? 'answered' : 'abandoned';
    this.#outcomes.end(outcome, this.#exchange?.status);
    this.#exchange?.abort();
  }

  /** No more requests arrive, though the connection is still open. */
  finish(): void {
    this.#admission.end();
    this.#kept.end();
  }

  /** The connection is gone. */
  leave(): void {
    this.#outcomes.closed();
    // A connection that a client takes over may have served visitors: a proxy that pools connections uses them for any
    // sender.
    this.#kept.end();
    this.#exchange = undefined;
    this.#admission.leave();
  }

  // Callbacks of the exchange

  flowChanged(): void {
    this.#owner.flowChanged();
  }

  ended(end: ExchangeEnd): void {
    switch (end.kind) {
      case 'completed':
        return this.#completed(end.stream, end.close);
      case 'switched':
        this.#exchange = undefined;
        this.#outcomes.opened();
        this.#owner.switched(end.stream);
        return this.staysOpen();
      case 'failed':
        return this.#fail(end.code, end.text);
      case 'intercepted':
        return this.#standIn(end.response, requests.tunnel);
      case 'broken':
        this.#outcomes.end('broken', this.#exchange?.status);
        this.#forget();
        if (end.reset) this.#socket.reset();
        else this.#socket.destroy();
    }
  }

  #completed(stream: ByteStream | undefined, close: boolean): void {
    this.#outcomes.end('answered', this.#exchange?.status);
    if (!this.#keepsStream) stream?.finish();
    else if (stream !== undefined && this.#target !== undefined) {
      // A proxy's next request may be another visitor's.
      const isChallenged = this.#exchange?.challengesConnection === true && !this.#peer.trusted;
      this.#kept.keep(this.#target, stream, isChallenged);
    }
    this.#over(close);
  }

  staysOpen(): void {
    this.#staysOpen = true;
    // The access policy may have changed since the request arrived.
    this.#endIfBarred();
  }

  malformed(detail: string): void {
    const tunnel = this.#request?.tunnel;
    if (tunnel !== undefined) this.#upstreams.tellOwner(tunnel, { code: 'local-malformed', detail });
  }

  // Responses of the relay itself

  #fail(code: VisitorErrorCode, text?: string): void {
    const { abuseContact } = this.#upstreams.context;
    this.#standIn(errorResponse(code, requestFacts(this.#plan), abuseContact, text));
  }

  /** Responds to a well-formed request instead of its target. */
  #standIn(response: OwnResponse, countedIn?: RequestCounts): void {
    if (countedIn !== undefined) this.#outcomes.countIn(countedIn);
    this.#admission.refused();
    this.#respond(response, this.#endsUnread);
  }

  #respond(response: OwnResponse, close: boolean): void {
    this.#socket.send(response.bytes(close));
    this.#outcomes.responded(response);
    this.#over(close);
  }

  /** Whether the connection ends with a response of the relay itself: the rest of a body is not read. */
  get #endsUnread(): boolean {
    const plan = this.#plan;
    const bodyDone = plan?.framing.kind === 'none' || this.#exchange?.requestDone === true;
    return plan === undefined || plan.close || this.#isLast || !bodyDone;
  }

  #forget(): void {
    this.#plan = undefined;
    this.#request = undefined;
    this.#exchange = undefined;
  }

  #over(close: boolean): void {
    this.#forget();
    if (!close) this.#admission.end();
    this.#owner.requestOver(close);
  }
}

/* How the requests of one connection end: counted, and reported to the access log if there is one. */

class RequestStats {
  readonly #socket: VisitorSocket;
  readonly #peer: Peer;
  readonly #upstreams: Upstreams;
  /** Counts how the current request ends. */
  #outcomes: RequestCounts = requests.nowhere;
  /** The entry of the current request in the access log. */
  #access: AccessRecord | undefined;

  constructor(socket: VisitorSocket, peer: Peer, upstreams: Upstreams) {
    this.#socket = socket;
    this.#peer = peer;
    this.#upstreams = upstreams;
  }

  /**
   * A request begins.
   *
   * @param plan `undefined` for one that is refused for its head
   * @param headLength bytes of the head
   */
  begin(plan: ParsedRequest | undefined, headLength: number): void {
    const { accessLog, context } = this.#upstreams;
    if (accessLog === undefined) return;
    const { now, taken, sent } = this.#progress;
    const address = visitorAddress(plan?.head.fields ?? [], this.#peer, context.trustedProxies);
    this.#access = new AccessRecord(accessLog, address, plan, { now, taken: taken - headLength, sent });
  }

  /** The upstream of the current request is now known. */
  countIn(outcomes: RequestCounts): void {
    this.#outcomes = outcomes;
  }

  /**
   * The current request has ended, and its response was sent.
   *
   * @param status of the response, if one was begun
   */
  end(outcome: keyof RequestCounts, status: number | undefined, error?: VisitorErrorCode): void {
    this.#outcomes[outcome] += 1;
    this.#outcomes = requests.nowhere;
    if (this.#access !== undefined) this.#tell(outcome, status, error);
  }

  /** Another relay serves the current request, and counts it. */
  passed(): void {
    this.#outcomes = requests.nowhere;
    this.#access = undefined;
  }

  /** The relay has responded instead of the target. */
  responded({ status, refuses, error }: OwnResponse): void {
    if (error !== undefined) refusals[error] += 1;
    this.end(refuses ? 'refused' : 'answered', status, error);
  }

  /** The current request has opened a WebSocket: it is counted now, and logged when its byte counts are final. */
  opened(): void {
    this.#outcomes.upgraded += 1;
  }

  /** A WebSocket has ended, if one was opened. */
  closed(): void {
    if (this.#access !== undefined) this.#tell('upgraded', 101);
  }

  #tell(outcome: keyof RequestCounts, status: number | undefined, error?: VisitorErrorCode): void {
    this.#access?.end(outcome, this.#progress, status, error);
    this.#access = undefined;
  }

  get #progress(): Progress {
    return { now: this.#upstreams.now(), taken: this.#socket.bytesTaken, sent: this.#socket.bytesSent };
  }
}

/* The entry of one request in the access log, from its head to its end. */

const ABSOLUTE_FORM = /^https?:\/\/[^/?]*/i;
const INVITATION = /^(\/(?:v1\/invites|invite)\/).*/;
/** As long as the token of an invitation or longer, in any encoding. */
const LONG_WORD = /(?:[\w-]|%[0-9A-Fa-f]{2}){32,}/g;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The progress of a connection. */
interface Progress {
  /** monotonic ms */
  readonly now: number;
  /** bytes read from the visitor */
  readonly taken: number;
  /** bytes sent to the visitor */
  readonly sent: number;
}

export class AccessRecord {
  readonly #log: AccessLog;
  readonly #address: string;
  readonly #plan: ParsedRequest | undefined;
  readonly #begin: Progress;

  /** @param begin the time at the end of the request's head, and the bytes before it */
  constructor(log: AccessLog, address: string, plan: ParsedRequest | undefined, begin: Progress) {
    this.#log = log;
    this.#address = address;
    this.#plan = plan;
    this.#begin = begin;
  }

  /**
   * The request has ended.
   *
   * @param status of the response, if one was begun
   */
  end(
    outcome: keyof RequestCounts,
    end: Progress,
    status: number | undefined,
    error?: VisitorErrorCode,
  ): void {
    const head = this.#plan?.head;
    const tunnel = tunnelOf(this.#plan);
    this.#log({
      address: this.#address,
      method: head?.method,
      host: head && fieldValue(head.fields, 'host'),
      path: head && pathOf(head.target, tunnel !== undefined),
      status,
      outcome,
      error,
      bytes_in: end.taken - this.#begin.taken,
      bytes_out: end.sent - this.#begin.sent,
      ms: Math.round(end.now - this.#begin.now),
      tunnel: tunnel?.id,
      slug: tunnel?.slug,
      account: tunnel?.account.id,
    });
  }
}

function tunnelOf(plan: ParsedRequest | undefined): LiveTunnel | undefined {
  if (plan?.route.kind !== 'tunnel') return undefined;
  const { tunnel } = plan.route;
  return tunnel instanceof TunnelLookup ? tunnel.found : tunnel;
}

/**
 * The path of a target, without anything that grants access. An invitation's token stays valid after a request that
 * was refused, sent to the wrong host or misspelled, so every word that could be one is hidden, unless a tunnel serves
 * the path.
 *
 * @param target as sent, in any form (RFC 9112 section 3.2)
 */
function pathOf(target: string, isTunnels: boolean): string {
  const [sent = ''] = target.replace(ABSOLUTE_FORM, '').split('?', 1);
  const path = sent === '' ? '/' : sent;
  if (isTunnels) return path;
  return path.replace(INVITATION, '$1…').replaceAll(LONG_WORD, (word) => (UUID.test(word) ? word : '…'));
}
