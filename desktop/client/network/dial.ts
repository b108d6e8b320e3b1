import type { LookupAddress, LookupOptions } from 'node:dns';
import { connect, isIP, isIPv4, type LookupFunction, type NetConnectOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type SecureContext, type TLSSocket } from 'node:tls';
import { type Clock, ProcessHold, type Timer } from '../clock.ts';
import { type MessageCode, MessageError, type MessageValue, toMessage } from '../messages.ts';

/**
 * How long a connection may be silent before TCP probes whether the relay is still reachable, because routers
 * drop connections that are idle for minutes, such as a quiet WebSocket.
 */
export const DATA_KEEP_ALIVE_MS = 30_000;
/**
 * Delay before each of the first two further attempts to connect to the relay, while no connection opens: TCP
 * repeats a lost packet after longer and longer pauses, but a new connection sends a new packet immediately.
 */
const REDIAL_QUICK_MS = 1000;
/**
 * Milliseconds between later attempts to connect to the relay: the client notices a restored line at most this much later.
 */
const REDIAL_MS = 2000;
/**
 * Random share of the delay between two attempts to connect, so that the clients of a relay do not connect at
 * the same time.
 */
const REDIAL_JITTER = 0.25;
/**
 * Maximum number of attempts to connect that are in progress at the same time. A further attempt replaces the
 * oldest, for which TCP repeats packets least often.
 */
const REDIALS_MAX = 4;

export interface DialOptions {
  /** name or IP address */
  readonly host: string;
  readonly port: number;
  readonly tls?: TlsOptions;
  /** ms of idleness after which TCP probes the peer; by default never */
  readonly keepAliveMs?: number;
}

interface TlsOptions {
  /** the name the certificate must be valid for */
  readonly serverName: string;
  /** accepts any certificate from a loopback address, where interception is impossible */
  readonly trustsLoopback?: boolean;
  /** trusted authorities, if not only the usual ones */
  readonly secureContext?: SecureContext | undefined;
  /** the ALPN name of the protocol; by default `http/1.1` */
  readonly protocol?: string;
}

/** An operation under way. Once cancelled, it makes no more callbacks. */
export interface Attempt {
  cancel(): void;
}

/** Called once with the outcome of a dial, never before {@link dial} has returned. */
export interface DialHandler extends OpenHandler<Socket> {
  /**
   * @param socket flows once it has a `data` listener, does not end by itself when the peer ends, and has an `error`
   *   listener: `close` reports its end
   */
  connected(socket: Socket): void;
}

/** Called once with the outcome of an attempt to open something. */
export interface OpenHandler<T> {
  connected(opened: T): void;
  /** @param error the error of the socket */
  failed(error: Error): void;
  /** The peer has accepted the connection, which still has to be secured or used. Called at most once. */
  reached?(): void;
}

/** Opens a TCP or TLS connection. The caller limits the time. */
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
    this.#socket.on('close', () => this.#take()?.failed(new MessageError(toMessage('network.closed'))));
    this.#socket.on(options.tls === undefined ? 'connect' : 'secureConnect', () => this.#onConnect());
    if (options.tls !== undefined) this.#socket.on('connect', () => this.#handler?.reached?.());
  }

  cancel(): void {
    if (this.#take() !== undefined) this.#socket.destroy();
  }

  #onConnect(): void {
    const socket = this.#socket;
    const error = isEncrypted(socket) ? distrust(socket) : undefined;
    if (error === undefined) this.#take()?.connected(socket);
    else socket.destroy(error);
  }

  #take(): DialHandler | undefined {
    const handler = this.#handler;
    this.#handler = undefined;
    return handler;
  }
}

interface RedialOptions<T> {
  readonly clock: Clock;
  /** from 0 up to 1, as `Math.random` */
  readonly random: () => number;
  /** Begins one attempt; `index` is 0 for the first one, and then ascends. */
  readonly open: (index: number, handler: OpenHandler<T>) => Attempt;
}

/**
 * Opens something over a line that may be cut, and tries again at intervals while none opens: after a cut, TCP lets an
 * earlier attempt wait much longer than the cut lasted. The first that opens, or whose peer refuses, decides; the
 * others are dropped. No attempt follows one that has reached its peer, since more handshakes would only burden a busy
 * one. The caller limits the time.
 */
export function dialAgain<T>(options: RedialOptions<T>, handler: OpenHandler<T>): Attempt {
  return new Redial(options, handler);
}

class Redial<T> implements Attempt {
  readonly #options: RedialOptions<T>;
  #handler: OpenHandler<T> | undefined;
  /** those under way, oldest first */
  readonly #dials = new Set<Attempt>();
  #count = 0;
  #timer: Timer | undefined;
  #hasReached = false;

  constructor(options: RedialOptions<T>, handler: OpenHandler<T>) {
    this.#options = options;
    this.#handler = handler;
    this.#dial();
  }

  cancel(): void {
    this.#take();
  }

  #dial(): void {
    const { open, clock, random } = this.#options;
    for (const oldest of this.#dials) {
      if (this.#dials.size < REDIALS_MAX) break;
      this.#dials.delete(oldest);
      oldest.cancel();
    }
    const attempt = open(this.#count, {
      connected: (opened) => {
        this.#dials.delete(attempt);
        this.#take()?.connected(opened);
      },
      failed: (error) => {
        this.#dials.delete(attempt);
        if (!this.#mayPass(error)) this.#take()?.failed(error);
      },
      reached: () => {
        this.#hasReached = true;
        this.#timer?.cancel();
        this.#handler?.reached?.();
      },
    });
    this.#dials.add(attempt);
    const wait = this.#count < 2 ? REDIAL_QUICK_MS : REDIAL_MS;
    this.#count += 1;
    this.#timer = clock.setTimeout(() => this.#dial(), wait * (1 - REDIAL_JITTER * random()));
  }

