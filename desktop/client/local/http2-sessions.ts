/** HTTP/2 connections to the local service, which its requests share (RFC 9113 section 5). */
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Deadlines, Expiring } from '../clock.ts';
import { type Attempt, isTlsAlert } from '../network/dial.ts';
import { type LocalTarget, LOCAL_CONNECT_TIMEOUT_MS } from './local-service.ts';
import { isRefusal, LocalFailure } from './local-error.ts';
import { RESPONSE_HEAD_MAX_BYTES } from '../data/stream-filter.ts';

/**
 * Maximum number of HTTP/2 connections to a tunnel's local service. Most services allow 100 requests on each,
 * which is enough for {@link CONNECTIONS_MAX} visitors.
 */
export const LOCAL_SESSIONS_MAX = 64;
/**
 * Maximum number of simultaneous requests on one HTTP/2 connection to the local service, even if the service
 * allows more: a lost packet or a large response delays the others.
 */
const LOCAL_SESSION_STREAMS_MAX = 100;
/**
 * How long a request waits if an HTTP/2 service is already serving as many requests as it allows. A long call
 * can keep its place for any time.
 */
export const LOCAL_STREAM_WAIT_MS = 10_000;
/**
 * How long an HTTP/2 connection to the local service is kept without a request. This can be longer than {@link
 * LOCAL_IDLE_MS}, because an HTTP/2 service announces that it will close a connection.
 */
export const LOCAL_SESSION_IDLE_MS = 30_000;
/**
 * Maximum number of bytes of one response that an HTTP/2 service may send before the visitor has read them. The
 * number is odd because Node's servers leave out END_STREAM if a response ends exactly where the window ends, and
 * response sizes are often powers of two.
 */
export const LOCAL_STREAM_WINDOW_BYTES = 128 * 1024 - 1;
/**
 * Maximum number of bytes in transit of all responses on one HTTP/2 connection to the local service. Bytes count
 * as read when they arrive.
 */
const LOCAL_SESSION_WINDOW_BYTES = 4 * 1024 * 1024;
/**
 * Maximum memory in MiB that an HTTP/2 connection to the local service may use for heads and for data that the
 * service has not read yet.
 */
const LOCAL_SESSION_MEMORY_MB = 32;
/**
 * Maximum number of streams that are reset on one HTTP/2 connection to the local service before another
 * connection takes its place. Services end a connection with too many: Node's after 1000 in a burst.
 */
export const LOCAL_SESSION_RESETS_MAX = 200;
/**
 * Maximum number of fields in the head or the trailers of an HTTP/2 response. Node's default of 128 is too low
 * for some services.
 */
const LOCAL_HEADERS_MAX = 512;

/** RFC 9113 section 7. The constants of `node:http2` would load it at every start. */
const CANCEL = 8;

/** Called once with the outcome, never before {@link LocalSessions.acquire} has returned. */
export interface SessionHandler {
  /** @param session with a stream reserved for the handler, who must release it */
  acquired(session: LocalSession): void;
  /** @param error of the connection, or a {@link LocalFailure} */
  refused(error: Error): void;
}

/** Called once with the outcome of connecting to the local service. */
export interface SocketHandler {
  connected(socket: Socket): void;
  refused(error: Error): void;
}

interface LocalSessionsOptions {
  readonly target: LocalTarget;
  readonly deadlines: Deadlines;
  /** @param since when the first visitor began to wait for the service, in monotonic ms */
  readonly connect: (handler: SocketHandler, since: number) => Attempt;
}

/**
 * The sessions of one tunnel. A session serves as many requests at the same time as the service allows; further requests
 * get another session, or wait for {@link LOCAL_STREAM_WAIT_MS}.
 *
 * There are no PINGs: gRPC servers disconnect clients that send more than a few, and a service that is stopped in a
 * debugger would not answer them. TCP probes show that a machine is gone.
 */
export class LocalSessions {
  readonly #options: LocalSessionsOptions;
  /** oldest first, including those that are closing */
  readonly #sessions = new Set<LocalSession>();
  /** in the order of their arrival */
  readonly #waiting = new Set<Waiter>();
  #dial: Attempt | undefined;

  constructor(options: LocalSessionsOptions) {
    this.#options = options;
  }

