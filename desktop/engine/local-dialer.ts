import type { Socket } from 'node:net';
import type { Deadlines, Expiring } from './deadlines.ts';
import { type Attempt, dial, type DialHandler } from './dial.ts';
import { LOCAL_CONNECT_TIMEOUT_MS } from './limits.ts';
import { LocalConnection } from './local-connection.ts';

/** Never another host than this machine: a tunnel exposes the port its owner chose and nothing behind it. */
const LOOPBACK = ['127.0.0.1', '::1'] as const;
type Loopback = (typeof LOOPBACK)[number];

/** Told once what became of a dial, never before it has been returned. */
export interface LocalDialHandler {
  connected(local: LocalConnection): void;
  /** Nothing takes connections on the local port. */
  refused(): void;
}

/**
 * Connects to a port of this machine. Some servers listen on IPv4 only, others on IPv6 only; the address that answered
 * last is tried first.
 */
export class LocalDialer {
  readonly port: number;
  readonly #deadlines: Deadlines;
  #preferred: Loopback = LOOPBACK[0];

  constructor(port: number, deadlines: Deadlines) {
    this.port = port;
    this.#deadlines = deadlines;
  }

  /** Opens a connection; each address has {@link LOCAL_CONNECT_TIMEOUT_MS} to take it. */
  connect(handler: LocalDialHandler): Attempt {
    return new LocalDial(this, this.#preferred, this.#deadlines, handler);
  }

  /** Has that address tried first from now on. */
  prefer(host: Loopback): void {
    this.#preferred = host;
  }
}

class LocalDial implements Attempt, DialHandler, Expiring {
  readonly #dialer: LocalDialer;
  readonly #deadlines: Deadlines;
  readonly #handler: LocalDialHandler;
  #host: Loopback;
  #isSecond = false;
  #dial: Attempt;

  constructor(dialer: LocalDialer, host: Loopback, deadlines: Deadlines, handler: LocalDialHandler) {
    this.#dialer = dialer;
    this.#host = host;
    this.#deadlines = deadlines;
    this.#handler = handler;
    this.#dial = this.#start();
  }

  connected(socket: Socket): void {
    if (isConnectedToItself(socket, this.#dialer.port)) {
      socket.destroy();
      this.failed();
      return;
    }
    this.#deadlines.delete(this);
    this.#dialer.prefer(this.#host);
    this.#handler.connected(new LocalConnection(socket));
  }

  failed(): void {
    if (this.#isSecond) {
      this.#deadlines.delete(this);
      this.#handler.refused();
      return;
    }
    this.#isSecond = true;
    this.#host = this.#host === LOOPBACK[0] ? LOOPBACK[1] : LOOPBACK[0];
    this.#dial = this.#start();
  }

  expire(): void {
    this.#dial.cancel();
    this.failed();
  }

  cancel(): void {
    this.#deadlines.delete(this);
    this.#dial.cancel();
  }

  #start(): Attempt {
    this.#deadlines.add(this, LOCAL_CONNECT_TIMEOUT_MS);
    return dial({ host: this.#host, port: this.#dialer.port }, this);
  }
}

/**
 * A port of the ephemeral range that nobody listens on may be given to the very socket that dials it; TCP then
 * connects the socket to itself (simultaneous open, RFC 9293 section 3.5) and it would echo the request.
 */
function isConnectedToItself(socket: Socket, port: number): boolean {
  return socket.localPort === port && socket.localAddress === socket.remoteAddress;
}
