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
