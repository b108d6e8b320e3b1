import { existsSync, readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
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
  readonly #httpProxy: ProxyAddress | undefined;
  readonly #httpsProxy: ProxyAddress | undefined;
  readonly #isDirect: (host: string, port: number) => boolean;
  readonly #secureContext: SecureContext | undefined;

  /** @throws NetworkSettingError */
  constructor({ httpProxy, httpsProxy, noProxy = '', ca }: NetworkSettings = {}) {
    this.#httpProxy = httpProxy === undefined ? undefined : parseProxyAddress(httpProxy, 'HTTP_PROXY');
    this.#httpsProxy = httpsProxy === undefined ? undefined : parseProxyAddress(httpsProxy, 'HTTPS_PROXY');
    this.#isDirect = parseNoProxy(noProxy);
    this.#secureContext =
      ca === undefined ? undefined : createSecureContext({ ca: [...usualAuthorities(), ca] });
  }

  /** `host:port` of the proxy for that relay; `undefined` without one. */
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
