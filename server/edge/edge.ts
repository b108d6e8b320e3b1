/** The public listener: accepts connections, enforces their deadlines, and ends them at shutdown. */
import type { Server, Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { DRAIN_LOOK_MS } from '../clients/hub.ts';
import { HANDOFF_STEP_MS } from '../handoff/conversation.ts';
import { traffic } from '../observe/counters.ts';
import type { Counts } from '../shared-counts.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import type { TcpPorts } from '../tunnels/tcp-ports.ts';
import {
  AddressCount,
  type AddressLimits,
  ConnectionLimiter,
  Slot,
  type SlotLimits,
  ConnectionSlots,
  StreamCount,
} from './connection-limiter.ts';
import { type Arrival, Entrance, type Expected, peersOf, type TakesUnread } from './entrance.ts';
import { Http2Connection } from './http2/connection.ts';
import { coverageOf } from './http2/coverage.ts';
import type { KeptStreams } from './kept-streams.ts';
import type { Onward } from './onward.ts';
import { RawConnection } from './raw-connection.ts';
import { isTrusted, type Peer } from './request-head.ts';
import { tlsTunnelAt } from './route.ts';
import { DEADLINE_TICK_MS } from './timeouts.ts';
import type { Upstreams } from './upstreams.ts';
import { SocketConnection, type VisitorConnection } from './visitor-connection.ts';
import { Visitor, type VisitorOptions } from './visitor.ts';

/**
 * How long a relay that is shutting down waits for a quiet moment to close its listener, even if connections
 * still arrive.
 */
const DRAIN_BACKLOG_MS = 5000;
/**
 * How long a relay that is shutting down waits for that moment before it holds new requests back until the
 * listener is closed: a busy relay accepts connections more slowly than they arrive.
 */
const DRAIN_HOLD_AFTER_MS = 500;
/** Longest event-loop iteration that counts as a quiet moment to close the listener. */
const QUIET_TURN_MS = 0.2;
/**
 * Interval at which the iteration length that counts as quiet is doubled while the listener waits to close: a
 * busy relay has no quieter one.
 */
const QUIET_DOUBLING_MS = 500;
/**
 * How long no connection may have arrived when the listener closes, at first: a balancer opens several within
 * milliseconds. Halved every {@link SILENCE_HALVING_MS}, because a busy relay has no such pause.
 */
const SILENCE_MS = 20;
const SILENCE_HALVING_MS = 100;
/** How long a handoff waits for the rest of an API request's body to arrive. */
export const HANDOFF_SETTLE_MS = 2000;

export class Edge {
  readonly #server: Server;
  readonly #upstreams: Upstreams;
  readonly #ports: Pick<TcpPorts, 'close'> | undefined;
  readonly #byId: (tunnelId: string) => LiveTunnel | undefined;
  readonly #slots: ConnectionSlots;
  /** for connections that arrive during shutdown */
  readonly #noSlots: ConnectionSlots;
  readonly #addresses: AddressLimits;
  /** all connections, and streams of HTTP/2, oldest first */
  readonly #visitors = new Set<Visitor>();
  /** the connections of HTTP/2, oldest first */
  readonly #http2 = new Set<Http2Connection>();
  /** connections to TLS and TCP tunnels, oldest first */
  readonly #raw = new Map<RawConnection, Peer>();
  readonly #proto: Peer['proto'];
  /** Whether there are trusted proxies: searching an empty list takes as long as a full one, and most are empty. */
  readonly #trustsAny: boolean;
  /** connections accepted since the start */
  #taken = 0;
  /** monotonic ms of the last one */
  #takenAt = -Infinity;
  #draining = false;
  /** whether new visitors are refused */
  #turnsAway = false;
  /** fulfilled when that is so, once it is asked for */
  #turned: Promise<void> | undefined;
  /** the connections that were open when the shutdown began */
  readonly #standing = new Set<Visitor | RawConnection>();
  /** the connections that have no visitor yet */
  readonly #entrance: Entrance;
  /** those of them that were there when the shutdown began */
  #arrivingAtDrain: ReadonlySet<Socket> = new Set();
  /** whether new requests wait until it is known which relay serves them */
  #isHolding = false;
  /** the relay that serves instead of this one */
  #onward: Onward | undefined;
  readonly #ticker: NodeJS.Timeout;
  #onEmpty: (() => void) | undefined;

  /**
   * @param server bound, without a listener for its connections so far
   * @param expected what its connections begin with, before they are visitors'
   * @param ports whose connections {@link acceptRaw} takes
   * @param byId finds the tunnels of connections that the previous relay passes on
   */
  constructor(
    server: Server,
    upstreams: Upstreams,
    { counts, ...limits }: SlotLimits & { /** those of the other processes */ readonly counts?: Counts },
    addresses: AddressLimits,
    expected: Expected = {},
    ports?: Pick<TcpPorts, 'close'>,
    byId: (tunnelId: string) => LiveTunnel | undefined = () => undefined,
  ) {
    this.#ports = ports;
    this.#byId = byId;
    this.#server = server;
    this.#upstreams = upstreams;
    this.#addresses = addresses;
    this.#trustsAny = upstreams.context.trustedProxies.rules.length > 0;
    this.#slots = new ConnectionSlots(limits, counts);
    this.#noSlots = new ConnectionSlots({ ...limits, visitors: 0 });
    this.#proto = expected.tls === undefined ? 'http' : 'https';
    this.#entrance = new Entrance(
      server,
      expected,
      limits.newcomers,
      (socket, arrival) => this.#accept(socket, arrival),
      this.#takesUnread,
    );
    server.on('connection', () => this.#countTaken());
    // Out of file descriptors, for example: open connections continue, and the next accept may succeed.
    server.on('error', (error) => upstreams.unexpected(error));
    // Reads come first: a busy relay must not close a connection whose next request has already arrived.
    this.#ticker = setInterval(() => setImmediate(() => this.#tick()), DEADLINE_TICK_MS);
  }

  #tick(): void {
    const now = this.#upstreams.now();
    for (const visitor of this.#visitors) visitor.tick(now);
    for (const connection of this.#http2) connection.tick(now);
    for (const connection of this.#raw.keys()) connection.tick(now);
  }

  /** Visitors' open connections, without those that turned out to be clients. Each HTTP/2 stream counts as one. */
  get visitors(): number {
    return this.#visitors.size + this.#raw.size;
  }

  /**
   * Takes a connection to the port of a TCP tunnel.
   *
   * @param find the tunnel, if it still lives
   */
  acceptRaw(tcp: Socket, find: () => LiveTunnel | undefined): void {
    this.#countTaken();
    void this.#entrance.enterUnread(tcp, (socket, arrival) => {
      const tunnel = find();
      if (tunnel === undefined) socket.destroy();
      else this.#enterRaw(socket, arrival, tunnel);
    });
  }

  readonly #takesUnread: TakesUnread = (host) => {
    const take = (tunnel: LiveTunnel | undefined) =>
      tunnel && ((socket: Socket, arrival: Arrival): void => this.#enterRaw(socket, arrival, tunnel));
    const found = tlsTunnelAt(host, this.#upstreams.context);
    return found instanceof Promise ? found.then(take, () => undefined) : take(found);
  };

  #enterRaw(socket: Socket, arrival: Arrival, tunnel: LiveTunnel): void {
    // It has closed while the relay started, and nothing more will be heard of it.
    if (socket.destroyed) return;
    const { address, isVague, tcp } = arrival;
    const peer = { address, proto: this.#proto, trusted: !isVague && this.#isTrusted(address) };
    const isLate = this.#turnsAway && !this.#arrivingAtDrain.has(tcp);
    traffic.connections += 1;
    this.#serveRaw(socket, peer, { tunnel, peers: peersOf(arrival), isLate });
  }

  #serveRaw(
    socket: Socket,
    peer: Peer,
    { tunnel, peers, isLate }: { tunnel: LiveTunnel; peers: string; isLate: boolean },
  ): void {
    const { now, accessLog, dialer } = this.#upstreams;
    const gone = (ended: RawConnection): void => {
      this.#raw.delete(ended);
      this.#standing.delete(ended);
      this.#onGone();
    };
    const options = { tunnel, address: peer.address, peers, dialer, gone, now, accessLog };
    const connection = new RawConnection(socket, options);
    this.#raw.set(connection, peer);
    if (this.#draining && !isLate) this.#standing.add(connection);
    if (this.#onward !== undefined) return connection.leave(this.#onward, peer);
    connection.begin(
      new Slot(isLate ? this.#noSlots : this.#slots, connection),
      new AddressCount(this.#addresses, peer, connection),
    );
  }

  /**
   * Holds new requests back and completes those that the relay itself is processing: after that it changes no state
   * that another relay would have to know. A request whose body does not end is refused.
   *
   * @returns false if that takes too long
   */
  async hold(): Promise<boolean> {
    this.#holdVisitors();
    const begin = this.#upstreams.now();
    for (;;) {
      const working = [...this.#visitors].filter((visitor) => visitor.ownWork !== 'none');
      const ms = this.#upstreams.now() - begin;
      if (working.length === 0) return true;
      if (ms > HANDOFF_STEP_MS) return false;
      if (ms > HANDOFF_SETTLE_MS)
        for (const visitor of working) if (visitor.ownWork === 'unread') visitor.refuseUnread();
      await sleep(DRAIN_LOOK_MS);
    }
  }

  #holdVisitors(): void {
    this.#isHolding = true;
    for (const visitor of this.#visitors) visitor.hold();
  }

  /** Serves requests again, including those that have waited. */
  resume(): void {
    this.#isHolding = false;
    for (const visitor of this.#visitors) visitor.resume();
  }

  /** Another relay listens instead of this one: from here on, requests are passed to it. */
  leave(onward: Onward): void {
    this.#onward = onward;
    this.#isHolding = false;
    this.#server.close();
    // Its listeners for these are not those of the other relay: what they have accepted is served here.
    void this.#backlogTaken().then(() => this.#ports?.close());
    for (const visitor of this.#visitors) visitor.leave(onward);
    for (const [connection, peer] of this.#raw) connection.leave(onward, peer);
    for (const connection of this.#http2) connection.drain();
  }

  /**
   * Accepts a connection from the relay that this one has replaced. It closes after its next response, because that
   * relay exits.
   */
  adopt(socket: Socket, { address, proto, trusted, raw }: Peer): void {
    const peer = { address, proto, trusted: trusted && this.#isTrusted(address) };
    if (raw !== undefined) {
      const tunnel = this.#byId(raw.tunnelId);
      if (tunnel === undefined) return void socket.destroy();
      return this.#serveRaw(socket, peer, { tunnel, peers: raw.peers, isLate: false });
    }
    const limiter = (entering: Visitor) => this.#limiter(peer, entering, false);
    this.#enter(new SocketConnection(socket), peer, limiter, { isPassed: true }).drain();
    socket.resume();
  }

  /**
   * Accepts no more visitors, and lets the present ones finish their current response. The listener stays open for
   * data sockets until no earlier visitor needs one; then it closes and the promise is fulfilled. The usual time
   * limits of visitors bound the wait.
   */
  async settle(): Promise<void> {
    await this.turnAway();
    while (!this.#isSettled()) await sleep(DRAIN_LOOK_MS);
    this.#server.close();
  }

  /** The first part of {@link settle}. @returns fulfilled when visitors who arrive are turned away */
  turnAway(): Promise<void> {
    return (this.#turned ??= this.#turnAway());
  }

  async #turnAway(): Promise<void> {
    const heldBack = await this.#backlogTaken();
    this.#ports?.close();
    if (heldBack) this.resume();
    this.#turnsAway = true;
    this.#arrivingAtDrain = new Set(this.#entrance.current);
    for (const visitor of [...this.#visitors, ...this.#raw.keys()]) this.#standing.add(visitor);
    this.#drainVisitors();
  }

  /**
   * The same for a cluster, whose other relays accept visitors and data sockets: the listener closes immediately,
   * because a balancer tries the next relay when a connection is refused. Open connections are served and end only
   * after that, so that the balancer does not open new ones to a listener that is about to close.
   */
  async handOver(): Promise<void> {
    const heldBack = await this.#backlogTaken();
    this.#server.close();
    this.#ports?.close();
    if (heldBack) this.resume();
    this.#drainVisitors();
  }

  #drainVisitors(): void {
    this.#draining = true;
    for (const visitor of this.#visitors) visitor.drain();
    for (const connection of this.#http2) connection.drain();
  }

  /**
   * Accepts what the system has already accepted. Node takes one connection out of the backlog in each iteration of
   * the event loop, so all have been accepted when an iteration yields none. A connection that arrives after that
   * check is lost when the listener closes: so it should be an iteration with almost no work, after a pause. If there is
   * none for {@link DRAIN_HOLD_AFTER_MS}, new requests are held back.
   *
   * @returns whether it holds requests back, which the caller has to resume
   */
  async #backlogTaken(): Promise<boolean> {
    let heldBack = false;
    const begin = this.#upstreams.now();
    await nextTurn();
    for (;;) {
      const taken = this.#taken;
      const turn = this.#upstreams.now();
      await nextTurn();
      const now = this.#upstreams.now();
      const waited = now - begin;
      const isQuiet =
        taken === this.#taken &&
        now - Math.max(begin, this.#takenAt) >= SILENCE_MS / 2 ** (waited / SILENCE_HALVING_MS) &&
        now - turn < QUIET_TURN_MS * 2 ** (waited / QUIET_DOUBLING_MS);
      if (isQuiet || waited > DRAIN_BACKLOG_MS) return heldBack;
      if (waited > DRAIN_HOLD_AFTER_MS && !this.#isHolding) {
        this.#holdVisitors();
        heldBack = true;
      }
    }
  }

  #countTaken(): void {
    this.#taken += 1;
    this.#takenAt = this.#upstreams.now();
  }

  #isSettled(): boolean {
    for (const visitor of this.#standing) if (!visitor.isSettled) return false;
    return !this.#entrance.current.some((tcp) => this.#arrivingAtDrain.has(tcp));
  }

  /** Resolves when every connection has ended, once the listener is closed. */
  async empty(): Promise<void> {
    // They have a time limit, and may still become visitors.
    while (this.#entrance.current.length > 0) await sleep(DRAIN_LOOK_MS);
    if (this.#isEmpty) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** The access policy changed: ends long-lived connections that are no longer allowed. */
  review(tunnel: LiveTunnel): void {
    for (const visitor of this.#visitors) visitor.review(tunnel);
    for (const connection of this.#raw.keys()) connection.review(tunnel);
  }

  /** Cuts every connection. */
  destroy(): void {
    clearInterval(this.#ticker);
    this.#server.close();
    this.#ports?.close();
    for (const tcp of this.#entrance.current) tcp.destroy();
    for (const visitor of this.#visitors) visitor.destroy();
    for (const connection of this.#http2) connection.destroy();
    for (const connection of this.#raw.keys()) connection.destroy();
  }

  #accept(socket: Socket, { tcp, address, isVague }: Arrival): void {
    const peer = { address, proto: this.#proto, trusted: !isVague && this.#isTrusted(address) };
    traffic.connections += 1;
    const isLate = this.#turnsAway && !this.#arrivingAtDrain.has(tcp);
    if (speaksHttp2(socket)) return this.#acceptHttp2(socket, peer, isLate);
    const limiter = (entering: Visitor) => this.#limiter(peer, entering, isLate);
    this.#arrive(new SocketConnection(socket), peer, limiter, isLate);
  }

  #acceptHttp2(socket: TLSSocket, tcpPeer: Peer, isLate: boolean): void {
    if (socket.destroyed) return;
    const peer = { ...tcpPeer, covers: coverageOf(socket) };
    const slots = isLate ? this.#noSlots : this.#slots;
    const connection = new Http2Connection(socket, {
      now: this.#upstreams.now,
      slot: (holder) => new Slot(slots, holder),
      address: (limited) => new AddressCount(this.#addresses, peer, limited),
      onStream: (stream) => {
        const limiter = (entering: Visitor) =>
          peer.trusted
            ? this.#limiter(peer, entering, isLate)
            : new ConnectionLimiter(
                new Slot(slots, entering),
                new StreamCount(this.#addresses, connection.address),
              );
        this.#arrive(stream, peer, limiter, isLate, connection.kept);
      },
      onClosed: () => {
        this.#http2.delete(connection);
        this.#onGone();
      },
    });
    this.#http2.add(connection);
    // There is no half-close: the end of the connection is the end of its streams, whose responses nobody reads.
    socket.once('end', () => connection.destroy());
    if (this.#draining || this.#onward !== undefined) connection.drain();
  }

  #limiter(peer: Peer, entering: Visitor, isLate: boolean): ConnectionLimiter {
    return new ConnectionLimiter(
      new Slot(isLate ? this.#noSlots : this.#slots, entering),
      new AddressCount(this.#addresses, peer, entering),
    );
  }

  /** A new visitor, in the state that all others are in. */
  #arrive(
    socket: VisitorConnection,
    peer: Peer,
    limiter: (entering: Visitor) => ConnectionLimiter,
    isLate: boolean,
    kept?: KeptStreams,
  ): void {
    const visitor = this.#enter(socket, peer, limiter, kept && { kept });
    if (this.#draining) visitor.drain();
    if (this.#draining && !isLate) this.#standing.add(visitor);
    if (this.#isHolding) visitor.hold();
    if (this.#onward !== undefined) visitor.leave(this.#onward);
  }

  #enter(
    socket: VisitorConnection,
    peer: Peer,
    limiter: (entering: Visitor) => ConnectionLimiter,
    more: Pick<VisitorOptions, 'isPassed' | 'kept'> = {},
  ): Visitor {
    const options = { enter: limiter, gone: this.#forget, ...more };
    const visitor = new Visitor(socket, peer, this.#upstreams, options);
    this.#visitors.add(visitor);
    return visitor;
  }

  #isTrusted(address: string): boolean {
    return this.#trustsAny && address !== '' && isTrusted(address, this.#upstreams.context.trustedProxies);
  }

  readonly #forget = (visitor: Visitor): void => {
    this.#visitors.delete(visitor);
    this.#onGone();
  };

  get #isEmpty(): boolean {
    return this.#visitors.size + this.#http2.size + this.#raw.size === 0;
  }

  #onGone(): void {
    if (this.#isEmpty) this.#onEmpty?.();
  }
}

function speaksHttp2(socket: Socket): socket is TLSSocket {
  return 'alpnProtocol' in socket && socket.alpnProtocol === 'h2';
}
