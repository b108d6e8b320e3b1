/** IP addresses and CIDR networks in text form (RFC 4632 section 3.1, RFC 4291 section 2.3). */
interface Network {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  /** prefix length; all bits for a single address */
  readonly bits: number;
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const IPV4 = new RegExp(`^(?:${OCTET}\\.){3}${OCTET}$`);
const BITS = { ipv4: 32, ipv6: 128 } as const;

/** @returns the network of `192.0.2.7`, `10.0.0.0/8`, `::1` or `2001:db8::/32`; `undefined` for any other text */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = familyOf(address);
  if (family === undefined || rest.length > 0) return undefined;
  if (prefix === undefined) return { address, family, bits: BITS[family] };
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= BITS[family] ? { address, family, bits } : undefined;
}

function familyOf(address: string): Network['family'] | undefined {
  if (IPV4.test(address)) return 'ipv4';
  // No zone, which has a meaning only on one machine.
  return isIPv6(address) ? 'ipv6' : undefined;
}

/** Hosts as text: names, IP addresses, and both with a port. */

const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;
const IPV6 = /^[0-9A-Fa-f.]*:[0-9A-Fa-f:.]*$/;

/**
 * Whether a text is a host name that resolvers accept, including IPv4 addresses and underscores, which service names
 * contain (RFC 2782).
 */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}

/** Whether a text is an IPv6 address without brackets and zone (RFC 4291 section 2.2). */
export function isIPv6(text: string): boolean {
  return IPV6.test(text) && URL.canParse(`http://[${text}]`);
}

/** The host in a Host field, in lower case, without its port and one trailing dot. */
export function hostname(host: string): string {
  const colon = host.lastIndexOf(':');
  const end = colon > host.lastIndexOf(']') ? colon : host.length;
  return host.slice(0, host[end - 1] === '.' ? end - 1 : end).toLowerCase();
}

/** A name or IP address as written in a URL and a Host field, with brackets around IPv6 (RFC 3986 section 3.2.2). */
export function uriHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
