/** A connection through a proxy: CONNECT (RFC 9110 section 9.3.6), then TLS inside it if needed. */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { HeadReader, parseResponseHead } from '../../../shared/http1/head.ts';
import { uriHost } from '../../../shared/networks.ts';
import { MessageError, toMessage } from '../messages.ts';
import {
  type Attempt,
  describeNetworkError,
  dial,
  type DialHandler,
  type DialOptions,
  tlsConnectOptions,
} from './dial.ts';

/**
 * Maximum size of the headers in a proxy's response to CONNECT: proxies send a few fields; one that refuses may
 * send more.
 */
const PROXY_HEAD_MAX_BYTES = 16 * 1024;

/** Like {@link dial}, but through a proxy; `options.host` is a name that the proxy looks up. */
export class ProxyDial implements Attempt, DialHandler {
  readonly #proxy: ProxyAddress;
  readonly #options: DialOptions;
  readonly #reader = new HeadReader(PROXY_HEAD_MAX_BYTES);
  readonly #onHeadBytes = (chunk: Buffer): void => this.#push(chunk);
  readonly #onGone = (): void =>
    this.#fail(new MessageError(toMessage('network.proxyClosed', { proxy: this.#proxy.name })));
  #handler: DialHandler | undefined;
  #dial: Attempt | undefined;
  #socket: Socket | undefined;

  /** @param proxyTls set if the proxy itself is reached with TLS */
  constructor(
    proxy: ProxyAddress,
    proxyTls: Pick<DialOptions, 'tls'>,
    options: DialOptions,
    handler: DialHandler,
  ) {
    this.#proxy = proxy;
    this.#options = options;
    this.#handler = handler;
    const { keepAliveMs = 0 } = options;
    this.#dial = dial({ host: proxy.hostname, port: proxy.port, keepAliveMs, ...proxyTls }, this);
  }

  cancel(): void {
    this.#handler = undefined;
    this.#dial?.cancel();
    this.#socket?.destroy();
  }

