/** How much a network may ask. */
import { isIPv4 } from 'node:net';
import { networkOf } from '../../address-network.ts';
import type { Clock } from '../../clock.ts';
import { DNS_QUERIES_BURST, DNS_QUERIES_PER_MINUTE } from '../../limits.ts';
import { RateLimiter } from '../../rate-limiter.ts';

/** @returns the /24 of an IPv4 address, the /64 of an IPv6 address: resolvers, and attacks, have many addresses */
export function sourceNetwork(address: string): string {
  return isIPv4(address) ? `${address.slice(0, address.lastIndexOf('.'))}.0/24` : networkOf(address);
}

/** What becomes of a query: it is served, gets a response that leads to TCP, or none. */
export type Allowance = 'serve' | 'truncate' | 'drop';

export class SourceLimits {
  readonly #buckets: RateLimiter;
  #refused = 0;

  constructor(clock: Clock) {
    this.#buckets = new RateLimiter(clock, { perMinute: DNS_QUERIES_PER_MINUTE, burst: DNS_QUERIES_BURST });
  }

  /**
   * A resolver in whose name somebody else sends too many queries still gets through: every second of them is told to come
   * over TCP, which only the resolver itself can.
   */
  take(address: string): Allowance {
    if (this.#buckets.take(sourceNetwork(address)) === 0) return 'serve';
    this.#refused += 1;
    return this.#refused % 2 === 0 ? 'truncate' : 'drop';
  }
}
