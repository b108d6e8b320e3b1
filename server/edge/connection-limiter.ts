/** Whether a request on a connection is let in: by the limits for its address, and by the relay's seats. */
import { type BlockList, isIP } from 'node:net';
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { Field } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { networkOf } from '../address-network.ts';
import type { Clock } from '../clock.ts';
import { ACCOUNT_SHARE, ADDRESS_BURST_SECONDS } from '../limits.ts';
import { RateLimiter } from '../rate-limiter.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { isTrusted, type Peer, plainAddress } from './request-head.ts';
import { type ParsedRequest, TunnelLookup } from './route.ts';

/** Why a request is not let in. */
export interface Refusal {
  readonly code: VisitorErrorCode;
  /** what to say instead of the catalogue's text */
  readonly text?: string;
  /** whether the connection itself is one too many */
  readonly ends: boolean;
}

const FULL: Refusal = { code: 'relay-busy', ends: true };
const SHARE: Refusal = {
  code: 'relay-busy',
  text: 'The relay is nearly full, and the places left are for visitors of other tunnels. Try again in a moment.',
  ends: false,
};

export class ConnectionLimiter {
  readonly #place: Slot;
  readonly #address: AddressCount;

  constructor(place: Slot, address: AddressCount) {
    this.#place = place;
    this.#address = address;
  }

  /**
   * A request begins. Calls of the API and requests of clients are always let in.
   *
   * @param isIntercepted whether the relay responds in place of the tunnel
   */
  begin({ head, route }: ParsedRequest, isIntercepted: boolean): Refusal | undefined {
    if (route.kind !== 'relay') {
      const excess = this.#address.begin(head);
      if (excess !== undefined) return { code: 'too-many', ends: excess === 'connection' };
    }
    if (route.kind === 'tunnel' && !isIntercepted) return this.#takeSeat(route.tunnel);
    this.#place.stand();
    return undefined;
  }

  /** The relay has responded in place of the tunnel. */
  refused(): void {
    this.#place.stand();
  }

  /** The request is over. */
  end(): void {
    this.#place.rest();
    this.#address.end();
  }

  /** The connection is gone. */
  leave(): void {
    this.#place.leave();
    this.#address.leave();
  }

  #takeSeat(tunnel: LiveTunnel | TunnelLookup): Refusal | undefined {
    const noSeat = this.#place.take(tunnel instanceof TunnelLookup ? undefined : tunnel.account.id);
    if (noSeat === undefined) return undefined;
    return noSeat === 'full' ? FULL : SHARE;
  }
}

/*
 * Who may stay when there are more connections than the relay can hold. A request to a tunnel takes a seat, and keeps it
 * while its connection waits for the next one, as long as nobody else needs it.
 */

/** How many connections there may be. Those given away to `link` are no longer among them. */
export interface SlotLimits {
  /** connections with a seat */
  readonly visitors: number;
  /** connections without one: new ones, and those to which only the relay itself has responded; the oldest gives way */
  readonly newcomers: number;
}

/** A connection, as seen by whoever gives out seats. */
export interface SlotHolder {
  /** It waits for a request, and somebody else needs its seat: it is to end (RFC 9112 section 9.3). */
  giveWay(): void;
  /** Cuts the connection. */
  destroy(): void;
}

/** Why there is no seat. `full`: all are busy. `share`: the remaining ones are for the tunnels of others. */
export type NoSlot = 'full' | 'share';

export class ConnectionSlots {
  readonly limits: SlotLimits;
  /** places whose connections wait for a next request, longest first */
  readonly idle = new Set<Slot>();
  /** places without a seat, in the order in which their connections last did something */
  readonly newcomers = new Set<Slot>();
  /** seats of requests that are under way */
  busy = 0;
  /** how many of them requests to an account's tunnels hold, by the account's id; never 0 */
  readonly byAccount = new Map<string, number>();

  constructor(limits: SlotLimits) {
    this.limits = limits;
  }
}

/** What one connection has: a seat or none. */
export class Slot {
  readonly #seats: ConnectionSlots;
  readonly #occupant: SlotHolder;
  #state: 'newcomer' | 'busy' | 'idle' | 'left' = 'newcomer';
  #account: string | undefined;

