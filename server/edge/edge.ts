/** The listener for everybody: takes connections, keeps their deadlines, and ends them all at shutdown. */
import type { Server, Socket } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { traffic } from '../observe/counters.ts';
import { DEADLINE_TICK_MS, DRAIN_BACKLOG_MS, DRAIN_LOOK_MS, QUIET_TURN_MS } from '../limits.ts';
import type { LiveTunnel } from '../tunnels/live-tunnel.ts';
import { AddressCount, type AddressLimits } from './admission/address-limits.ts';
import { Admission } from './admission/admission.ts';
import { Place, type SeatLimits, Seats } from './admission/seats.ts';
import { Visitor } from './connection/visitor.ts';
import type { Origins } from './exchange/origins.ts';
import { isTrusted, type Peer, plainAddress } from './heads/request-head.ts';
import { Handshakes } from './listener/tls-handshakes.ts';

export class Edge {
  readonly #server: Server;
  readonly #origins: Origins;
  readonly #seats: Seats;
  /** for those who come while the relay is shutting down */
  readonly #noSeats: Seats;
  readonly #addresses: AddressLimits;
  /** all connections, oldest first */
  readonly #visitors = new Set<Visitor>();
  readonly #proto: Peer['proto'] = 'http';
  /** Whether there are trusted proxies: to ask an empty list takes as long as to ask a full one, and most are empty. */
  readonly #trustsAny: boolean;
  /** connections accepted since the start */
  #taken = 0;
  #draining = false;
  /** whether visitors that come now are sent away */
  #turnsAway = false;
  /** the connections that existed when the relay began to shut down */
  readonly #standing = new Set<Visitor>();
  /** with TLS, the connections that have no visitor yet */
  readonly #handshakes: Handshakes | undefined;
  /** those of them that existed when the relay began to shut down */
  #shakingAtDrain: ReadonlySet<Socket | undefined> = new Set();
  readonly #ticker: NodeJS.Timeout;
  #onEmpty: (() => void) | undefined;

  /** @param server bound, with no listener for its connections yet */
  constructor(server: Server, origins: Origins, limits: SeatLimits, addresses: AddressLimits) {
    this.#server = server;
    this.#origins = origins;
    this.#addresses = addresses;
    this.#trustsAny = origins.context.trustedProxies.rules.length > 0;
    this.#seats = new Seats(limits);
    this.#noSeats = new Seats({ ...limits, visitors: 0 });
    if (server instanceof TlsServer) {
      this.#proto = 'https';
      this.#handshakes = new Handshakes(server, limits.newcomers, (socket, tcp) =>
        this.#accept(socket, this.#turnsAway && !this.#shakingAtDrain.has(tcp)),
      );
    } else {
      server.on('connection', (socket) => this.#accept(socket, this.#turnsAway));
    }
    server.on('connection', () => (this.#taken += 1));
    // Out of file descriptors, for example: open connections go on, and the next accept may work.
    server.on('error', (error) => origins.unexpected(error));
    this.#ticker = setInterval(() => {
      const now = origins.now();
      for (const visitor of this.#visitors) visitor.tick(now);
    }, DEADLINE_TICK_MS);
  }

  /** Visitors' connections that are open; those of clients are no longer among them. */
  get visitors(): number {
    return this.#visitors.size;
  }

  /**
   * Accepts no more visitors, and lets the present ones finish their current response. The listener stays open for data
   * sockets until no earlier visitor needs one any more; then it closes and the promise is fulfilled. The time limits that
   * every visitor has anyway bound the wait.
   */
  async settle(): Promise<void> {
    await this.#backlogTaken();
    this.#turnsAway = true;
    this.#shakingAtDrain = new Set(this.#handshakes?.current);
    for (const visitor of this.#visitors) this.#standing.add(visitor);
    this.#drainVisitors();
    while (!this.#isSettled()) await sleep(DRAIN_LOOK_MS);
    this.#server.close();
  }

  /**
   * The same where other relays accept visitors and data sockets: the listener closes at once, because a balancer goes to
   * the next relay when its connection is refused. Those who were in before are served; their connections end only after
   * that, so that the balancer does not open new ones in their place while the listener closes.
   */
  async handOver(): Promise<void> {
    await this.#backlogTaken();
    this.#server.close();
    this.#drainVisitors();
  }

  #drainVisitors(): void {
    this.#draining = true;
    for (const visitor of this.#visitors) visitor.drain();
  }

  /**
   * What the system has already accepted counts as accepted. Node takes one connection out of the backlog in each turn of
   * the event loop, so all have arrived here when a whole turn brings none. A connection that comes after that turn has
   * looked is lost when the listener closes: so it has to be a turn in which next to nothing happens, if there is one.
   */
  async #backlogTaken(): Promise<void> {
    const begin = this.#origins.now();
    await nextTurn();
    for (;;) {
      const taken = this.#taken;
      const turn = this.#origins.now();
      await nextTurn();
      const now = this.#origins.now();
      if (now - begin > DRAIN_BACKLOG_MS || (taken === this.#taken && now - turn < QUIET_TURN_MS)) return;
    }
  }

  #isSettled(): boolean {
    for (const visitor of this.#standing) if (!visitor.isSettled) return false;
    return this.#handshakes?.current.some((tcp) => this.#shakingAtDrain.has(tcp)) !== true;
  }

  /** Resolves when every connection has ended, once the listener is closed. */
  async empty(): Promise<void> {
    // A handshake has a time limit, and may yet turn into a visitor.
    while (this.#handshakes !== undefined && this.#handshakes.current.length > 0) await sleep(DRAIN_LOOK_MS);
    if (this.#visitors.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** Others may come into a tunnel than before: whoever is in it for long and may not be any more has to leave. */
  review(tunnel: LiveTunnel): void {
    for (const visitor of this.#visitors) visitor.review(tunnel);
  }

  /** Cuts every connection. */
  destroy(): void {
    clearInterval(this.#ticker);
    this.#server.close();
    this.#handshakes?.destroy();
    for (const visitor of this.#visitors) visitor.destroy();
  }

  /** @param isLate whether it came when the relay was shutting down */
  #accept(socket: Socket, isLate: boolean): void {
    traffic.connections += 1;
    const peer = this.#peerOf(socket);
    const visitor = new Visitor(socket, peer, this.#origins, {
      enter: (entering) =>
        new Admission(
          new Place(isLate ? this.#noSeats : this.#seats, entering),
          new AddressCount(this.#addresses, peer),
        ),
      gone: (gone) => this.#forget(gone),
    });
    if (this.#draining) visitor.drain();
    if (this.#draining && !isLate) this.#standing.add(visitor);
    this.#visitors.add(visitor);
  }

  #peerOf(socket: Socket): Peer {
    const address = plainAddress(socket.remoteAddress ?? '');
    const trusted =
      this.#trustsAny && address !== '' && isTrusted(address, this.#origins.context.trustedProxies);
    return { address, proto: this.#proto, trusted };
  }

  #forget(visitor: Visitor): void {
    this.#visitors.delete(visitor);
    if (this.#visitors.size === 0) this.#onEmpty?.();
  }
}
