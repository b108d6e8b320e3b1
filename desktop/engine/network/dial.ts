import { connect, isIP, type NetConnectOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type SecureContext, TLSSocket } from 'node:tls';
import { say, SaidError } from '../said/said.ts';
import { lookupFor } from './loopback.ts';

export interface DialOptions {
  /** name or IP address */
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsOptions;
  /** ms of idleness after which TCP probes whether the peer is still there; without it, never */
  readonly keepAliveMs?: number;
}

export interface TlsOptions {
  /** the name the certificate must be valid for */
  readonly serverName: string;
  /** accepts any certificate from a loopback address, where nobody can be in between */
  readonly trustsLoopback?: boolean;
  /** which authorities to trust, where it is not only the usual ones */
  readonly secureContext?: SecureContext | undefined;
}

/** An operation under way. Once it is cancelled, nobody hears of it again. */
export interface Attempt {
  cancel(): void;
}

/** Told once what became of a dial, never before {@link dial} has returned. */
export interface DialHandler {
  /**
   * @param socket flows as soon as somebody listens to its data, does not end by itself when the peer ends, and has an
   *   `error` listener: `close` tells of its end
   */
  connected(socket: Socket): void;
  /** @param error what the socket reports */
  failed(error: Error): void;
}

/** Opens a TCP or TLS connection. How long that may take is for the caller to limit. */
export function dial(options: DialOptions, handler: DialHandler): Attempt {
  return new Dial(options, handler);
}

class Dial implements Attempt {
  readonly #socket: Socket;
  #handler: DialHandler | undefined;

  constructor(options: DialOptions, handler: DialHandler) {
    this.#handler = handler;
    this.#socket = openSocket(options);
    this.#socket.on('error', (error) => this.#take()?.failed(error));
    this.#socket.on('close', () => this.#take()?.failed(new SaidError(say('network.closed'))));
    this.#socket.on(options.tls === undefined ? 'connect' : 'secureConnect', () => this.#onConnect());
  }

  cancel(): void {
    if (this.#take() !== undefined) this.#socket.destroy();
  }

  #onConnect(): void {
    const socket = this.#socket;
    const error = socket instanceof TLSSocket ? distrust(socket) : undefined;
    if (error === undefined) this.#take()?.connected(socket);
    else socket.destroy(error);
  }

  #take(): DialHandler | undefined {
    const handler = this.#handler;
    this.#handler = undefined;
    return handler;
  }
}

function openSocket({ host, port, tls, keepAliveMs = 0 }: DialOptions): Socket {
  const options: NetConnectOpts = {
    host,
    port,
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: keepAliveMs > 0,
    keepAliveInitialDelay: keepAliveMs,
    lookup: lookupFor(host),
  };
  return tls === undefined ? connect(options) : connectTls({ ...options, ...tlsConnectOptions(host, tls) });
}

/** @param host name or IP address that is connected to */
export function tlsConnectOptions(
  host: string,
  { serverName, trustsLoopback = false, secureContext }: TlsOptions,
): ConnectionOptions {
  return {
    host,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: !trustsLoopback,
    // SNI carries no IP address (RFC 6066 section 3); the certificate is checked against `host` then.
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    ...(secureContext === undefined ? {} : { secureContext }),
  };
}

/** Why the certificate is not accepted; without `trustsLoopback`, the system has already checked it. */
function distrust(socket: TLSSocket): Error | undefined {
  const isLoopback = /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
  return socket.authorized || isLoopback ? undefined : socket.authorizationError;
}
