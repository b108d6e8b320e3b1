/**
 * Decides whether a request on a connection is served, by the limits for its address and by the relay's connection
 * slots.
 */
import { type BlockList, isIP } from 'node:net';
import type { VisitorErrorCode } from '../../shared/errors.ts';
import type { Field } from '../../shared/http1/fields.ts';
import type { RequestHead } from '../../shared/http1/head.ts';
import { networkOf } from '../address-network.ts';
import type { Clock } from '../clock.ts';
import { RateLimiter } from '../rate-limiter.ts';
import { type Counts, NO_COUNTS } from '../shared-counts.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { isTrusted, type Peer, plainAddress } from './request-head.ts';
import { type ParsedRequest, TunnelLookup } from './route.ts';

/**
 * Maximum number of new visitor connections that do not yet count towards `CULVERT_MAX_CONNECTIONS`: those that
 * have not sent a request, and those that only the relay itself has responded to. More than a full accept queue, so
 * that a burst of visitors is accepted.
 */
export const NEWCOMERS_MAX = 8192;
/**
 * Maximum ratio of the connection slots used by one account's tunnels to the slots still free for other
 * accounts. So the first account gets at most three quarters, and the next one three quarters of the rest, even if
 * their plans are unlimited.
 */
const ACCOUNT_SHARE = 3;
/**
 * Maximum burst of requests from one address, expressed in seconds at its maximum request rate (protocol.md
 * section 4.6).
 */
const ADDRESS_BURST_SECONDS = 10;
/**
 * Share of `CULVERT_MAX_CONNECTIONS` that the connections and HTTP/2 streams from one address may use in total.
 * With the defaults, about 25 people who share an address can have 100 streams each.
 */
export const ADDRESS_STREAM_SHARE = 0.25;

/** Why a request is refused. */
export interface Refusal {
  readonly code: VisitorErrorCode;
  /** replaces the catalogue's text */
  readonly text?: string;
  /** whether the connection itself is one too many */
  readonly ends: boolean;
}

const FULL: Refusal = { code: 'relay-busy', ends: true };
const SHARE: Refusal = {
  code: 'relay-busy',
  text: 'The relay is nearly full, and the remaining connections are reserved for other tunnels. Try again in a moment.',
  ends: false,
};

export class ConnectionLimiter {
  readonly #place: Slot;
  readonly #address: AddressCount | StreamCount;

  constructor(place: Slot, address: AddressCount | StreamCount) {
    this.#place = place;
    this.#address = address;
  }

  /**
   * A request begins. API calls and client requests are never refused.
   *
   * @param isIntercepted whether the relay responds instead of the tunnel
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

  /** The relay has responded instead of the tunnel. */
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
 * Which connections stay open when there are more than the relay can hold. A request to a tunnel takes a slot, and
 * keeps it while its connection waits for the next request, unless another request needs it.
 */

/** How many connections there may be. Those taken over by clients are not counted. */
export interface SlotLimits {
  /** connections with a slot */
  readonly visitors: number;
  /**
   * connections without one: new ones, and those that only the relay itself has responded to; the oldest is closed
   * first
   */
  readonly newcomers: number;
}

/** A connection that may hold a slot. */
export interface SlotHolder {
  /** Another request needs the slot of this idle connection: it should close (RFC 9112 section 9.3). */
  giveWay(): void;
  /** Cuts the connection. */
  destroy(): void;
}

/**
 * Why there is no slot. `full`: all are busy. `share`: the remaining ones are reserved for tunnels of other accounts.
 */
type NoSlot = 'full' | 'share';

export class ConnectionSlots {
  readonly limits: SlotLimits;
  /** slots whose connections wait for a next request, longest first */
  readonly idle = new Set<Slot>();
  /** connections without a slot, least recently active first */
  readonly newcomers = new Set<Slot>();
  /** slots with a request in progress */
  busy = 0;
  /** number of slots used by requests to an account's tunnels, by the account's id; never 0 */
  readonly byAccount = new Map<string, number>();

  readonly #counts: Counts;

  /** @param counts those of the other processes of this relay */
  constructor(limits: SlotLimits, counts: Counts = NO_COUNTS) {
    this.limits = limits;
    this.#counts = counts;
    counts.listen('slots', { giveWay: () => this.displace() });
  }

  /** Slots in use, in all processes. */
  get used(): number {
    return this.busy + this.idle.size + this.#counts.others('slots', '');
  }

  /** Slots with a request in progress, in all processes. */
  get allBusy(): number {
    return this.used - this.idle.size - this.#counts.othersIdle('slots', '');
  }

