/** DNS over TCP: messages after their length, one after the other (RFC 1035 section 4.2.2, RFC 7766). */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { DNS_CONNECTIONS_MAX, DNS_CONNECTION_IDLE_MS, DNS_CONNECTIONS_OF_ONE_MAX } from '../../limits.ts';
import type { Listeners } from '../../listeners.ts';
import { MessageSplitter, withLength } from './message-splitter.ts';
import type { Responder } from './responder.ts';
import { sourceNetwork } from './source-limits.ts';

export class TcpListener {
  readonly #server: Server;
  readonly #responder: Responder;
  readonly #clock: Clock;
  /** with the network of each, oldest first */
  readonly #sockets = new Map<Socket, string>();
  #isLeaving = false;

  private constructor(responder: Responder, clock: Clock) {
    this.#responder = responder;
    this.#clock = clock;
    // Half-open, because a peer that has said all it has to still waits for the response.
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
  }

  /**
   * @param port 0 for a free one
   * @throws the system's error when the address is taken or not one of this machine
   */
  static async bind(
    address: string,
    port: number,
    responder: Responder,
    clock: Clock,
    listeners: Listeners,
  ): Promise<TcpListener> {
    const listener = new TcpListener(responder, clock);
    await listeners.open('tcp', listener.#server, { host: address, port });
    // Out of file descriptors, for example: the next accept may work.
    listener.#server.on('error', () => {});
    return listener;
  }

  /** The port that was bound. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Fulfilled when the connections that it has taken are over, each with the response to its query. */
  async leave(): Promise<void> {
    this.#isLeaving = true;
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Cuts every connection. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets.keys()) socket.destroy();
  }

  #accept(socket: Socket): void {
    socket.on('error', () => socket.destroy());
    const network = sourceNetwork(socket.remoteAddress ?? '');
    const ofNetwork = [...this.#sockets.values()].filter((other) => other === network).length;
    if (ofNetwork >= DNS_CONNECTIONS_OF_ONE_MAX) {
      socket.destroy();
      return;
    }
    this.#sockets.set(socket, network);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#sockets.size > DNS_CONNECTIONS_MAX) this.#cutOldest();
    void this.#serve(socket);
  }

  /** Whoever comes next is served: an attacker's connections make room for each other, too. */
  #cutOldest(): void {
    const [oldest] = this.#sockets.keys();
    oldest?.destroy();
    if (oldest !== undefined) this.#sockets.delete(oldest);
  }

  async #serve(socket: Socket): Promise<void> {
    const cut = (): void => void socket.destroy();
    // Bytes alone do not extend it: a query has to be complete, and its response taken.
    let deadline = this.#clock.setTimeout(cut, DNS_CONNECTION_IDLE_MS);
    const splitter = new MessageSplitter();
    try {
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        for (const packet of splitter.push(chunk)) {
          if (!(await this.#respond(socket, packet))) return;
          if (this.#isLeaving) return socket.destroySoon();
          deadline.cancel();
          deadline = this.#clock.setTimeout(cut, DNS_CONNECTION_IDLE_MS);
        }
      }
      socket.destroySoon();
    } catch {
      // The connection is broken, or carries something else than queries.
    } finally {
      deadline.cancel();
      if (!socket.writableEnded) socket.destroy();
    }
  }

  /** @returns false when the peer is not worth more */
  async #respond(socket: Socket, packet: Buffer): Promise<boolean> {
    const response = await this.#responder.respond(packet, socket.remoteAddress ?? '', 'tcp');
    if (response === undefined) return false;
    // Only a response that was taken lets the next query be read.
    await new Promise((resolve, reject) => {
      socket.write(withLength(response), (error) => (error ? reject(error) : resolve(undefined)));
    });
    return true;
  }
}
