/** Local connections that serve one request after another. */
import {
  BodyError,
  type BodyTracker,
  requestFraming,
  responseFraming,
  trackBody,
} from '../../../shared/http1/body.ts';
import { type Field, fieldValue, listMembers } from '../../../shared/http1/fields.ts';
import {
  HeadReader,
  parseRequestHead,
  parseResponseHead,
  type ResponseHead,
} from '../../../shared/http1/head.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import type { Attempt } from '../network/dial.ts';
import type { LocalConnection, LocalHandler } from './local-service.ts';
import { NO_LIMITS, REQUEST_HEAD_MAX_BYTES, RESPONSE_HEAD_MAX_BYTES } from '../data/stream-filter.ts';

/**
 * Maximum number of idle connections to the local service that are kept for reuse: enough even for a page that
 * loads everything at the same time. A service may spend a thread on each.
 */
export const LOCAL_IDLE_MAX = 64;
/**
 * How long an idle connection to the local service is kept for reuse. Services close idle connections: Node's
 * after 5 s, some after 2 s. The client closes them first, which avoids most races.
 */
export const LOCAL_IDLE_MS = 2000;

/** The idle local connections of one tunnel, which wait for another request. */
export class LocalPool {
  readonly #deadlines: Deadlines;
  /** oldest first */
  readonly #idle: IdleConnection[] = [];

  constructor(deadlines: Deadlines) {
    this.#deadlines = deadlines;
  }

  get size(): number {
    return this.#idle.length;
  }

  /** Keeps a connection for at most {@link LOCAL_IDLE_MS}, or closes it if it cannot be kept. */
  put(local: LocalConnection): void {
    if (!local.isOpen || !local.isQuiet || this.#idle.length >= LOCAL_IDLE_MAX) {
      local.destroy();
      return;
    }
    const idle = new IdleConnection(local, this);
    this.#idle.push(idle);
    this.#deadlines.add(idle, LOCAL_IDLE_MS);
    local.attach(idle);
  }

  /** Hands out the connection that was used last: its service will keep it open longest. */
  take(): LocalConnection | undefined {
    for (let idle = this.#idle.at(-1); idle !== undefined; idle = this.#idle.at(-1)) {
      // Data that has arrived and waits for its turn belongs to no request.
      if (!idle.local.isQuiet) {
        this.drop(idle);
        continue;
      }
      this.#idle.pop();
      this.#deadlines.delete(idle);
      return idle.local;
    }
    return undefined;
  }

  /** Closes a connection that must not be reused, or forgets one that has closed. */
  drop(idle: IdleConnection): void {
    const at = this.#idle.indexOf(idle);
    if (at === -1) return;
    this.#idle.splice(at, 1);
    this.#deadlines.delete(idle);
    idle.local.destroy();
  }

  /** Closes all connections. */
  clear(): void {
    for (let idle = this.#idle.at(-1); idle !== undefined; idle = this.#idle.at(-1)) this.drop(idle);
  }
}

/** Any event on an idle connection means that it can no longer be reused. */
class IdleConnection implements LocalHandler, Expiring {
  readonly local: LocalConnection;
  readonly #pool: LocalPool;

  constructor(local: LocalConnection, pool: LocalPool) {
    this.local = local;
    this.#pool = pool;
  }

  onLocalData(): void {
    this.#pool.drop(this);
  }

  onLocalDrain(): void {}

  onLocalEnd(): void {
    this.#pool.drop(this);
  }

  onLocalClose(): void {
    this.#pool.drop(this);
  }

  expire(): void {
    this.#pool.drop(this);
  }
}

/** Called once with the outcome of a request over a reused connection, never before it has been sent. */
export interface ReuseHandler {
  /** @param first bytes of the response; the new holder must attach to the connection before it returns */
  answered(local: LocalConnection, first: Buffer): void;
  /** The service had closed the connection: the request may be sent again over another one. */
  unanswered(): void;
}

/**
 * Sends a request over a reused connection.
 *
 * @param request the complete request, of a kind that may be sent twice
 */
export function reuse(local: LocalConnection, request: Buffer, handler: ReuseHandler): Attempt {
  const attempt = new ReuseAttempt(local, handler);
  local.attach(attempt);
  local.write(request);
  return attempt;
}

/** A request on a reused connection, until the first byte of its response. */
class ReuseAttempt implements Attempt, LocalHandler {
  readonly #local: LocalConnection;
  readonly #handler: ReuseHandler;
  #isOver = false;

  constructor(local: LocalConnection, handler: ReuseHandler) {
    this.#local = local;
    this.#handler = handler;
  }

  onLocalData(chunk: Buffer): void {
    // Some servers send a 408 when they close an idle connection (RFC 9110 section 15.5.9), which is not a response to
    // this request.
    if (chunk.toString('latin1', 9, 12) === '408') return this.#giveUp();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.answered(this.#local, chunk);
  }