  /** Whether a slot is idle, in any process. */
  get hasIdle(): boolean {
    return this.idle.size > 0 || this.#counts.othersIdle('slots', '') > 0;
  }

  /** Slots that an account uses, in all processes. */
  usedBy(account: string): number {
    return (this.byAccount.get(account) ?? 0) + this.#counts.others('account', account);
  }

  /** Frees the slot that has been idle for longest. @returns false if none is idle */
  displace(): boolean {
    const [longest] = this.idle;
    if (longest === undefined) return this.#counts.displace('slots', '');
    longest.giveWay();
    return true;
  }

  /** The slots of this process, or those of an account in it, have changed. */
  changed(account?: string): void {
    const { visitors } = this.limits;
    this.#counts.set('slots', '', visitors, this.busy + this.idle.size, this.idle.size);
    if (account === undefined) return;
    const most = (visitors * ACCOUNT_SHARE) / (ACCOUNT_SHARE + 1);
    this.#counts.set('account', account, most, this.byAccount.get(account) ?? 0);
  }
}

/** The state of one connection: with a slot or without. */
export class Slot {
  readonly #slots: ConnectionSlots;
  readonly #occupant: SlotHolder;
  #state: 'newcomer' | 'busy' | 'idle' | 'left' = 'newcomer';
  #account: string | undefined;

  constructor(slots: ConnectionSlots, occupant: SlotHolder) {
    this.#slots = slots;
    this.#occupant = occupant;
    this.#enter();
  }

  /**
   * Takes a slot for a request; if none is free, from the connection that has waited longest for its next request.
   *
   * @param account id of the account of the requested tunnel, if already known
   * @returns why there is none; nothing has changed then
   */
  take(account: string | undefined): NoSlot | undefined {
    const slots = this.#slots;
    const { limits, idle, newcomers, byAccount } = slots;
    const hasRoom = this.#state === 'idle' || slots.used < limits.visitors;
    if (!hasRoom && !slots.hasIdle) return 'full';
    const held = account === undefined ? 0 : slots.usedBy(account);
    // Regardless of the plan: the more slots an account uses, the more must be left for others.
    if (held >= ACCOUNT_SHARE * (limits.visitors - slots.allBusy)) return 'share';
    if (!hasRoom) slots.displace();
    if (this.#state === 'idle') idle.delete(this);
    else newcomers.delete(this);
    this.#state = 'busy';
    this.#slots.busy += 1;
    this.#account = account;
    if (account !== undefined) byAccount.set(account, (byAccount.get(account) ?? 0) + 1);
    slots.changed(account);
    return undefined;
  }

  /** A tunnel has responded to its request, and the connection waits for the next one. */
  rest(): void {
    if (this.#state !== 'busy') return;
    this.#release();
    this.#state = 'idle';
    this.#slots.idle.add(this);
    this.#slots.changed();
  }

  /**
   * A connection whose requests had slots of their own waits for the next one: it gets a free slot, or continues without one.
   */
  park(): void {
    const slots = this.#slots;
    this.stand();
    if (slots.used >= slots.limits.visitors) return;
    slots.newcomers.delete(this);
    this.#state = 'idle';
    slots.idle.add(this);
    slots.changed();
  }

  /** The relay itself responds, which needs no slot: a slot that the connection has is released. */
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
    const { limits, newcomers } = this.#slots;
    this.#state = 'newcomer';
    newcomers.add(this);
    if (newcomers.size <= limits.newcomers) return;
    const [oldest] = newcomers;
    if (oldest === undefined) return;
    oldest.leave();
    oldest.#occupant.destroy();
  }

  /** Another request needs its slot. */
  giveWay(): void {
    this.stand();
    this.#occupant.giveWay();
  }

  #leave(): void {
    if (this.#state === 'newcomer') this.#slots.newcomers.delete(this);
    else if (this.#state === 'idle') {
      this.#slots.idle.delete(this);
      this.#slots.changed();
    } else if (this.#state === 'busy') this.#release();
  }

  #release(): void {
    const { byAccount } = this.#slots;
    const account = this.#account;
    this.#slots.busy -= 1;
    const left = account === undefined ? 0 : (byAccount.get(account) ?? 0) - 1;
    if (account !== undefined && left > 0) byAccount.set(account, left);
    else if (account !== undefined) byAccount.delete(account);
    this.#slots.changed(account);
  }
}

/* Limits on the open connections and requests of one visitor address (protocol.md section 4.6). */

interface AddressSettings {
  /** open connections of an address, or requests in progress for an address behind a trusted proxy; 0: unlimited */
  readonly connections: number;
  /** requests to tunnels that an address may make per second, in the long run; 0: unlimited */
  readonly requests: number;
  /** HTTP/2 streams and connections of an address together, as far as streams are concerned */
  readonly streams: number;
}

/** What exceeds the limits: a connection, which must close, or one request. */
type Excess = 'connection' | 'request';

/** Open connections of one address. */
interface OpenConnections {
  readonly address: string;
  /** never 0 */
  count: number;
  /** HTTP/2 streams on them */
  streams: number;
  /** idle ones, longest first; `undefined` before there is one */
  idle: Set<AddressCount> | undefined;
}

/** A connection whose address is limited. */
export interface LimitedConnection {
  /** Whether it waits for a request, and no byte of one has arrived. */
  readonly isWaiting: boolean;
  /** Another connection of its address needs its slot: it should close (RFC 9112 section 9.3). */
  giveWay(): void;
}

export class AddressLimits {
  readonly #max: number;
  readonly #maxStreams: number;
  readonly #rate: RateLimiter | undefined;
  readonly #proxies: BlockList;
  readonly #open = new Map<string, OpenConnections>();
  readonly #counts: Counts;

