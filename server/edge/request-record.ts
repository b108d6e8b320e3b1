/** How the requests of one connection end: counted, and reported to the access log if there is one. */
import type { VisitorErrorCode } from '../../shared/errors.ts';
import { fieldValue } from '../../shared/http1/fields.ts';
import { type RequestCounts, refusals, requests } from '../observe/counters.ts';
import type { AccessLog } from '../observe/logger.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { OwnResponse } from './builtin-responses.ts';
import { visitorAddress } from './connection-limiter.ts';
import type { Peer } from './request-head.ts';
import { type ParsedRequest, TunnelLookup } from './route.ts';
import type { Upstreams } from './upstreams.ts';
import type { VisitorSocket } from './visitor-socket.ts';

export class RequestRecord {
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