  /** Whether the failure says nothing about the peer, and another dial may succeed. */
  #mayPass(error: Error): boolean {
    const { code = '' } = error as NodeJS.ErrnoException;
    return !this.#hasReached && (code === 'ETIMEDOUT' || (code === 'EAI_AGAIN' && this.#dials.size > 0));
  }

  #take(): OpenHandler<T> | undefined {
    const handler = this.#handler;
    this.#handler = undefined;
    this.#timer?.cancel();
    for (const attempt of this.#dials) attempt.cancel();
    this.#dials.clear();
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
  const socket =
    tls === undefined ? connect(options) : connectTls({ ...options, ...tlsConnectOptions(host, tls) });
  ProcessHold.current?.addSocket(socket);
  return socket;
}

/** @param host name or IP address of the connection */
export function tlsConnectOptions(
  host: string,
  { serverName, trustsLoopback = false, secureContext, protocol = 'http/1.1' }: TlsOptions,
): ConnectionOptions {
  return {
    host,
    ALPNProtocols: [protocol],
    rejectUnauthorized: !trustsLoopback,
    // SNI carries no IP address (RFC 6066 section 3); the certificate is then checked against `host`.
    ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
    ...(secureContext === undefined ? {} : { secureContext }),
  };
}

/** Unlike a class that is imported, this does not load TLS when the program starts. */
function isEncrypted(socket: Socket): socket is TLSSocket {
  return 'encrypted' in socket;
}

/** Why the certificate is not accepted. Without `trustsLoopback`, Node has already checked it. */
function distrust(socket: TLSSocket): Error | undefined {
  const isLocal = /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
  return socket.authorized || isLocal ? undefined : socket.authorizationError;
}

/* Describes connection errors in plain words. */

const NETWORK_ERRORS: Readonly<Record<string, MessageCode>> = {
  ECONNREFUSED: 'network.refused',
  ECONNRESET: 'network.reset',
  EPIPE: 'network.closed',
  UND_ERR_SOCKET: 'network.closed',
  ENOTFOUND: 'network.noHost',
  EAI_AGAIN: 'network.notLookedUp',
  EHOSTUNREACH: 'network.hostUnreachable',
  EADDRNOTAVAIL: 'network.unreachable',
  ENETDOWN: 'network.down',
  ENETUNREACH: 'network.unreachable',
  ETIMEDOUT: 'network.silent',
  EACCES: 'network.forbidden',
  EPERM: 'network.forbidden',
  EMFILE: 'network.noFiles',
  ENFILE: 'network.noFilesLeft',
  ERR_TLS_CERT_ALTNAME_INVALID: 'network.otherName',
  ERR_SSL_WRONG_VERSION_NUMBER: 'network.noTls',
  CERT_HAS_EXPIRED: 'network.certificateExpired',
  CERT_NOT_YET_VALID: 'network.certificateEarly',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'network.untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'network.untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'network.untrusted',
};

/** How the peer ends a handshake (RFC 8446 section 6), in the words of OpenSSL. */
const TLS_ALERT = /^ERR_SSL_(?:SSL\/TLS|SSLV3|TLSV1|TLSV13)_(?:ALERT_)?(.+)$/;

/** Whether the peer has ended the TLS connection with an alert. */
export function isTlsAlert({ code = '' }: NodeJS.ErrnoException): boolean {
  return TLS_ALERT.test(code);
}

const OFFLINE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
]);

/** Whether an error of a connection means that this machine has no network, or no route there. */
export function isOffline(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && OFFLINE.has(code);
}

/** Describes a network error in plain words. A fetch error hides it in its causes. */
export function describeNetworkError(error: unknown): MessageValue {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return toMessage('network.silent');
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : NETWORK_ERRORS[code];
  if (known !== undefined) return toMessage(known);
  const alert = code === undefined ? undefined : TLS_ALERT.exec(code)?.[1];
  if (alert !== undefined)
    return toMessage('network.tlsRefused', { alert: alert.toLowerCase().replaceAll('_', ' ') });
  if (error.cause instanceof Error) return describeNetworkError(error.cause);
  if (error instanceof MessageError) return error.said;
  return error.message === '' ? (code ?? error.name) : error.message;
}

/**
 * Whether an address clearly belongs to this machine. Such an address is never reached through a proxy, and nothing
 * sent to it crosses a network.
 *
 * @param host name or IP address, without brackets
 */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.');
  return /^(?:(?:.+\.)?localhost|::1|::ffff:127\..+)$/i.test(host);
}

/** The addresses of this machine's names; some services listen only on IPv4, others only on IPv6. */
export const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'] as const;

/** Whether {@link isLoopback} is true for a name, which must not be resolved (RFC 6761 section 6.3). */
export function isLoopbackName(host: string): boolean {
  return isIP(host) === 0 && isLoopback(host);
}

/**
 * The `lookup` of a connection to a host.
 *
 * @returns `undefined` if the system should look up the name
 */
export function lookupFor(host: string): LookupFunction | undefined {
  return isLoopbackName(host) ? lookupLoopback : undefined;
}

const lookupLoopback: LookupFunction = (_host, options: LookupOptions, callback) => {
  const { family, all = false } = options;
  const found: LookupAddress[] = LOOPBACK_ADDRESSES.map((address) => ({ address, family: isIP(address) }));
  const fitting = found.filter((one) => ![4, 6].includes(Number(family)) || one.family === Number(family));
  // Callers do not expect a result before `lookup` has returned.
  process.nextTick(() => {
    if (all) callback(null, fitting);
    else callback(null, fitting[0]?.address ?? LOOPBACK_ADDRESSES[0], fitting[0]?.family);
  });
};
