import { isIPv4 } from 'node:net';

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
