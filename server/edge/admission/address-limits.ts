/** What visitors from one address may have open and ask for at a time (docs/protocol.md section 4.6). */
import type { BlockList } from 'node:net';
import type { RequestHead } from '../../../shared/http1/head.ts';
import type { Clock } from '../../clock.ts';
import { ADDRESS_BURST_SECONDS } from '../../limits.ts';
import { RateLimiter } from '../../rate-limiter.ts';
import type { Peer } from '../heads/request-head.ts';
import { limitedAddress } from './limited-address.ts';

export interface AddressSettings {
  /** open connections of an address, or requests under way for an address behind a trusted proxy; 0: any number */
  readonly connections: number;
  /** requests to tunnels that an address may make per second, in the long run; 0: any number */
  readonly requests: number;
}

/** What is beyond the limits: a connection, which is to end, or one request. */
export type Excess = 'connection' | 'request';

export class AddressLimits {
  readonly #max: number;
  readonly #rate: RateLimiter | undefined;
  readonly #proxies: BlockList;
  /** by address; never 0 */
  readonly #open = new Map<string, number>();

  constructor({ connections, requests }: AddressSettings, proxies: BlockList, clock: Clock) {
    this.#max = connections === 0 ? Infinity : connections;
    this.#proxies = proxies;
    if (requests > 0)
      this.#rate = new RateLimiter(clock, {
        perMinute: requests * 60,
        burst: requests * ADDRESS_BURST_SECONDS,
      });
  }

  /** Addresses that have something open. */
  get size(): number {
    return this.#open.size;
  }

  /** @returns the address that a connection, or a request on it, counts for, if any */
  addressOf(peer: Peer, head?: RequestHead): string | undefined {
    return limitedAddress(peer, head, this.#proxies);
  }

  /** Counts one more as open. */
  add(address: string): void {
    this.#open.set(address, (this.#open.get(address) ?? 0) + 1);
  }

  remove(address: string): void {
    const left = (this.#open.get(address) ?? 0) - 1;
    if (left > 0) this.#open.set(address, left);
    else this.#open.delete(address);
  }

  /** Whether more is open than allowed. */
  isExceeded(address: string): boolean {
    return (this.#open.get(address) ?? 0) > this.#max;
  }

  /** Whether the address may make one more request now; if so, it is counted. */
  takeRequest(address: string): boolean {
    return this.#rate === undefined || this.#rate.take(address) === 0;
  }
}

/**
 * What one connection counts for. A trusted proxy's connection carries everybody's requests: there, each request counts
 * while it is under way.
 */
export class AddressCount {
  readonly #limits: AddressLimits;
  readonly #peer: Peer;
  /** the address that is counted: behind a trusted proxy that of the request under way, else the peer's */
  #address: string | undefined;
  #isExcess = false;

  constructor(limits: AddressLimits, peer: Peer) {
    this.#limits = limits;
    this.#peer = peer;
    if (peer.trusted) return;
    this.#count(limits.addressOf(peer));
  }

  /** A visitor's request begins. */
  begin(head: RequestHead): Excess | undefined {
    if (this.#peer.trusted) this.#count(this.#limits.addressOf(this.#peer, head));
    const address = this.#address;
    if (address === undefined) return undefined;
    // Others may have left since it came, or have turned out to be clients.
    this.#isExcess &&= this.#limits.isExceeded(address);
    if (this.#isExcess) return this.#peer.trusted ? 'request' : 'connection';
    return this.#limits.takeRequest(address) ? undefined : 'request';
  }

  /** The request is over. */
  end(): void {
    if (this.#peer.trusted) this.leave();
  }

  /** The connection is gone, or has turned out to be a client's. */
  leave(): void {
    if (this.#address !== undefined) this.#limits.remove(this.#address);
    this.#address = undefined;
  }

  #count(address: string | undefined): void {
    this.leave();
    this.#address = address;
    if (address === undefined) return;
    this.#limits.add(address);
    this.#isExcess = this.#limits.isExceeded(address);
  }
}