  onLocalDrain(): void {}

  onLocalEnd(): void {
    this.#giveUp();
  }

  onLocalClose(): void {
    this.#giveUp();
  }

  cancel(): void {
    this.#isOver = true;
    this.#local.destroy();
  }

  #giveUp(): void {
    if (this.#isOver) return;
    this.cancel();
    this.#handler.unanswered();
  }
}

/*
 * Follows one request and its response on a local connection, to decide whether the connection can serve another
 * visitor's request afterwards (docs/decisions/0007). In case of doubt it cannot.
 */

/** Safe methods (RFC 9110 section 9.2.1), whose requests may be sent again over another connection. */
export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
/**
 * The first two may authenticate the connection instead of the request (NTLM, Negotiate); the others control the
 * connection.
 */
const UNSUITABLE_FIELDS = new Set([
  'authorization',
  'proxy-authorization',
  'connection',
  'upgrade',
  'expect',
]);
const CHALLENGES = new Set(['www-authenticate', 'proxy-authenticate']);

export class LocalExchange {
  readonly #method: string;
  #body: BodyTracker | undefined;
  #isSpoilt = false;

  private constructor(method: string) {
    this.#method = method;
  }

  /**
   * Looks at the first bytes of a data socket.
   *
   * @returns `undefined` unless they are exactly one request that may share a local connection with other visitors
   */
  static of(bytes: Buffer): LocalExchange | undefined {
    const end = new HeadReader(REQUEST_HEAD_MAX_BYTES).push(bytes);
    if (end === undefined || typeof end === 'string' || end.rest.length > 0) return undefined;
    const head = parseRequestHead(end.head, NO_LIMITS);
    if (typeof head === 'string' || head.minor !== 1 || !SAFE_METHODS.has(head.method)) return undefined;
    const framing = requestFraming(head);
    if (typeof framing === 'string' || framing.kind !== 'none') return undefined;
    return hasField(head.fields, UNSUITABLE_FIELDS) ? undefined : new LocalExchange(head.method);
  }

  /** Whether the response is complete, and the connection can serve another request. */
  get isReusable(): boolean {
    return !this.#isSpoilt && this.#body?.done === true;
  }

  /** Follows the next bytes of the response. Must be called before they are changed. */
  follow(chunk: Buffer): void {
    if (this.#isSpoilt) return;
    try {
      const body = this.#body;
      // Bytes after the end of a response belong to no request.
      this.#isSpoilt = body === undefined ? !this.#followHead(chunk) : !this.#followBody(body, chunk);
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      this.#isSpoilt = true;
    }
  }

  /** @returns whether the connection may still be reused */
  #followHead(chunk: Buffer): boolean {
    let rest = chunk;
    do {
      // Heads nearly always arrive in one piece. A part of one would have to be copied, since it is passed on.
      const end = new HeadReader(RESPONSE_HEAD_MAX_BYTES).push(rest);
      const head = end === undefined || typeof end === 'string' ? undefined : parseResponseHead(end.head);
      if (end === undefined || typeof end === 'string' || head === undefined) return false;
      rest = end.rest;
      if (head.status === 101 || head.minor !== 1) return false;
      if (head.status >= 200) {
        this.#body = bodyOf(head, this.#method);
        return this.#body !== undefined && this.#followBody(this.#body, rest);
      }
    } while (rest.length > 0);
    return true;
  }

  #followBody(body: BodyTracker, bytes: Buffer): boolean {
    if (body.done) return bytes.length === 0;
    return body.advance(bytes, 0) === bytes.length;
  }
}

/** @returns `undefined` if the response indicates, or may indicate, that its connection serves no other request */
function bodyOf(head: ResponseHead, method: string): BodyTracker | undefined {
  const { fields } = head;
  if (!isKeptAlive(fields) || hasField(fields, CHALLENGES)) return undefined;
  const framing = responseFraming(head, method);
  if (framing === undefined || framing.kind === 'until-close') return undefined;
  // A server's forbidden body would be read as the response to the next visitor.
  if (framing.kind === 'none' && announcesBody(fields)) return undefined;
  return trackBody(framing);
}

function isKeptAlive(fields: readonly Field[]): boolean {
  return listMembers(fields, 'connection').every((member) => member === 'keep-alive');
}

function announcesBody(fields: readonly Field[]): boolean {
  return (
    fieldValue(fields, 'transfer-encoding') !== undefined ||
    (fieldValue(fields, 'content-length') ?? '0') !== '0'
  );
}

function hasField(fields: readonly Field[], names: ReadonlySet<string>): boolean {
  for (const { lower } of fields) if (names.has(lower)) return true;
  return false;
}
