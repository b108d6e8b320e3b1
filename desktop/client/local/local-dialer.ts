import type { Socket } from 'node:net';
import { ScheduledReads } from '../../../shared/scheduler/fair-reads.ts';
import type { Deadlines, Expiring } from '../clock.ts';
import { LOCAL_CONNECT_TIMEOUT_MS, LOCAL_RETRY_MS } from '../limits.ts';
import { type Attempt, dial, type DialHandler, isLoopbackName, LOOPBACK_ADDRESSES } from '../network/dial.ts';

/** Called once with the outcome of a dial, never before the dial has returned. */
export interface LocalDialHandler {
  connected(local: LocalConnection): void;
  /** @param error the first error other than a refusal; if all addresses refused, the last refusal */
  refused(error: Error): void;
}

/** Connects to the local service and nothing else. The address that accepted last is tried first. */
export class LocalDialer {
  readonly target: LocalTarget;
  readonly #deadlines: Deadlines;
  #hosts: readonly string[];

  constructor(target: LocalTarget, deadlines: Deadlines) {
    this.target = target;
    this.#deadlines = deadlines;
    this.#hosts = isLoopbackName(target.host) ? LOOPBACK_ADDRESSES : [target.host];
  }

  /**
   * Opens a connection. Each address has {@link LOCAL_CONNECT_TIMEOUT_MS} to accept it. If all refuse, they are tried
   * again every {@link LOCAL_RETRY_MS}, for as long as the target waits.
   */
  connect(handler: LocalDialHandler): Attempt {
    return new LocalDial(this, this.#deadlines, handler);
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
  readonly #handler: LocalDialHandler;
  readonly #startedAt: number;
  #hosts: readonly string[];
  /** index of the address being tried */
  #at = 0;
  #error: Error | undefined;
  /** `undefined` between two rounds */
  #dial: Attempt | undefined;

  constructor(dialer: LocalDialer, deadlines: Deadlines, handler: LocalDialHandler) {
    this.#dialer = dialer;
    this.#deadlines = deadlines;
    this.#handler = handler;
    this.#startedAt = dialer.target.waitMs === 0 ? 0 : deadlines.now();
    this.#hosts = dialer.hosts;
    this.#start();
  }

  connected(socket: Socket): void {
    if (isConnectedToItself(socket, this.#dialer.target.port)) {
      socket.destroy();
      this.failed(new Error('the connection was closed'));
      return;
    }
    this.#deadlines.delete(this);
    this.#dialer.prefer(this.#host);
    this.#handler.connected(new LocalConnection(socket));
  }

  failed(error: Error): void {
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
    const { host, port, https } = this.#dialer.target;
    this.#deadlines.add(this, LOCAL_CONNECT_TIMEOUT_MS);
    const tls = https ? { tls: { serverName: host, trustsLoopback: true } } : {};
    this.#dial = dial({ host: this.#host, port, ...tls }, this);
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

/** Whether nothing listens, as while a service restarts. */
function isRefusal(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED' || error.code === 'EADDRNOTAVAIL';
}

/**
 * The system may assign an unused port of the ephemeral range to the very socket that dials it. TCP then connects the
 * socket to itself (simultaneous open, RFC 9293 section 3.5), which would echo the request.
 */
function isConnectedToItself(socket: Socket, port: number): boolean {
  return socket.localPort === port && socket.localAddress === socket.remoteAddress;
}

/** The current holder of a local connection. */
export interface LocalHandler {
  /** The bytes belong to the handler. */
  onLocalData(chunk: Buffer): void;
  /** Queued data was handed to the system. Called only after a `write` that returned `false`. */
  onLocalDrain(): void;
  /** The service has sent everything. */
  onLocalEnd(): void;
  /** The connection is closed, by either side. Called once. */
  onLocalClose(): void;
}

/** A connection to the local service, passed from one holder to the next. */
export class LocalConnection {
  readonly #socket: Socket;
  #handler: LocalHandler | undefined;
  /** set once the flow has started: large reads share the event loop fairly with other visitors */
  #reads: ScheduledReads | undefined;

  /** @param socket connected, without a `data` listener, half-open allowed, with an `error` listener */
  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Whether it can carry bytes both ways. */
  get isOpen(): boolean {
    const socket = this.#socket;
    return !socket.destroyed && socket.writable && !socket.readableEnded;
  }

  /** Whether everything known to have arrived was passed to its holder. */
  get isQuiet(): boolean {
    return this.#reads === undefined ? !this.#socket.isPaused() : !this.#reads.isPaused && !this.#reads.holds;
  }

  /** Starts the flow, or passes it to another handler. Only an open connection reports its end. */
  attach(handler: LocalHandler): void {
    const isFirst = this.#handler === undefined;
    this.#handler = handler;
    if (!isFirst) return;
    const socket = this.#socket;
    socket.on('drain', () => this.#handler?.onLocalDrain());
    const reads = new ScheduledReads(socket, () => this, {
      onChunk: (chunk) => this.#handler?.onLocalData(chunk),
      onEnd: () => this.#handler?.onLocalEnd(),
    });
    this.#reads = reads;
    socket.on('close', () => {
      reads.flush();
      // A closed socket is garbage-collected late, and would keep its listeners alive.
      socket.removeAllListeners();
      this.#handler?.onLocalClose();
    });
  }

  /** @returns `false` if too much is queued: wait for `onLocalDrain` */
  write(chunk: Buffer): boolean {
    return !this.#socket.writable || this.#socket.write(chunk);
  }

  pause(): void {
    (this.#reads ?? this.#socket).pause();
  }

  resume(): void {
    (this.#reads ?? this.#socket).resume();
  }

  /** Half-closes the connection after the data written so far. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/** The only local service that a tunnel forwards to. */
export interface LocalTarget {
  /** name or IP address; `localhost` is 127.0.0.1 or ::1, whichever accepts connections */
  readonly host: string;
  readonly port: number;
  /** whether it speaks TLS; a certificate that no authority signed is accepted from loopback addresses only */
  readonly https: boolean;
  /**
   * ms to wait for a service that refuses connections, for example while it restarts; 0: visitors get an error
   * immediately
   */
  readonly waitMs: number;
}

/** The default target of `culvert http PORT`. */
export function localPort(port: number): LocalTarget {
  return { host: 'localhost', port, https: false, waitMs: 0 };
}

/** Names the service in a sentence for people: `port 3000`, or `nas:3000` on another host. */
export function describeTarget({ host, port }: LocalTarget): string {
  return host === 'localhost' ? `port ${port}` : `${host}:${port}`;
}
