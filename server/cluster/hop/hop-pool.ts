/** Connections to other relays that carry nothing at the moment. */
import { HOP_IDLE_MAX, HOP_IDLE_MS } from '../../limits.ts';
import type { HopConnection } from './hop-connection.ts';

export class HopPool {
  /** by the incarnation of the relay; those used last are last */
  readonly #idle = new Map<string, HopConnection[]>();

  /** @returns the one that was used last, which is the least likely to be gone */
  take(incarnation: string): HopConnection | undefined {
    const connection = this.#idle.get(incarnation)?.pop();
    connection?.setTimeout(0);
    return connection;
  }

  /** Keeps a connection for {@link HOP_IDLE_MS}, or closes it if there are enough. */
  keep(incarnation: string, connection: HopConnection): void {
    if (!connection.isOpen) return;
    const idle = this.#idle.get(incarnation) ?? [];
    if (idle.length >= HOP_IDLE_MAX) return connection.destroy();
    this.#idle.set(incarnation, idle);
    idle.push(connection);
    connection.setTimeout(HOP_IDLE_MS);
    const lost = (): void => connection.destroy();
    connection.handler = {
      // Nothing was requested on it.
      onPiece: lost,
      onEnd: lost,
      onDrain() {},
      onClose: () => this.#forget(incarnation, connection),
    };
  }

  /** Closes all of them. */
  close(): void {
    for (const idle of this.#idle.values()) for (const connection of idle) connection.destroy();
  }

  #forget(incarnation: string, connection: HopConnection): void {
    const left = this.#idle.get(incarnation)?.filter((other) => other !== connection) ?? [];
    if (left.length > 0) this.#idle.set(incarnation, left);
    else this.#idle.delete(incarnation);
  }
}
