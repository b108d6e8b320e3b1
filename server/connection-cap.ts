/**
 * Limits the open connections of a listener, and those of one source. A connection beyond that closes the one that has
 * been without a complete request for longest, so that idle connections evict each other, and new ones are served.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type CountKind, type Counts, NO_COUNTS } from './shared-counts.ts';

interface ConnectionCapLimits {
  /** how many may be open */
  readonly all: number;
  /** how many of them may come from one source */
  readonly source: number;
}

export class ConnectionCap {
  readonly #limits: ConnectionCapLimits;
  readonly #sourceOf: (address: string) => string;
  readonly #kind: CountKind | undefined;
  readonly #counts: Counts;
  /** with the source of each, the next one to close first */
  readonly #open = new Map<Socket, string>();

  /**
   * @param sourceOf groups IP addresses that count together
   * @param shared those of the other processes of this relay
   */
  constructor(
    limits: ConnectionCapLimits,
    sourceOf: (address: string) => string,
    shared?: { readonly kind: CountKind; readonly counts: Counts },
  ) {
    this.#limits = limits;
    this.#sourceOf = sourceOf;
    this.#kind = shared?.kind;
    this.#counts = shared?.counts ?? NO_COUNTS;
    if (shared !== undefined)
      shared.counts.listen(shared.kind, { giveWay: (source) => this.#closeOldest(source) });
  }

  /** Applies the limits to an HTTP server. */
  guard(server: Server): void {
    server.on('connection', (socket: Socket) => this.add(socket));
    server.on('request', ({ socket }) => this.completed(socket));
  }

  /** A connection was accepted. */
  add(socket: Socket): void {
    const source = this.#sourceOf(socket.remoteAddress ?? '');
    if (this.#sizeOf(source) >= this.#limits.source) this.#makeRoom(source);
    else if (this.#sizeOf('') >= this.#limits.all) this.#makeRoom('');
    this.#open.set(socket, source);
    this.#changed(source);
    socket.once('close', () => this.#remove(socket));
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

  /** @param source `''` for all */
  #ofSource(source: string): Socket[] {
    return [...this.#open].filter(([, other]) => source === '' || other === source).map(([socket]) => socket);
  }

  /** In all processes. */
  #sizeOf(source: string): number {
    const own = source === '' ? this.#open.size : this.#ofSource(source).length;
    return own + (this.#kind === undefined ? 0 : this.#counts.others(this.#kind, source));
  }

  #makeRoom(source: string): void {
    const hasClosed = this.#closeOldest(source);
    if (!hasClosed && this.#kind !== undefined) this.#counts.displace(this.#kind, source);
  }

  #closeOldest(source: string): boolean {
    const [oldest] = this.#ofSource(source);
    if (oldest === undefined) return false;
    this.#remove(oldest);
    oldest.destroy();
    return true;
  }

  #remove(socket: Socket): void {
    const source = this.#open.get(socket);
    if (source !== undefined && this.#open.delete(socket)) this.#changed(source);
  }

  #changed(source: string): void {
    if (this.#kind === undefined) return;
    const { size } = this.#open;
    const count = this.#ofSource(source).length;
    this.#counts.set(this.#kind, '', this.#limits.all, size, size);
    if (source !== '') this.#counts.set(this.#kind, source, this.#limits.source, count, count);
  }
}
