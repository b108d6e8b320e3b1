import { existsSync, readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import { MessageError, toMessage } from '../messages.ts';
import { type Attempt, dial, type DialHandler, type DialOptions, isLoopback } from './dial.ts';
import { type NetworkSettings, parseProxyAddress, type ProxyAddress, ProxyDial } from './proxy-dial.ts';

/** A server to reach over the network. */
export interface Endpoint {
  readonly secure: boolean;
  /** name or IP address to connect to, without the brackets of IPv6 */
  readonly hostname: string;
  readonly port: number;
  /** value of the `Host` field */
  readonly host: string;
}

/** How a relay is reached, directly or through a proxy; shared by the API, control sockets and data sockets. */
export class Network {
  readonly #settings: NetworkSettings;
  readonly #isDirect: (host: string, port: number) => boolean;
  /** the authorities that servers are trusted by; `undefined` for the usual ones */
  readonly trusted: SecureContext | undefined;

  constructor(settings: NetworkSettings = {}) {
    const { noProxy = '', ca } = settings;
    this.#settings = settings;
    this.#isDirect = parseNoProxy(noProxy);
    this.trusted = ca === undefined ? undefined : createSecureContext({ ca: [...usualAuthorities(), ca] });
  }

  /**
   * `host:port` of the proxy for that relay; `undefined` without one.
   *
   * @throws NetworkSettingError if the setting that names the proxy cannot be used
   */
  proxyFor(relay: Endpoint): string | undefined {
    return this.#proxy(relay)?.name;
  }

  /**
   * Connects to a relay. The caller limits the time.
   *
   * @param options.address an IP address of the relay to use instead of its name; ignored with a proxy
   * @param options.keepAliveMs as for {@link dial}
   */
  connect(
    relay: Endpoint,
    options: { readonly address?: string | undefined; readonly keepAliveMs?: number },
    handler: DialHandler,
  ): Attempt {
    const { hostname, port, secure } = relay;
    let proxy: ProxyAddress | undefined;
    try {
      proxy = this.#proxy(relay);
    } catch (error) {
      return failLater(error as Error, handler);
    }
    const { address = hostname, keepAliveMs = 0 } = options;
    const host = proxy === undefined ? address : hostname;
    const wanted: DialOptions = { host, port, keepAliveMs, ...(secure ? this.#tls(hostname) : {}) };
    if (proxy === undefined) return dial(wanted, handler);
    return new ProxyDial(proxy, proxy.secure ? this.#tls(proxy.hostname) : {}, wanted, handler);
  }

  /** A proxy that is not used may be of a kind that cannot be used. @throws NetworkSettingError */
  #proxy({ hostname, port, secure }: Endpoint): ProxyAddress | undefined {
    const {
      httpProxy,
      httpProxyFrom = 'HTTP_PROXY',
      httpsProxy,
      httpsProxyFrom = 'HTTPS_PROXY',
    } = this.#settings;
    const [proxy, from] = secure ? [httpsProxy, httpsProxyFrom] : [httpProxy, httpProxyFrom];
    return proxy === undefined || this.#isDirect(hostname, port) ? undefined : parseProxyAddress(proxy, from);
  }

  #tls(serverName: string): Pick<DialOptions, 'tls'> {
    return { tls: { serverName, secureContext: this.trusted } };
  }
}

function failLater(error: Error, handler: DialHandler): Attempt {
  let waiting: DialHandler | undefined = handler;
  process.nextTick(() => waiting?.failed(error));
  return { cancel: () => void (waiting = undefined) };
}

/** The authorities that Node trusts by default. An explicit list replaces them all. */
function usualAuthorities(): readonly string[] {
  // Imported, the list would be loaded when the program starts.
  const tls = process.getBuiltinModule('node:tls');
  // The function exists since Node 22.15.
  const { getCACertificates } = tls as Partial<typeof tls>;
  if (getCACertificates !== undefined) return getCACertificates('default');
  const extra = process.env['NODE_EXTRA_CA_CERTS'] ?? '';
  return existsSync(extra) ? [...tls.rootCertificates, readFileSync(extra, 'latin1')] : tls.rootCertificates;
}

/**
 * Reads `NO_PROXY` as most programs do: names, which include their subdomains, IP addresses and networks such as
 * `10.0.0.0/8`, each with or without a port, separated by commas or spaces; `*` means everything.
 *
 * @returns a function that returns whether a host, without brackets, is reached without a proxy
 */
export function parseNoProxy(text: string): (host: string, port: number) => boolean {
  const rules = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(parseRule);
  return (host, port) => isLoopback(host) || rules.some((rule) => rule(host.toLowerCase(), port));
}

type Rule = (host: string, port: number) => boolean;

function parseRule(text: string): Rule {
  if (text === '*') return () => true;
  const network = /^(.+)\/(\d{1,3})$/.exec(text);
  if (network !== null) return parseNetwork(network[1] ?? '', Number(network[2]));
  const [, bracketed, plain, only] = /^(?:\[(.+)\]|([^:]+|.*:.*:.*?))(?::(\d+))?$/.exec(text) ?? [];
  const name = (bracketed ?? plain ?? text).replace(/^\*?\.+/, '');
  return (host, port) =>
    (host === name || host.endsWith(`.${name}`)) && (only === undefined || port === Number(only));
}

function parseNetwork(address: string, prefix: number): Rule {
  const family = isIP(address);
  if (family === 0 || prefix > (family === 4 ? 32 : 128)) return () => false;
  const list = new BlockList();
  list.addSubnet(address, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return (host) => isIP(host) === family && list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/* One HTTP request to a relay and its response. */

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** bytes of the largest response accepted */
  readonly maxBytes: number;
  /** ms for everything: name look-up, connection, TLS, response */
  readonly timeoutMs: number;
}

export interface CallResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** @throws the errors of the network, a `TimeoutError`, or an Error for a response that is too large */
export function call(network: Network, relay: Endpoint, wanted: Call): Promise<CallResponse> {
  return withResponse(network, relay, wanted, async (response) => ({
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: await readBody(response, wanted.maxBytes),
  }));
}

/**
 * Sends one request, and closes its connection once the response has been read.
 *
 * @throws the errors of the network, and a `TimeoutError`
 */
export async function withResponse<T>(
  network: Network,
  relay: Endpoint,
  wanted: Omit<Call, 'maxBytes'>,
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(wanted.timeoutMs);
  const socket = await connect(network, relay, signal);
  try {
    return await read(await send(socket, relay, wanted, signal));
  } finally {
    socket.destroy();
  }
}

function connect(network: Network, relay: Endpoint, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      attempt.cancel();
      reject(signal.reason as Error);
    };
    const settle =
      <T>(outcome: (value: T) => void) =>
      (value: T): void => {
        signal.removeEventListener('abort', onAbort);
        outcome(value);
      };
    const attempt = network.connect(relay, {}, { connected: settle(resolve), failed: settle(reject) });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function send(
  socket: Socket,
  relay: Endpoint,
  { method, path, headers, body }: Omit<Call, 'maxBytes'>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const sent = request({
      createConnection: () => socket,
      method,
      path,
      headers: { host: relay.host, ...headers },
      signal,
    });
    sent.once('response', resolve);
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Reads a body of bounded size; the request's own deadline covers it. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new MessageError(toMessage('network.tooLarge'));
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
