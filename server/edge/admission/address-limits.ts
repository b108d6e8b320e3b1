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

/** What one address has open. */
interface OpenConnections {
  readonly address: string;
  /** never 0 */
  count: number;
  /** those that wait for a next request, longest first; `undefined` before there is one */
  idle: Set<AddressCount> | undefined;
}

/** A connection, as seen by the limits for its address. */
export interface LimitedConnection {
  /** Whether it waits for a request, and no byte of one has come. */
  readonly isWaiting: boolean;
  /** Another connection of its address needs its place: it is to end (RFC 9112 section 9.3). */
  giveWay(): void;
}

export class AddressLimits {
  readonly #max: number;
  readonly #rate: RateLimiter | undefined;
  readonly #proxies: BlockList;
  readonly #open = new Map<string, OpenConnections>();

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
  add(address: string): OpenConnections {
    let open = this.#open.get(address);
    if (open === undefined) {
      open = { address, count: 0, idle: undefined };
      this.#open.set(address, open);
    }
    open.count += 1;
    return open;
  }

  remove(open: OpenConnections): void {
    open.count -= 1;
    if (open.count === 0) this.#open.delete(open.address);
  }

  /** Whether more is open than allowed. */
  isExceeded({ count }: OpenConnections): boolean {
    return count > this.#max;
  }

  /** Ends connections that wait for a next request, longest first, until the address is within its limit. */
  makeRoom(open: OpenConnections): void {
    for (const connection of open.idle ?? []) {
      if (!this.isExceeded(open)) return;
      connection.giveWay();
    }
  }

  /** Whether the address may make one more request now; if so, it is counted. */
  takeRequest({ address }: OpenConnections): boolean {
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
  readonly #connection: LimitedConnection;
  /** of the address that is counted: behind a trusted proxy that of the request under way, else the peer's */
  #open: OpenConnections | undefined;
  #isExcess = false;

  constructor(limits: AddressLimits, peer: Peer, connection: LimitedConnection) {
    this.#limits = limits;
    this.#peer = peer;
    this.#connection = connection;
    if (peer.trusted) return;
    this.#count(limits.addressOf(peer));
  }

  /** A visitor's request begins. */
  begin(head: RequestHead): Excess | undefined {
    if (this.#peer.trusted) this.#count(this.#limits.addressOf(this.#peer, head));
    const open = this.#open;
    if (open === undefined) return undefined;
    open.idle?.delete(this);
    if (this.#isExcess && this.#limits.isExceeded(open)) this.#limits.makeRoom(open);
    // Others may have left since it came, or have turned out to be clients.
    this.#isExcess &&= this.#limits.isExceeded(open);
    if (this.#isExcess) return this.#peer.trusted ? 'request' : 'connection';
    return this.#limits.takeRequest(open) ? undefined : 'request';
  }

  /** The request is over. */
  end(): void {
    if (this.#peer.trusted) return this.leave();
    if (this.#open !== undefined) (this.#open.idle ??= new Set()).add(this);
  }

  /** Another connection of the address needs its place. One on which a request has begun keeps it. */
  giveWay(): void {
    if (!this.#connection.isWaiting) return;
    this.leave();
    this.#connection.giveWay();
  }

  /** The connection is gone, or has turned out to be a client's. */
  leave(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    open.idle?.delete(this);
    this.#limits.remove(open);
  }

  #count(address: string | undefined): void {
    this.leave();
    if (address === undefined) return;
    this.#open = this.#limits.add(address);
    this.#isExcess = this.#limits.isExceeded(this.#open);
  }
}
