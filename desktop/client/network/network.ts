import { existsSync, readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import * as tls from 'node:tls';
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

/** The way to a relay, the same for the API, control sockets and data sockets: direct or through a proxy. */
export class Network {
  readonly #httpProxy: ProxyAddress | undefined;
  readonly #httpsProxy: ProxyAddress | undefined;
  readonly #isDirect: (host: string, port: number) => boolean;
  readonly #secureContext: tls.SecureContext | undefined;

  /** @throws NetworkSettingError */
  constructor({ httpProxy, httpsProxy, noProxy = '', ca }: NetworkSettings = {}) {
    this.#httpProxy = httpProxy === undefined ? undefined : parseProxyAddress(httpProxy, 'HTTP_PROXY');
    this.#httpsProxy = httpsProxy === undefined ? undefined : parseProxyAddress(httpsProxy, 'HTTPS_PROXY');
    this.#isDirect = parseNoProxy(noProxy);
    this.#secureContext =
      ca === undefined ? undefined : tls.createSecureContext({ ca: [...usualAuthorities(), ca] });
  }

  /** `host:port` of the proxy through which that relay is reached; `undefined` without one. */
  proxyFor(relay: Endpoint): string | undefined {
    return this.#proxy(relay)?.name;
  }

  /**
   * Connects to a relay. How long that may take is for the caller to limit.
   *
   * @param options.address an IP address of the relay to use instead of its name; not through a proxy
   * @param options.keepAliveMs as for {@link dial}
   */
  connect(
    relay: Endpoint,
    options: { readonly address?: string | undefined; readonly keepAliveMs?: number },
    handler: DialHandler,
  ): Attempt {
    const { hostname, port, secure } = relay;
    const proxy = this.#proxy(relay);
    const { address = hostname, keepAliveMs = 0 } = options;
    const host = proxy === undefined ? address : hostname;
    const wanted: DialOptions = { host, port, keepAliveMs, ...(secure ? this.#tls(hostname) : {}) };
    if (proxy === undefined) return dial(wanted, handler);
    return new ProxyDial(proxy, proxy.secure ? this.#tls(proxy.hostname) : {}, wanted, handler);
  }

  #proxy({ hostname, port, secure }: Endpoint): ProxyAddress | undefined {
    const proxy = secure ? this.#httpsProxy : this.#httpProxy;
    return proxy === undefined || this.#isDirect(hostname, port) ? undefined : proxy;
  }

  #tls(serverName: string): Pick<DialOptions, 'tls'> {
    return { tls: { serverName, secureContext: this.#secureContext } };
  }
}

/** Those that Node trusts by default; naming any replaces them all. */
function usualAuthorities(): readonly string[] {
  // The function does not exist before Node 22.15.
  const { getCACertificates } = tls as Partial<typeof tls>;
  if (getCACertificates !== undefined) return getCACertificates('default');
  const extra = process.env['NODE_EXTRA_CA_CERTS'] ?? '';
  return existsSync(extra) ? [...tls.rootCertificates, readFileSync(extra, 'latin1')] : tls.rootCertificates;
}

/**
 * Reads `NO_PROXY` as most programs do: names, which include everything below them, IP addresses and networks such as
 * `10.0.0.0/8`, each with a port or without, separated by commas or spaces; `*` is everything.
 *
 * @returns tells whether a host, without brackets, is to be reached without a proxy
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
