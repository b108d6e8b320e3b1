/** The listener for everybody: takes connections, keeps their deadlines, and ends them all at shutdown. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { traffic } from '../observe/counters.ts';
import { DEADLINE_TICK_MS, DRAIN_LOOK_MS, KEEP_ALIVE_MS } from '../limits.ts';
import type { Origins } from './origins.ts';
import { isTrusted, type Peer, plainAddress } from './request-head.ts';
import { Visitor } from './visitor.ts';

/**
 * Binds the listener. Connections come only once the caller has given up control, so an {@link Edge} made at once
 * misses none.
 *
 * @param port 0 picks a free one
 * @throws the system's error when the address is taken or not ours
 */
export async function bind(host: string, port: number): Promise<Server> {
  // Half-open, because a visitor that has sent its request and closes its side still gets the answer.
  const server = createServer({
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return server;
}

/** @returns the port a listener is bound to */
export function boundPort(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** How many connections an {@link Edge} holds. Those given away to `link` are no longer among them. */
export interface EdgeLimits {
  /** connections whose visitors have been admitted: from their first request that is no upgrade to the relay */
  readonly visitors: number;
  /** connections that have not got so far; beyond it the oldest is cut */
  readonly newcomers: number;
}

export class Edge {
  readonly #server: Server;
  readonly #origins: Origins;
  readonly #limits: EdgeLimits;
  /** all connections, oldest first */
  readonly #visitors = new Set<Visitor>();
  /** those of them that are not admitted, so that clients get in while visitors fill the relay */
  readonly #newcomers = new Set<Visitor>();
  #admitted = 0;
  #draining = false;
  readonly #ticker: NodeJS.Timeout;
  #onEmpty: (() => void) | undefined;

  /** @param server bound, with nobody listening to its connections yet */
  constructor(server: Server, origins: Origins, limits: EdgeLimits) {
    this.#server = server;
    this.#origins = origins;
    this.#limits = limits;
    server.on('connection', (socket) => this.#accept(socket));
    // Out of file descriptors, say: what there is goes on, and the next accept may work.
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
   * Takes no more visitors, and lets those there are end with their current response. The listener stays for data
   * sockets until no visitor of before needs one any more; then it closes and the promise is fulfilled. Those limits that
   * every visitor has anyway bound the wait.
   */
  async settle(): Promise<void> {
    // What the system took before counts as taken; by the second turn of the event loop it has all come here.
    await nextTurn();
    await nextTurn();
    this.#draining = true;
    const standing = [...this.#visitors];
    for (const visitor of standing) visitor.drain();
    while (!standing.every((visitor) => visitor.isSettled)) await sleep(DRAIN_LOOK_MS);
    this.#server.close();
  }

  /** Resolves when every connection has ended. */
  async empty(): Promise<void> {
    if (this.#visitors.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
    });
  }

  /** Cuts every connection. */
  destroy(): void {
    clearInterval(this.#ticker);
    this.#server.close();
    for (const visitor of this.#visitors) visitor.destroy();
  }

  #accept(socket: Socket): void {
    traffic.connections += 1;
    const isLate = this.#draining;
    const visitor = new Visitor(socket, () => this.#peerOf(socket), this.#origins, {
      admit: (newcomer) => !isLate && this.#admit(newcomer),
      gone: (gone) => this.#forget(gone),
    });
    if (isLate) visitor.drain();
    this.#visitors.add(visitor);
    this.#newcomers.add(visitor);
    if (this.#newcomers.size <= this.#limits.newcomers) return;
    const [oldest] = this.#newcomers;
    if (oldest !== undefined) this.#newcomers.delete(oldest);
    oldest?.destroy();
  }

  #admit(visitor: Visitor): boolean {
    if (this.#admitted >= this.#limits.visitors) return false;
    this.#admitted += 1;
    this.#newcomers.delete(visitor);
    return true;
  }

  #peerOf(socket: Socket): Peer {
    const address = plainAddress(socket.remoteAddress ?? '');
    const { trustedProxies } = this.#origins.context;
    // Most relays trust nobody, and an empty list takes as long to ask as a full one.
    const trusted = trustedProxies.rules.length > 0 && address !== '' && isTrusted(address, trustedProxies);
    return { address, proto: 'http', trusted };
  }

  #forget(visitor: Visitor): void {
    this.#visitors.delete(visitor);
    if (visitor.isAdmitted) this.#admitted -= 1;
    else this.#newcomers.delete(visitor);
    if (this.#visitors.size === 0) this.#onEmpty?.();
  }
}