  /** Reserves a stream on a session. Connects to the service if necessary. */
  acquire(handler: SessionHandler): Attempt {
    const { deadlines } = this.#options;
    const waiter = new Waiter(handler, deadlines.now(), this);
    this.#waiting.add(waiter);
    deadlines.add(waiter, LOCAL_STREAM_WAIT_MS);
    queueMicrotask(() => this.#serve());
    return waiter;
  }

  /** Closes the sessions without requests. */
  closeIdle(): void {
    for (const session of this.#sessions) if (session.isIdle) session.close();
  }

  // For its sessions and waiters

  /** The session may have room for requests. */
  onRoom(): void {
    this.#serve();
  }

  /** @param failure why it never was usable, if so */
  onClosed(session: LocalSession, failure: Error | undefined): void {
    this.#sessions.delete(session);
    if (failure !== undefined) this.#fail(failure);
    this.#serve();
  }

  forget(waiter: Waiter): void {
    this.#waiting.delete(waiter);
    this.#options.deadlines.delete(waiter);
  }

  onWaitedLong(waiter: Waiter): void {
    if (this.#isConnecting) this.#options.deadlines.add(waiter, LOCAL_STREAM_WAIT_MS);
    else this.#refuse(waiter, new LocalFailure('local-busy'));
  }

  #serve(): void {
    for (const waiter of this.#waiting) {
      const session = this.#findFree();
      if (session === undefined) return this.#grow(waiter.since);
      this.forget(waiter);
      session.reserve();
      waiter.handler.acquired(session);
    }
  }

  #findFree(): LocalSession | undefined {
    for (const session of this.#sessions) if (session.hasRoom) return session;
    return undefined;
  }

  get #isConnecting(): boolean {
    if (this.#dial !== undefined) return true;
    for (const session of this.#sessions) if (session.isStarting) return true;
    return false;
  }

  /** Those that are closing do not count: visitors could keep them from ending, and nobody else would get a session. */
  get #usable(): number {
    let count = 0;
    for (const session of this.#sessions) if (!session.isClosing) count += 1;
    return count;
  }

  #grow(since: number): void {
    if (this.#isConnecting || this.#usable >= LOCAL_SESSIONS_MAX) return;
    const handler: SocketHandler = {
      connected: (socket) => {
        this.#dial = undefined;
        this.#start(socket);
      },
      refused: (error) => {
        this.#dial = undefined;
        this.#fail(isNoProtocol(error) ? new LocalFailure('local-not-http2') : error);
      },
    };
    this.#dial = this.#options.connect(handler, since);
  }

  #start(socket: Socket): void {
    // Only with TLS. `instanceof` would load TLS at every start.
    if ('alpnProtocol' in socket && socket.alpnProtocol !== 'h2') {
      socket.destroy();
      return this.#fail(new LocalFailure('local-not-http2'));
    }
    this.#sessions.add(new LocalSession(socket, this.#options.deadlines, this));
  }

  /** A new connection has failed. Requests that can wait for another session keep waiting. */
  #fail(error: Error): void {
    if (this.#usable > 0) return;
    const { deadlines, target } = this.#options;
    const now = deadlines.now();
    for (const waiter of this.#waiting) {
      // Any other error would come back immediately.
      const isPatient = isRefusal(error) && now - waiter.since < target.waitMs;
      if (!isPatient) this.#refuse(waiter, error);
    }
    this.#serve();
  }

  #refuse(waiter: Waiter, error: Error): void {
    this.forget(waiter);
    waiter.handler.refused(error);
  }
}

/** A server may refuse the TLS handshake if it has no common protocol (RFC 7301 section 3.2). */
function isNoProtocol(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL';
}

/** A request that waits for a session. */
class Waiter implements Attempt, Expiring {
  readonly handler: SessionHandler;
  /** monotonic ms */
  readonly since: number;
  readonly #sessions: LocalSessions;

  constructor(handler: SessionHandler, since: number, sessions: LocalSessions) {
    this.handler = handler;
    this.since = since;
    this.#sessions = sessions;
  }

  cancel(): void {
    this.#sessions.forget(this);
  }

  expire(): void {
    this.#sessions.onWaitedLong(this);
  }
}

/** One HTTP/2 connection. It is usable once the service has sent its settings, which shows that it speaks HTTP/2. */
export class LocalSession implements Expiring {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #deadlines: Deadlines;
  readonly #owner: LocalSessions;
  #state: 'starting' | 'open' | 'closing' = 'starting';
  /** requests under way, and streams reserved for them */
  #streams = 0;
  #requests = 0;
  #resets = 0;
  /** with which the service has ended the connection */
  #alert: Error | undefined;