  /** @param counts those of the other processes of this relay */
  constructor(
    { connections, requests, streams }: AddressSettings,
    proxies: BlockList,
    clock: Clock,
    counts: Counts = NO_COUNTS,
  ) {
    this.#counts = counts;
    counts.listen('address', { giveWay: (address) => this.#giveWay(address) });
    counts.listen('request', { spent: (address) => void this.#rate?.take(address) });
    this.#max = connections === 0 ? Infinity : connections;
    this.#maxStreams = connections === 0 ? Infinity : streams;
    this.#proxies = proxies;
    if (requests > 0)
      this.#rate = new RateLimiter(clock, {
        perMinute: requests * 60,
        burst: requests * ADDRESS_BURST_SECONDS,
      });
  }

  /** Addresses with open connections. */
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
      open = { address, count: 0, streams: 0, idle: undefined };
      this.#open.set(address, open);
    }
    open.count += 1;
    this.changed(open);
    return open;
  }

  remove(open: OpenConnections): void {
    open.count -= 1;
    if (open.count === 0) this.#open.delete(open.address);
    this.changed(open);
  }

  /** The connections of an address have changed, or which of them are idle. */
  changed({ address, count, streams, idle }: OpenConnections): void {
    this.#counts.set('address', address, this.#max, count, idle?.size ?? 0);
    // Connections count as well where streams are limited.
    const most = this.#max === Infinity ? Infinity : this.#maxStreams - this.#max;
    this.#counts.set('stream', address, most, streams);
  }

  /** Whether the address exceeds its limit of connections. */
  isExceeded({ address, count }: OpenConnections): boolean {
    return count + this.#counts.others('address', address) > this.#max;
  }

