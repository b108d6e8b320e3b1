import type { Socket } from 'node:net';
import type { Deadlines, Expiring } from '../deadlines.ts';
import { LOCAL_CONNECT_TIMEOUT_MS, LOCAL_RETRY_MS } from '../limits.ts';
import { type Attempt, dial, type DialHandler } from '../network/dial.ts';
import { isLoopbackName, LOOPBACK_ADDRESSES } from '../network/loopback.ts';
import { LocalConnection } from './local-connection.ts';
import type { LocalTarget } from './local-target.ts';

/** Told once what became of a dial, never before it has been returned. */
export interface LocalDialHandler {
  connected(local: LocalConnection): void;
  /** @param error what the last address that did more than refuse has reported */
  refused(error: Error): void;
}

/** Connects to the local service, never anywhere else; the address that accepted last is tried first. */
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
   * Opens a connection. Each address has {@link LOCAL_CONNECT_TIMEOUT_MS} to accept it; if all refuse, they are tried again
   * every {@link LOCAL_RETRY_MS} for as long as the target says.
   */
  connect(handler: LocalDialHandler): Attempt {
    return new LocalDial(this, this.#deadlines, handler);
  }

  /** Addresses in the order in which they are to be tried. */
  get hosts(): readonly string[] {
    return this.#hosts;
  }

  /** Makes that address the first to be tried from now on. */
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
  /** which of the addresses is being tried */
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

/** Whether nobody listens, as while a service restarts. */
function isRefusal(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNREFUSED' || error.code === 'EADDRNOTAVAIL';
}

/**
 * A port of the ephemeral range that nobody listens on may be given to the very socket that dials it; TCP then
 * connects the socket to itself (simultaneous open, RFC 9293 section 3.5) and it would echo the request.
 */
function isConnectedToItself(socket: Socket, port: number): boolean {
  return socket.localPort === port && socket.localAddress === socket.remoteAddress;
}
