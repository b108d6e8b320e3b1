/** Takes data sockets that landed on other relays (docs/decisions/0009-cluster.md). */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { CLIENT_SOCKETS_MAX, HOP_LINE_MAX_BYTES, HOP_LINE_TIMEOUT_MS, KEEP_ALIVE_MS } from '../../limits.ts';
import { readGreeting } from './hop.ts';
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

const LINE_FEED = 10;

export class HopListener {
  readonly #server: Server;
  readonly #incarnation: string;
  readonly #secret: string;
  readonly #take: TakeHop;
  readonly #sockets = new Set<Socket>();

  private constructor({ incarnation, secret, take }: HopListenerOptions) {
    this.#incarnation = incarnation;
    this.#secret = secret;
    this.#take = take;
    const options = { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
    this.#server = createServer(options, (socket) => this.#accept(socket));
    this.#server.maxConnections = CLIENT_SOCKETS_MAX;
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
    socket.setTimeout(HOP_LINE_TIMEOUT_MS, () => socket.destroy());
    let read = Buffer.alloc(0);
    const readGreetingLine = (chunk: Buffer): void => {
      read = Buffer.concat([read, chunk]);
      const end = read.indexOf(LINE_FEED);
      if (end === -1 && read.length < HOP_LINE_MAX_BYTES) return;
      socket.off('data', readGreetingLine).setTimeout(0);
      this.#greeted(socket, end === -1 ? '' : read.toString('latin1', 0, end), read.subarray(end + 1));
    };
    socket.on('data', readGreetingLine);
  }

  /** A peer that does not prove to be a relay of this cluster is told nothing. */
  #greeted(socket: Socket, line: string, rest: Buffer): void {
    const via = readGreeting(line, this.#incarnation, this.#secret);
    if (via === undefined) socket.destroy();
    else new HopReceiver(socket, via, this.#take).read(rest);
  }
}