  /** @param socket connected, with an `error` listener */
  constructor(socket: Socket, deadlines: Deadlines, owner: LocalSessions) {
    this.#socket = socket;
    this.#deadlines = deadlines;
    this.#owner = owner;
    // Named only because Node wants an address: every request has an authority of its own.
    // Imported, it would be loaded at every start.
    const { connect } = process.getBuiltinModule('node:http2');
    const session = connect('http://localhost', {
      createConnection: () => socket,
      settings: {
        enablePush: false,
        initialWindowSize: LOCAL_STREAM_WINDOW_BYTES,
        maxHeaderListSize: RESPONSE_HEAD_MAX_BYTES,
      },
      maxHeaderListPairs: LOCAL_HEADERS_MAX,
      maxReservedRemoteStreams: 0,
      maxSessionMemory: LOCAL_SESSION_MEMORY_MB,
    });
    this.#session = session;
    session.on('error', () => {});
    session.once('connect', () => session.setLocalWindowSize(LOCAL_SESSION_WINDOW_BYTES));
    session.on('remoteSettings', () => this.#onSettings());
    session.on('goaway', () => this.#leave());
    session.once('close', () => this.#onClose());
    // A service that sends nothing more cannot complete a response.
    socket.once('end', () => socket.destroy());
    // In TLS 1.3, a service may refuse the client after the handshake.
    socket.on('error', (error) => {
      if (isTlsAlert(error)) this.#alert = error;
      this.close();
    });
    deadlines.add(this, LOCAL_CONNECT_TIMEOUT_MS);
  }

  /** Whether the service has not shown yet that it speaks HTTP/2. */
  get isStarting(): boolean {
    return this.#state === 'starting';
  }

  /** Whether it ends with the requests that it has. */
  get isClosing(): boolean {
    return this.#state === 'closing';
  }

  /** Whether it accepts another request. */
  get hasRoom(): boolean {
    if (this.#state !== 'open' || this.#session.closed || this.isOver) return false;
    const { maxConcurrentStreams = LOCAL_SESSION_STREAMS_MAX } = this.#session.remoteSettings;
    return this.#streams < Math.min(maxConcurrentStreams, LOCAL_SESSION_STREAMS_MAX);
  }

  /** Whether it has no request. */
  get isIdle(): boolean {
    return this.#streams === 0;
  }

  /** Whether its connection is closed. */
  get isOver(): boolean {
    return this.#session.destroyed || this.#socket.destroyed;
  }

  /** Whether an earlier request has used it: the service may have closed it in the meantime. */
  get isReused(): boolean {
    return this.#requests > 1;
  }

  /** Counts a stream. */
  reserve(): void {
    this.#streams += 1;
    this.#requests += 1;
    this.#deadlines.delete(this);
  }

  /** The reserved stream is closed, or was not needed. */
  release(): void {
    this.#streams -= 1;
    if (this.#streams === 0 && this.#state === 'open') this.#deadlines.add(this, LOCAL_SESSION_IDLE_MS);
    this.#owner.onRoom();
  }

  /**
   * Sends a request on a reserved stream.
   *
   * @throws the errors of Node's `request`
   */
  request(
    headers: OutgoingHttpHeaders,
    options: { readonly endStream: boolean; readonly waitForTrailers: boolean },
  ): ClientHttp2Stream {
    return this.#session.request(headers, options);
  }

  /**
   * Resets a stream because its visitor is gone. Services end a session that resets too many streams, with the requests
   * of all other visitors, so it is left before that.
   */
  reset(stream: ClientHttp2Stream): void {
    if (stream.closed) return;
    stream.close(CANCEL);
    this.#resets += 1;
    if (this.#resets < LOCAL_SESSION_RESETS_MAX || this.#state !== 'open') return;
    this.#leave();
    this.#session.close();
  }

  /** The service has sent no settings in time, or there was no request for a while. */
  expire(): void {
    this.close();
  }

  /** Closes the connection. After a TLS alert, Node does not close that of a session that it destroys. */
  close(): void {
    this.#session.destroy();
    this.#socket.destroy();
  }

  #onSettings(): void {
    if (this.#state === 'starting') {
      this.#state = 'open';
      this.#deadlines.add(this, LOCAL_SESSION_IDLE_MS);
    }
    this.#owner.onRoom();
  }

  /** Node closes the session after its last request. */
  #leave(): void {
    if (this.#state === 'open') this.#state = 'closing';
  }

  #onClose(): void {
    this.#deadlines.delete(this);
    const failure = this.isStarting ? (this.#alert ?? new LocalFailure('local-not-http2')) : undefined;
    this.#state = 'closing';
    this.#socket.destroy();
    this.#owner.onClosed(this, failure);
  }
}
