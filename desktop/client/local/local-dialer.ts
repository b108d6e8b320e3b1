import type { Socket } from 'node:net';
import { ScheduledReads } from '../../../shared/scheduler/fair-reads.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import {
  type Attempt,
  dial,
  type DialHandler,
  isLoopbackName,
  isTlsAlert,
  LOOPBACK_ADDRESSES,
  DATA_KEEP_ALIVE_MS,
} from '../network/dial.ts';
import { Http2Connection } from './http2-connection.ts';
import { LocalSessions, type SocketHandler } from './http2-sessions.ts';
import { isRefusal, tlsName } from './local-error.ts';
import {
  type LocalConnection,
  type LocalHandler,
  type LocalTarget,
  usesTls,
  LOCAL_CONNECT_TIMEOUT_MS,
} from './local-service.ts';

/** How often a restarting dev server is dialled until it listens again. */
export const LOCAL_RETRY_MS = 250;

/** Called once with the outcome of a dial, never before the dial has returned. */
export interface LocalDialHandler {
  connected(local: LocalConnection): void;
  /**
   * @param error the first error other than a refusal; if all addresses refused, the last refusal; a `LocalFailure` of
   *   an HTTP/2 service
   */
  refused(error: Error): void;
}

/** Connects to the local service and nothing else. The address that accepted last is tried first. */
export class LocalDialer {
  readonly target: LocalTarget;
  readonly #deadlines: Deadlines;
  /** `undefined` if the service speaks HTTP/1.1 */
  readonly #sessions: LocalSessions | undefined;
  #hosts: readonly string[];

  constructor(target: LocalTarget, deadlines: Deadlines) {
    this.target = target;
    this.#deadlines = deadlines;
    this.#hosts = isLoopbackName(target.host) ? LOOPBACK_ADDRESSES : [target.host];
    if ((target.upstream ?? 'http1') === 'http1') return;
    const connect = (handler: SocketHandler, since: number): Attempt =>
      new LocalDial(this, deadlines, handler, since);
    this.#sessions = new LocalSessions({ target, deadlines, connect });
  }

