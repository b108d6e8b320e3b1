import type { LookupAddress, LookupOptions } from 'node:dns';
import { connect, isIP, isIPv4, type LookupFunction, type NetConnectOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type SecureContext, TLSSocket } from 'node:tls';
import { MessageError, toMessage, type MessageValue, type MessageCode } from '../messages.ts';

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
    this.#socket.on('close', () => this.#take()?.failed(new MessageError(toMessage('network.closed'))));
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
  const isLocal = /^(?:127\.|::1$|::ffff:127\.)/.test(socket.remoteAddress ?? '');
  return socket.authorized || isLocal ? undefined : socket.authorizationError;
}

/* Errors of connections, told in plain words. */

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
  ERR_TLS_CERT_ALTNAME_INVALID: 'network.otherName',
  ERR_SSL_WRONG_VERSION_NUMBER: 'network.noTls',
  CERT_HAS_EXPIRED: 'network.certificateExpired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'network.untrusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'network.untrusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'network.untrusted',
};

const OFFLINE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
]);

/** Whether an error of a connection says that this machine has no network, or none that leads there. */
export function isOffline(error: Error): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code !== undefined && OFFLINE.has(code);
}

/** Says in plain words what a network error means; a fetch error hides it in its causes. */
export function describeNetworkError(error: unknown): MessageValue {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return toMessage('network.silent');
  const { code } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : NETWORK_ERRORS[code];
  if (known !== undefined) return toMessage(known);
  if (error.cause instanceof Error) return describeNetworkError(error.cause);
  if (error instanceof MessageError) return error.said;
  return error.message === '' ? (code ?? error.name) : error.message;
}

/**
 * Whether an address is plainly one of this machine. Such an address is never reached through a proxy, and nothing sent to
 * it crosses a network.
 *
 * @param host name or IP address, without brackets
 */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.');
  return /^(?:(?:.+\.)?localhost|::1|::ffff:127\..+)$/i.test(host);
}

/** Where names of this machine lead; some services listen on IPv4 only, others on IPv6 only. */
export const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'] as const;

/** Whether it is a name for which {@link isLoopback} is true: a resolver must not be asked where it leads (RFC 6761 section 6.3). */
export function isLoopbackName(host: string): boolean {
  return isIP(host) === 0 && isLoopback(host);
}

/**
 * The `lookup` of a connection to a host.
 *
 * @returns `undefined` where the system is to look the name up
 */
export function lookupFor(host: string): LookupFunction | undefined {
  return isLoopbackName(host) ? lookupLoopback : undefined;
}

const lookupLoopback: LookupFunction = (_host, options: LookupOptions, callback) => {
  const { family, all = false } = options;
  const found: LookupAddress[] = LOOPBACK_ADDRESSES.map((address) => ({ address, family: isIP(address) }));
  const fitting = found.filter((one) => ![4, 6].includes(Number(family)) || one.family === Number(family));
  // A connection is not expected to be told before `lookup` has returned.
  process.nextTick(() => {
    if (all) callback(null, fitting);
    else callback(null, fitting[0]?.address ?? LOOPBACK_ADDRESSES[0], fitting[0]?.family);
  });
};
