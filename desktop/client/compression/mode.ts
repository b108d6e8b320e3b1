/** Whether a tunnel's responses are compressed. */
import { BlockList, isIP } from 'node:net';
import type { CompressMode } from '../../../shared/value-rules.ts';
import { isLoopback } from '../network/dial.ts';

const PRIVATE = new BlockList();
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
] as const)
  PRIVATE.addSubnet(network, bits, 'ipv6');

/** Where a relay is, as far as its address shows. */
export type Nearness = 'loopback' | 'private' | 'public';

/** @param host name or IP address, without brackets; a name other than `localhost` counts as public */
export function nearnessOf(host: string): Nearness {
  if (isLoopback(host)) return 'loopback';
  const family = isIP(host);
  if (family === 0) return 'public';
  // A zone says nothing about the network.
  return PRIVATE.check(host.replace(/%.*$/, ''), family === 4 ? 'ipv4' : 'ipv6') ? 'private' : 'public';
}

/**
 * @param relay where the relay is; a network that is not shared with others is faster than the compression
 * @returns whether responses are compressed
 */
export function isCompressionOn(mode: CompressMode, relay: Nearness): boolean {
  return mode === 'auto' ? relay === 'public' : mode === 'on';
}
