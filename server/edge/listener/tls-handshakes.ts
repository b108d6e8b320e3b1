/** Connections to a TLS listener before anybody owns them. */
import type { Socket } from 'node:net';
import type { Server, TLSSocket } from 'node:tls';

/** The connections of a TLS listener, from their TCP connection to the end of their handshake. */
export class Handshakes {
  readonly #limit: number;
  /** by the addresses of both ends, oldest first */
  readonly #shaking = new Map<string, Socket>();

  /**
   * @param limit of handshakes at a time; beyond it the oldest is cut
   * @param secured called with each connection whose handshake is done
   */
  constructor(server: Server, limit: number, secured: (socket: Socket, tcp: Socket | undefined) => void) {
    this.#limit = limit;
    server.on('connection', (tcp: Socket) => this.#began(tcp));
    server.on('secureConnection', (socket) => {
      const tcp = this.#shaking.get(addressesOf(socket));
      this.#shaking.delete(addressesOf(socket));
      socket.allowHalfOpen = true;
      secured(resettable(socket, tcp), tcp);
    });
  }

  /** The TCP connections that are in a handshake at this moment. */
  get current(): readonly Socket[] {
    return [...this.#shaking.values()];
  }

  /** Cuts all that are in a handshake. */
  destroy(): void {
    for (const tcp of this.#shaking.values()) tcp.destroy();
  }

  #began(tcp: Socket): void {
    const addresses = addressesOf(tcp);
    this.#shaking.set(addresses, tcp);
    tcp.on('error', () => tcp.destroy());
    tcp.once('close', () => {
      if (this.#shaking.get(addresses) === tcp) this.#shaking.delete(addresses);
    });
    if (this.#shaking.size <= this.#limit) return;
    const [oldest] = this.#shaking.values();
    oldest?.destroy();
  }
}

function addressesOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`;
}

/**
 * Node resets only bare TCP connections, and a TLS connection that just ends looks complete to many a visitor: so the
 * reset is done below.
 */
function resettable(socket: TLSSocket, tcp: Socket | undefined): Socket {
  socket.resetAndDestroy = () => {
    tcp?.resetAndDestroy();
    return socket.destroy();
  };
  return socket;
}
