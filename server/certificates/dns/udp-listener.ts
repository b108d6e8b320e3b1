/** DNS over UDP: a packet, a response. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { DNS_WAITING_MAX } from '../../limits.ts';
import type { Listeners } from '../../listeners.ts';
import type { Responder } from './responder.ts';

export class UdpListener {
  readonly #socket: Socket;
  readonly #responder: Responder;
  readonly #closed: Promise<void>;
  /** packets whose response has not left */
  #waiting = 0;
  #isLeaving = false;
  #isClosed = false;

  private constructor(socket: Socket, responder: Responder) {
    this.#socket = socket;
    this.#responder = responder;
    this.#closed = new Promise((resolve) => {
      socket.once('close', () => resolve());
    });
  }

  /** @throws the system's error when the address is taken or not one of this machine */
  static async bind(
    address: string,
    port: number,
    responder: Responder,
    listeners: Listeners,
  ): Promise<UdpListener> {
    const type = isIPv6(address) ? 'udp6' : 'udp4';
    const socket = createSocket({ type, ipv6Only: type === 'udp6' });
    try {
      await listeners.openUdp(socket, { host: address, port });
    } catch (error) {
      socket.close();
      throw error;
    }
    // A peer that is gone, a network that is down: the next packet may work.
    socket.on('error', () => {});
    const listener = new UdpListener(socket, responder);
    socket.on('message', (packet, peer) => void listener.#take(packet, peer));
    return listener;
  }

  /** Fulfilled when the last packet that it has taken has its response; another process has the same socket, and takes the others. */
  leave(): Promise<void> {
    this.#isLeaving = true;
    this.#closeIfOver();
    return this.#closed;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }

  #closeIfOver(): void {
    if (this.#isLeaving && this.#waiting === 0) this.close();
  }

  async #take(packet: Buffer, peer: RemoteInfo): Promise<void> {
    this.#waiting += 1;
    await this.#respond(packet, peer);
    this.#waiting -= 1;
    this.#closeIfOver();
  }

  async #respond(packet: Buffer, { address, port }: RemoteInfo): Promise<void> {
    const response = await this.#responder.respond(packet, address, 'udp');
    if (response === undefined || port === 0 || this.#isClosed) return;
    // What the system does not take at once waits in memory.
    if (this.#socket.getSendQueueCount() >= DNS_WAITING_MAX) return;
    await new Promise<void>((resolve) => {
      this.#socket.send(response, port, address, () => resolve());
    });
  }
}