  /** Counts one more HTTP/2 stream. @returns false if that is one too many */
  addStream(open: OpenConnections): boolean {
    const { address } = open;
    const streams = open.streams + this.#counts.others('stream', address);
    const count = open.count + this.#counts.others('address', address);
    if (streams > 0 && streams + count > this.#maxStreams) return false;
    open.streams += 1;
    this.changed(open);
    return true;
  }

  /** One of its HTTP/2 streams has ended. */
  removeStream(open: OpenConnections): void {
    open.streams -= 1;
    this.changed(open);
  }

  /** Closes idle connections, longest idle first, until the address is within its limit. */
  makeRoom(open: OpenConnections): void {
    for (const connection of open.idle ?? []) {
      if (!this.isExceeded(open)) return;
      connection.giveWay();
    }
    while (this.isExceeded(open) && this.#counts.displace('address', open.address));
  }

  /** Whether the address may make one more request now; if so, it is counted. */
  takeRequest({ address }: OpenConnections): boolean {
    if (this.#rate === undefined) return true;
    if (this.#rate.take(address) > 0) return false;
    this.#counts.spend('request', address);
    return true;
  }

  /** A connection of the address in another process needs its place. */
  #giveWay(address: string): void {
    for (const connection of this.#open.get(address)?.idle ?? []) if (connection.giveWay()) return;
  }
}

/**
 * The address that one connection counts for. A trusted proxy's connection carries requests of many visitors: there,
 * each request counts while it is in progress.
 */
export class AddressCount {
  readonly #limits: AddressLimits;
  readonly #peer: Peer;
  readonly #connection: LimitedConnection;
  /** of the counted address: behind a trusted proxy that of the current request, otherwise the peer's */
  #open: OpenConnections | undefined;
  #isExcess = false;

  constructor(limits: AddressLimits, peer: Peer, connection: LimitedConnection) {
    this.#limits = limits;
    this.#peer = peer;
    this.#connection = connection;
    if (peer.trusted) return;
    this.#count(limits.addressOf(peer));
  }

  /** A visitor's request begins. @param head `undefined` for a connection to a TLS or TCP tunnel, which is like one request */
  begin(head?: RequestHead): Excess | undefined {
    if (this.#peer.trusted) this.#count(this.#limits.addressOf(this.#peer, head));
    const open = this.#open;
    if (open === undefined) return undefined;
    this.busy();
    if (this.#isExcess && this.#limits.isExceeded(open)) this.#limits.makeRoom(open);
    // Since it was accepted, others may have closed or turned out to be clients.
    this.#isExcess &&= this.#limits.isExceeded(open);
    if (this.#isExcess) return this.#peer.trusted ? 'request' : 'connection';
    return this.#limits.takeRequest(open) ? undefined : 'request';
  }

  /** The request is over. */
  end(): void {
    if (this.#peer.trusted) return this.leave();
    if (this.#open === undefined) return;
    (this.#open.idle ??= new Set()).add(this);
    this.#limits.changed(this.#open);
  }

  /** A request has begun: the connection is no longer idle. */
  busy(): void {
    if (this.#open?.idle?.delete(this) === true) this.#limits.changed(this.#open);
  }

  /** What its address has open. */
  get open(): OpenConnections | undefined {
    return this.#open;
  }

  /** Another connection of the address needs its slot. @returns false if it stays open, because a request has begun */
  giveWay(): boolean {
    if (!this.#connection.isWaiting) return false;
    this.leave();
    this.#connection.giveWay();
    return true;
  }

  /** The connection has closed, or turned out to be a client's. */
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

/** The address of one HTTP/2 stream, on a connection that does not come from a trusted proxy. */
export class StreamCount {
  readonly #limits: AddressLimits;
  readonly #connection: AddressCount;
  #open: OpenConnections | undefined;

  /** @param connection that carries it */
  constructor(limits: AddressLimits, connection: AddressCount) {
    this.#limits = limits;
    this.#connection = connection;
  }

  /** A visitor's request begins. */
  begin(head: RequestHead): Excess | undefined {
    if (this.#connection.begin(head) !== undefined) return 'request';
    const { open } = this.#connection;
    if (open === undefined) return undefined;
    if (!this.#limits.addStream(open)) return 'request';
    this.#open = open;
    return undefined;
  }

  /** The request is over. */
  end(): void {
    this.leave();
  }

  leave(): void {
    if (this.#open !== undefined) this.#limits.removeStream(this.#open);
    this.#open = undefined;
  }
}

/* Which addresses are limited (protocol.md section 4.6). */

/** The addresses of this machine; the empty one is that of a peer that has already disconnected. */
const OWN_ADDRESSES: ReadonlySet<string> = new Set(['127.0.0.1', '::1', '']);

/**
 * @param head of a request; without one, the visitor behind a trusted proxy is unknown
 * @returns the visitor's address, for IPv6 its /64; `undefined` for addresses without limits: this machine, where a
 *   proxy that is not configured may run, and trusted proxies, which all visitors share
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
 * The address that sent a request: among the peer and the list that it forwarded, the last address that is not a
 * trusted proxy's (protocol.md section 4.6). The visitor may have invented the addresses before it.
 */
export function visitorAddress(fields: readonly Field[], peer: Peer, proxies: BlockList): string {
  let { address } = peer;
  if (!peer.trusted) return address;
  const list = fields.filter((field) => field.is('x-forwarded-for')).flatMap(({ value }) => value.split(','));
  for (const entry of list.toReversed()) {
    const next = forwardedAddress(entry.trim());
    if (isIP(next) === 0) break;
    address = next;
    if (!isTrusted(next, proxies)) break;
  }
  return address;
}

/** An IPv6 address in brackets, perhaps with a port, or an IPv4 address with a port. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\](?::\d+)?|([\d.]+):\d+)$/i;
const QUOTED = /^"(.*)"$/;

/** The address in an entry of a list of forwarded addresses: some proxies add the port, and quotes around both. */
function forwardedAddress(entry: string): string {
  const text = entry.replace(QUOTED, '$1');
  const [, inBrackets, withPort] = WITH_PORT.exec(text) ?? [];
  return plainAddress(inBrackets ?? withPort ?? text);
}
