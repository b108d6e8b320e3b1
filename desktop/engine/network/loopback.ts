import { isIPv4 } from 'node:net';

/**
 * Whether an address is of this machine, as far as it says so itself. Such a one is never reached through a proxy, and what
 * is sent there crosses no network.
 *
 * @param host name or IP address, without brackets
 */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.');
  return /^(?:(?:.+\.)?localhost|::1|::ffff:127\..+)$/i.test(host);
}