  /**
   * Opens a connection. Each address has {@link LOCAL_CONNECT_TIMEOUT_MS} to accept it. If all refuse, they are tried
   * again every {@link LOCAL_RETRY_MS}, for as long as the target waits. A connection to an HTTP/2 service
   * shares an existing session that has room, if there is one.
   */
  connect(handler: LocalDialHandler): Attempt {
    const sessions = this.#sessions;
    if (sessions !== undefined)
      return sessions.acquire({
        acquired: (session) => handler.connected(new Http2Connection(sessions, this.target, session)),
        refused: (error) => handler.refused(error),
      });
    const { waitMs } = this.target;
    const socketHandler: SocketHandler = {
      connected: (socket) => handler.connected(new LocalSocket(socket)),
      refused: (error) => handler.refused(error),
    };
    return new LocalDial(this, this.#deadlines, socketHandler, waitMs === 0 ? 0 : this.#deadlines.now());
  }

  /** Closes HTTP/2 connections that serve no request. */
  closeIdle(): void {
    this.#sessions?.closeIdle();
  }

  /** The addresses in the order of the tries. */
  get hosts(): readonly string[] {
    return this.#hosts;
  }

  /** Makes that address the first to try from now on. */
  prefer(host: string): void {
    if (host === this.#hosts[0]) return;
    this.#hosts = [host, ...this.#hosts.filter((other) => other !== host)];
  }
}

class LocalDial implements Attempt, DialHandler, Expiring {
  readonly #dialer: LocalDialer;
  readonly #deadlines: Deadlines;
  readonly #handler: SocketHandler;
  readonly #startedAt: number;
  #hosts: readonly string[];
  /** index of the address being tried */
  #at = 0;
  #error: Error | undefined;
  /** `undefined` between two rounds */
  #dial: Attempt | undefined;

  /** @param startedAt when the wait of the target began, in monotonic ms */
  constructor(dialer: LocalDialer, deadlines: Deadlines, handler: SocketHandler, startedAt: number) {
    this.#dialer = dialer;
    this.#deadlines = deadlines;
    this.#handler = handler;
    this.#startedAt = startedAt;
    this.#hosts = dialer.hosts;
    this.#start();
  }

  connected(socket: Socket): void {
    if (isConnectedToItself(socket, this.#dialer.target.port)) {
      socket.destroy();
      this.failed(refusal('connected to itself'));
      return;
    }
    this.#deadlines.delete(this);
    this.#dialer.prefer(this.#host);
    this.#handler.connected(socket);
  }

  failed(failure: Error): void {
    const error = withoutAddress(failure, this.#host);
    if (this.#error === undefined || isRefusal(this.#error)) this.#error = error;
    this.#at += 1;
    if (this.#at < this.#hosts.length) this.#start();
    else if (isRefusal(this.#error) && this.#isPatient) this.#pause();
    else this.#giveUp(this.#error);
  }

  expire(): void {
    if (this.#dial === undefined) {
      this.#hosts = this.#dialer.hosts;
      this.#at = 0;
      this.#error = undefined;
      this.#start();
    } else {
      this.#dial.cancel();
      this.failed(Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' }));
    }
  }

  cancel(): void {
    this.#deadlines.delete(this);
    this.#dial?.cancel();
  }

  get #host(): string {
    return this.#hosts[this.#at] ?? '';
  }

  get #isPatient(): boolean {
    const { waitMs } = this.#dialer.target;
    return waitMs > 0 && this.#deadlines.now() - this.#startedAt < waitMs;
  }

  #start(): void {
    const { target } = this.#dialer;
    const { port, upstream = 'http1' } = target;
    this.#deadlines.add(this, LOCAL_CONNECT_TIMEOUT_MS);
    const protocol = upstream === 'http1' ? {} : { protocol: 'h2' };
    const tls = usesTls(target)
      ? { tls: { serverName: tlsName(target), trustsLoopback: true, ...protocol } }
      : {};
    // Such connections are kept for long, so a machine that is gone has to be noticed.
    const isLong = upstream !== 'http1' || target.raw !== undefined;
    const probes = isLong ? { keepAliveMs: DATA_KEEP_ALIVE_MS } : {};
    this.#dial = dial({ host: this.#host, port, ...tls, ...probes }, this);
  }

  #pause(): void {
    this.#dial = undefined;
    this.#deadlines.add(this, LOCAL_RETRY_MS);
  }

  #giveUp(error: Error): void {
    this.#deadlines.delete(this);
    this.#handler.refused(error);
  }
}

/** Without IPv6, nothing can listen on `::1`. The error depends on the system. */
const NO_ADDRESS = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENETUNREACH']);

/** @returns the error as a refusal, if this machine does not have that address of its own */
function withoutAddress(error: NodeJS.ErrnoException, host: string): Error {
  if (host !== '::1' || !NO_ADDRESS.has(error.code ?? '')) return error;
  return refusal(error.message);
}

function refusal(message: string): Error {
  return Object.assign(new Error(message), { code: 'ECONNREFUSED' });
}

/**
 * The system may assign an unused port of the ephemeral range to the very socket that dials it. TCP then connects the
 * socket to itself (simultaneous open, RFC 9293 section 3.5), which would echo the request.
 */
function isConnectedToItself(socket: Socket, port: number): boolean {
  return socket.localPort === port && socket.localAddress === socket.remoteAddress;
}

/** A connection to a service that speaks HTTP/1.1. */
class LocalSocket implements LocalConnection {
  readonly #socket: Socket;
  #handler: LocalHandler | undefined;
  /** the alert with which the service has ended the connection: in TLS 1.3, it may come after the handshake */
  #alert: Error | undefined;
  /** set once the flow has started: large reads share the event loop fairly with other visitors */
  #reads: ScheduledReads | undefined;
  #wasReset = false;

  /** @param socket connected, without a `data` listener, half-open allowed, with an `error` listener */
  constructor(socket: Socket) {
    this.#socket = socket;
    readToReset(socket, () => (this.#wasReset = true));
  }

  get isOpen(): boolean {
    const socket = this.#socket;
    return !socket.destroyed && !this.#wasReset && socket.writable && !socket.readableEnded;
  }

  get isQuiet(): boolean {
    return this.#reads === undefined ? !this.#socket.isPaused() : !this.#reads.isPaused && !this.#reads.holds;
  }

  attach(handler: LocalHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (!isFirst) return;
    const socket = this.#socket;
    socket.on('drain', () => this.#handler?.onLocalDrain());
    const reads = new ScheduledReads(socket, () => this, {
      onChunk: (chunk) => this.#handler?.onLocalData(chunk),
      // Nobody knows whether the service had more to send.
      onEnd: () => (this.#wasReset ? socket.destroy() : this.#handler?.onLocalEnd()),
    });
    this.#reads = reads;
    socket.on('error', (error) => {
      if (isTlsAlert(error)) this.#alert = error;
    });
    socket.on('close', () => {
      reads.flush();
      // A closed socket is garbage-collected late, and would keep its listeners alive.
      socket.removeAllListeners();
      this.#handler?.onLocalClose(this.#alert);
    });
  }

  write(chunk: Buffer): boolean {
    return !this.#socket.writable || this.#socket.write(chunk);
  }

  pause(): void {
    (this.#reads ?? this.#socket).pause();
  }

  resume(): void {
    (this.#reads ?? this.#socket).resume();
  }

  end(): void {
    this.#socket.end();
  }

  destroy(resets = false): void {
    if (resets) this.#socket.resetAndDestroy();
    else this.#socket.destroy();
  }
}

/**
 * A service may respond before it has read the whole request, and close the connection, which the system then resets.
 * Node drops what was received before when a write fails, or when it reads the reset. Here, a reset ends the data that
 * can be read, and discards what is written.
 *
 * @param onReset called when the connection is reset
 */
function readToReset(socket: Socket, onReset: () => void): void {
  let isReset = false;
  const note = (error: NodeJS.ErrnoException | null | undefined): boolean => {
    if (error?.code !== 'ECONNRESET' && error?.code !== 'EPIPE') return false;
    isReset = true;
    onReset();
    return true;
  };
  const forgive =
    (done: WriteDone): WriteDone =>
    (error) =>
      done(note(error) ? null : error);
  const write = socket._write.bind(socket);
  const writeAll = socket._writev?.bind(socket);
  const destroy = socket.destroy.bind(socket);
  socket._write = (chunk, encoding, done) => (isReset ? done() : write(chunk, encoding, forgive(done)));
  if (writeAll !== undefined)
    socket._writev = (chunks, done) => (isReset ? done() : writeAll(chunks, forgive(done)));
  socket.destroy = (error) => {
    if (!note(error) || socket.readableEnded) return destroy(error);
    socket.push(null);
    // Reports the end if nothing was left to read.
    socket.read(0);
    return socket;
  };
}

type WriteDone = (error?: Error | null) => void;
