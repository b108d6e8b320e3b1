/** The listener for everybody: takes connections, keeps their deadlines, and ends them all at shutdown. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { DEADLINE_TICK_MS } from '../limits.ts';
import type { Origins } from './origins.ts';
import { isTrusted, plainAddress } from './request-head.ts';
import { Visitor } from './visitor.ts';

export class Edge {
  readonly #origins: Origins;
  readonly #server: Server;
  readonly #visitors = new Set<Visitor>();
  #ticker: NodeJS.Timeout | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(origins: Origins) {
    this.#origins = origins;
    // Half-open, because a visitor that has sent its request and closes its side still gets the answer.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
  }

  /**
   * Listens.
   *
   * @param port 0 picks a free one
   * @returns the port bound
   * @throws the system's error when the address is taken or not ours
   */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    this.#ticker = setInterval(() => {
      const now = this.#origins.now();
      for (const visitor of this.#visitors) visitor.tick(now);
    }, DEADLINE_TICK_MS);
    return (this.#server.address() as AddressInfo).port;
  }

  /** Takes no more connections, and lets those there are end with their current response. Resolves when all have. */
  async drain(): Promise<void> {
    this.#server.close();
    for (const visitor of this.#visitors) visitor.drain();
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
    const address = plainAddress(socket.remoteAddress ?? '');
    const trusted = address !== '' && isTrusted(address, this.#origins.context.trustedProxies);
    const visitor = new Visitor(socket, { address, proto: 'http', trusted }, this.#origins, (gone) =>
      this.#forget(gone),
    );
    this.#visitors.add(visitor);
  }

  #forget(visitor: Visitor): void {
    this.#visitors.delete(visitor);
    if (this.#visitors.size === 0) this.#onEmpty?.();
  }
}
