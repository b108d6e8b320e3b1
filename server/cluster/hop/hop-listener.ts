/** Takes data sockets that landed on other relays (docs/decisions/0009-cluster.md). */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { CLIENT_SOCKETS_MAX, HOP_LINE_TIMEOUT_MS, KEEP_ALIVE_MS } from '../../limits.ts';
import { HOP_TLS, hopKey } from './hop.ts';
import { HopReceiver, type TakeHop } from './hop-receiver.ts';

export interface HopListenerOptions {
  /** address to listen on */
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** of this relay */
  readonly incarnation: string;
  /** known to the relays of the cluster alone */
  readonly secret: string;
  readonly take: TakeHop;
}

export class HopListener {
  readonly #server: Server;
  readonly #take: TakeHop;
  /** TCP connections, from their first moment on */
  readonly #sockets = new Set<Socket>();
  /** incarnations of the relays that connections prove to come from */
  readonly #from = new WeakMap<TLSSocket, string>();

  private constructor({ incarnation, secret, take }: HopListenerOptions) {
    this.#take = take;
    this.#server = createServer(
      {
        ...HOP_TLS,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_MS,
        handshakeTimeout: HOP_LINE_TIMEOUT_MS,
        pskCallback: (socket, from) => {
          this.#from.set(socket, from);
          // Without a key there is nothing to go on with: no certificate either.
          return hopKey({ from, to: incarnation }, secret) ?? null;
        },
      },
      (socket) => this.#secured(socket),
    );
    this.#server.maxConnections = CLIENT_SOCKETS_MAX;
    this.#server.on('connection', (socket: Socket) => this.#accept(socket));
    // A peer that does not prove to be a relay of this cluster is told nothing.
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** @throws Error when the address cannot be bound */
  static async start(options: HopListenerOptions): Promise<HopListener> {
    const listener = new HopListener(options);
    listener.#server.listen(options.port, options.host);
    await once(listener.#server, 'listening');
    // Out of file descriptors, for example: open connections go on, and the next accept may work.
    listener.#server.on('error', () => {});
    return listener;
  }

  /** The port that was bound. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Cuts every connection. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #secured(socket: TLSSocket): void {
    socket.on('error', () => socket.destroy());
    const via = this.#from.get(socket);
    if (via === undefined) return void socket.destroy();
    HopReceiver.serve(socket, via, this.#take);
  }
}
