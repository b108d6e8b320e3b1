/** Whether a tunnel's responses are compressed. */
import { BlockList, isIP } from 'node:net';
import type { CompressMode } from '../../../shared/value-rules.ts';
import type { Clock } from '../clock.ts';
import type { DataSocket } from '../data/data-dialer.ts';
import { isLoopback } from '../network/dial.ts';
import { CompressedStream } from './compressed-stream.ts';
import { WeakenedTags } from './heads.ts';

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
  const [address = ''] = host.split('%', 1);
  return PRIVATE.check(address, family === 4 ? 'ipv4' : 'ipv6') ? 'private' : 'public';
}

/**
 * @param relay the location of the relay; a private network is faster than the compression
 * @returns whether responses are compressed
 */
export function isCompressionOn(mode: CompressMode, relay: Nearness): boolean {
  return mode === 'auto' ? relay === 'public' : mode === 'on';
}

/** Compresses the responses of one tunnel if its mode and the location of the relay call for it. */
export class Compression {
  readonly #mode: CompressMode;
  readonly #clock: Pick<Clock, 'setTimeout'>;
  readonly #tags = new WeakenedTags();
  #isOn: boolean;

  /** @param host of the relay: a name or an IP address, without brackets */
  constructor(mode: CompressMode, host: string, clock: Pick<Clock, 'setTimeout'>) {
    this.#mode = mode;
    this.#clock = clock;
    this.#isOn = isCompressionOn(mode, nearnessOf(host));
  }

  /** @param address the IP address of the relay, which tells more than its name */
  reached(address: string): void {
    this.#isOn = isCompressionOn(this.#mode, nearnessOf(address));
  }

  /** Puts a filter around a visitor's data socket; `undefined` if none is needed. */
  around(inner: DataSocket): CompressedStream | undefined {
    return this.#isOn ? new CompressedStream(inner, { clock: this.#clock, tags: this.#tags }) : undefined;
  }
}