  constructor(seats: ConnectionSlots, occupant: SlotHolder) {
    this.#seats = seats;
    this.#occupant = occupant;
    this.#enter();
  }

  /**
   * Takes a seat for a request; if none is free, from the connection that has waited longest for its next request.
   *
   * @param account id of the account of the tunnel that the request goes to, if that is already known
   * @returns why there is none; nothing has changed then
   */
  take(account: string | undefined): NoSlot | undefined {
    const { limits, idle, newcomers, busy, byAccount } = this.#seats;
    const hasRoom = this.#state === 'idle' || busy + idle.size < limits.visitors;
    if (!hasRoom && idle.size === 0) return 'full';
    const held = account === undefined ? 0 : (byAccount.get(account) ?? 0);
    // Whatever its plan: the more seats an account holds, the more must be left for others.
    if (held >= ACCOUNT_SHARE * (limits.visitors - busy)) return 'share';
    if (!hasRoom) this.#displace();
    if (this.#state === 'idle') idle.delete(this);
    else newcomers.delete(this);
    this.#state = 'busy';
    this.#seats.busy += 1;
    this.#account = account;
    if (account !== undefined) byAccount.set(account, held + 1);
    return undefined;
  }

  /** A tunnel has responded to its request, and the connection waits for the next one. */
  rest(): void {
    if (this.#state !== 'busy') return;
    this.#release();
    this.#state = 'idle';
    this.#seats.idle.add(this);
  }

  /** The relay itself responds, which takes no seat: one that the connection has is free for others. */
  stand(): void {
    this.#leave();
    this.#enter();
  }

  /** The connection is gone. */
  leave(): void {
    this.#leave();
    this.#state = 'left';
  }

  #enter(): void {
    const { limits, newcomers } = this.#seats;
    this.#state = 'newcomer';
    newcomers.add(this);
    if (newcomers.size <= limits.newcomers) return;
    const [oldest] = newcomers;
    if (oldest === undefined) return;
    oldest.leave();
    oldest.#occupant.destroy();
  }

  #displace(): void {
    const [longest] = this.#seats.idle;
    if (longest === undefined) return;
    longest.stand();
    longest.#occupant.giveWay();
  }

  #leave(): void {
    if (this.#state === 'newcomer') this.#seats.newcomers.delete(this);
    else if (this.#state === 'idle') this.#seats.idle.delete(this);
    else if (this.#state === 'busy') this.#release();
  }

  #release(): void {
    const { byAccount } = this.#seats;
    this.#seats.busy -= 1;
    if (this.#account === undefined) return;
    const left = (byAccount.get(this.#account) ?? 0) - 1;
    if (left > 0) byAccount.set(this.#account, left);
    else byAccount.delete(this.#account);
  }
}

/* What visitors from one address may have open and ask for at a time (docs/protocol.md section 4.6). */

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

/* Whose address is limited (docs/protocol.md section 4.6). */

/** The addresses of this machine; the empty one is that of a peer who has already left. */
const OWN_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '']);

/**
 * @param head of a request, without which nobody is known behind a trusted proxy
 * @returns the visitor's address, for IPv6 its /64; `undefined` for those who have no limits: this machine, where a proxy
 *   may run that nobody has named, and trusted proxies, which everybody comes through
 */
export function limitedAddress(
  peer: Peer,
  head: RequestHead | undefined,
  proxies: BlockList,
): string | undefined {
  const address = visitorAddress(head?.fields ?? [], peer, proxies);
  if (OWN_ADDRESSES.has(address) || (peer.trusted && isTrusted(address, proxies))) return undefined;
  return networkOf(address);
}

/**
 * Where a request came from: among the peer and the list that it handed on, the last address that is not a trusted proxy's
 * (docs/protocol.md section 4.6). The visitor may have made up whatever comes before it.
 */
export function visitorAddress(fields: readonly Field[], peer: Peer, proxies: BlockList): string {
  let { address } = peer;
  if (!peer.trusted) return address;
  const list = fields.filter((field) => field.is('x-forwarded-for')).flatMap(({ value }) => value.split(','));
  for (const entry of list.toReversed()) {
    const next = plainAddress(entry.trim());
    if (isIP(next) === 0) break;
    address = next;
    if (!isTrusted(next, proxies)) break;
  }
  return address;
}
