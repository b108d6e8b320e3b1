/**
 * Limits the open connections of a listener, and those of one source. A connection beyond that closes the one that has
 * been without a complete request for longest, so that idle connections evict each other, and new ones are served.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

interface ConnectionCapLimits {
  /** how many may be open */
  readonly all: number;
  /** how many of them may come from one source */
  readonly source: number;
}

export class ConnectionCap {
  readonly #limits: ConnectionCapLimits;
  readonly #sourceOf: (address: string) => string;
  /** with the source of each, the next one to close first */
  readonly #open = new Map<Socket, string>();

  /** @param sourceOf groups IP addresses that count together */
  constructor(limits: ConnectionCapLimits, sourceOf: (address: string) => string) {
    this.#limits = limits;
    this.#sourceOf = sourceOf;
  }

  /** Applies the limits to an HTTP server. */
  guard(server: Server): void {
    server.on('connection', (socket: Socket) => this.add(socket));
    server.on('request', ({ socket }) => this.completed(socket));
  }

  /** A connection was accepted. */
  add(socket: Socket): void {
    const source = this.#sourceOf(socket.remoteAddress ?? '');
    const ofSource = [...this.#open].filter(([, other]) => other === source);
    const [oldest] = ofSource.length >= this.#limits.source ? ofSource : this.#open;
    if (ofSource.length >= this.#limits.source || this.#open.size >= this.#limits.all)
      this.#close(oldest?.[0]);
    this.#open.set(socket, source);
    socket.once('close', () => this.#open.delete(socket));
  }

  /** A connection has sent a complete request: it counts as new. */
  completed(socket: Socket): void {
    const source = this.#open.get(socket);
    if (source === undefined || !this.#open.delete(socket)) return;
    this.#open.set(socket, source);
  }

  /** Cuts every connection. */
  destroy(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  #close(socket: Socket | undefined): void {
    if (socket === undefined) return;
    this.#open.delete(socket);
    socket.destroy();
  }
}