  connected(socket: Socket): void {
    this.#dial = undefined;
    this.#socket = socket;
    const { host, port } = this.#options;
    const authority = `${uriHost(host)}:${port}`;
    const { authorization } = this.#proxy;
    socket.on('data', this.#onHeadBytes).on('end', this.#onGone).on('close', this.#onGone);
    socket.write(
      `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n` +
        (authorization === undefined ? '' : `Proxy-Authorization: ${authorization}\r\n`) +
        '\r\n',
    );
  }

  failed(error: Error): void {
    this.#fail(
      new MessageError(
        toMessage('network.proxy', { proxy: this.#proxy.name, why: describeNetworkError(error) }),
      ),
    );
  }

  #push(chunk: Buffer): void {
    const socket = this.#socket;
    const end = this.#reader.push(chunk);
    if (socket === undefined || end === undefined) return;
    const head = typeof end === 'string' ? undefined : parseResponseHead(end.head);
    // A page may follow a refusal.
    if (head !== undefined && (head.status < 200 || head.status > 299))
      return this.#fail(this.#refusal(head.status));
    // With both TLS and HTTP, the client speaks first.
    if (head === undefined || typeof end === 'string' || end.rest.length > 0)
      return this.#fail(new MessageError(toMessage('network.noProxy', { proxy: this.#proxy.name })));
    socket.off('data', this.#onHeadBytes).off('end', this.#onGone).off('close', this.#onGone);
    if (this.#options.tls === undefined) this.#finish(socket);
    else this.#secure(socket);
  }

  #refusal(status: number): Error {
    const { name, authorization } = this.#proxy;
    if (status !== 407)
      return new MessageError(
        toMessage('network.proxyRefused', { proxy: name, status, host: this.#options.host }),
      );
    return new MessageError(
      toMessage(authorization === undefined ? 'network.proxyLogin' : 'network.proxyRefusedLogin', {
        proxy: name,
      }),
    );
  }

  #secure(raw: Socket): void {
    const { host, tls } = this.#options;
    if (tls === undefined) return;
    this.#handler?.reached?.();
    const socket = connectTls({ socket: raw, ...tlsConnectOptions(host, tls) });
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', this.#onGone);
    socket.on('secureConnect', () => {
      socket.off('close', this.#onGone);
      this.#finish(socket);
    });
  }

  #finish(socket: Socket): void {
    const handler = this.#handler;
    this.#handler = undefined;
    handler?.connected(socket);
  }

  #fail(error: Error): void {
    const handler = this.#handler;
    if (handler === undefined) return;
    this.cancel();
    handler.failed(error);
  }
}

/** A proxy that supports CONNECT. */
export interface ProxyAddress {
  readonly secure: boolean;
  /** name or IP address to connect to, without the brackets of IPv6 */
  readonly hostname: string;
  readonly port: number;
  /** `host:port`, for people; never the credentials */
  readonly name: string;
  /** value of `Proxy-Authorization` */
  readonly authorization: string | undefined;
}

/** Its login is taken out first: in an address of the web, a backslash of `DOMAIN\user` would be a slash. */
const PROXY_ADDRESS = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(?:([^/?#]*)@)?([^]*)$/i;

/**
 * Reads the address of a proxy; the default scheme is `http://`.
 *
 * @param setting the source of the text, named in errors
 * @throws NetworkSettingError without the text, which may contain a password
 */
export function parseProxyAddress(text: string, setting: string): ProxyAddress {
  const [, scheme = 'http', login, rest = ''] = PROXY_ADDRESS.exec(text) ?? [];
  const url = URL.parse(`${scheme}://${rest}`);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw new NetworkSettingError(
      `${setting} is not a valid proxy address. It must consist of http:// or https://, a host and a port, such as ` +
        'http://proxy.example.com:3128, with user:password@ before the host if the proxy requires a login',
    );
  }
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const hostname = url.hostname.replace(/^\[|\]$/g, '');
  return { secure, hostname, port, name: `${url.hostname}:${port}`, authorization: basic(login) };
}

/** RFC 7617. @param login `user:password`, each percent-encoded */
function basic(login = ''): string | undefined {
  const [, user = '', password = ''] = /^([^:]*):?([^]*)$/.exec(login) ?? [];
  if (user === '' && password === '') return undefined;
  return `Basic ${Buffer.from(`${decode(user)}:${decode(password)}`).toString('base64')}`;
}

/** Text that is not valid percent-encoding is taken literally. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/* How the relay is reached, according to the environment and the command line. */

/** Settings that are missing are not used. */
export interface NetworkSettings {
  /** proxy for relays at `https://`; a URL */
  readonly httpsProxy?: string | undefined;
  /** proxy for relays at `http://`; a URL */
  readonly httpProxy?: string | undefined;
  /** variables that the proxies are from, for messages */
  readonly httpsProxyFrom?: string | undefined;
  readonly httpProxyFrom?: string | undefined;
  /** in the form of `NO_PROXY` */
  readonly noProxy?: string | undefined;
  /** certificates of authorities trusted in addition to the usual ones; PEM */
  readonly ca?: string | undefined;
}

/** A setting that cannot be used. The message names it and what is accepted. */
export class NetworkSettingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NetworkSettingError';
  }
}

/**
 * A variable without the blanks and line breaks around it, and without the quotes that programs keep of files with
 * variables.
 *
 * @returns `undefined` if it is not set, or empty
 */
export function readVariable(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
): string | undefined {
  const value = env[name]?.trim() ?? '';
  const [, , quoted = value] = /^(["'])([^]*)\1$/.exec(value) ?? [];
  return quoted.trim() || undefined;
}

/**
 * Reads `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, with lower-case names first as in curl, and the file
 * of `CULVERT_CA`. Certificates of `NODE_EXTRA_CA_CERTS` are trusted as well.
 *
 * @param caFile path of a PEM file that replaces `CULVERT_CA`
 * @throws NetworkSettingError if the file cannot be used
 */
export function readNetworkSettings(
  env: Readonly<Record<string, string | undefined>>,
  caFile: string | undefined = readVariable(env, 'CULVERT_CA'),
): NetworkSettings {
  const find = (...names: readonly string[]): readonly [value?: string, from?: string] => {
    for (const name of names.flatMap((upper) => [upper.toLowerCase(), upper])) {
      const value = readVariable(env, name);
      if (value !== undefined) return [value, name];
    }
    return [];
  };
  const [httpsProxy, httpsProxyFrom] = find('HTTPS_PROXY', 'ALL_PROXY');
  const [httpProxy, httpProxyFrom] = find('HTTP_PROXY', 'ALL_PROXY');
  const [noProxy] = find('NO_PROXY');
  return {
    httpsProxy,
    httpProxy,
    httpsProxyFrom,
    httpProxyFrom,
    noProxy,
    ca: caFile === undefined || caFile === '' ? undefined : readAuthorities(caFile),
  };
}

function readAuthorities(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'latin1');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new NetworkSettingError(`--ca or CULVERT_CA: "${path}" cannot be read (${code})`);
  }
  // Imported, the class would be loaded when the program starts.
  const { X509Certificate } = process.getBuiltinModule('node:crypto');
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    for (const certificate of certificates) void new X509Certificate(certificate);
    if (certificates.length > 0) return certificates.join('\n');
  } catch {
    // A damaged file is treated like a missing one.
  }
  throw new NetworkSettingError(
    `--ca or CULVERT_CA: "${path}" contains no certificates. It must be a PEM file with -----BEGIN CERTIFICATE-----`,
  );
}
