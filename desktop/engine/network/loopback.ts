import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP, isIPv4, type LookupFunction } from 'node:net';

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
