/**
 * What a connection passes before it has a visitor: the header of a load balancer, the first message of TLS, and the
 * handshake.
 */
import type { Server, Socket } from 'node:net';
import type { Server as TlsServer, TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import { mayShakeHands, type HandshakeGuide } from './client-hello.ts';
import { takeProxyHeader } from './proxy-header.ts';
import { plainAddress } from './request-head.ts';

/** What connections begin with, before they are visitors'; by default nothing. */
export interface Expected {
  /** the PROXY protocol, of trusted balancers */
  readonly proxies?:
    | {
        /** Whether connections from an IP address begin with a header. */
        readonly isExpected: (address: string) => boolean;
        readonly clock: Pick<Clock, 'setTimeout'>;
      }
    | undefined;
  readonly tls?: Tls | undefined;
}

/** TLS, for connections that the listener has accepted. */
export interface Tls {
  /** does not listen itself */
  readonly server: TlsServer;
  /** provides certificates; `undefined` if they are in files */
  readonly guide: HandshakeGuide | undefined;
}

/** A connection that may become a visitor's. */
export interface Arrival {
  /** the TCP connection */
  readonly tcp: Socket;
  /** the IP address it comes from; empty if it has already ended */
  readonly address: string;
  /** Whether that is a balancer's own, although others connect through it. */
  readonly isVague: boolean;
}

export class Entrance {
  readonly #expected: Expected;
  readonly #limit: number;
  readonly #entered: (socket: Socket, arrival: Arrival) => void;
  /** those that are on their way, oldest first, by the addresses of both ends */
  readonly #arriving = new Map<string, Arrival>();

  /**
   * @param server without a listener for its connections so far
   * @param limit number of connections that may be on their way; beyond it the oldest is cut
   * @param entered called with each connection that may be a visitor's, with half-open ones allowed
   */
  constructor(
    server: Server,
    expected: Expected,
    limit: number,
    entered: (socket: Socket, arrival: Arrival) => void,
  ) {
    this.#expected = expected;
    this.#limit = limit;
    this.#entered = entered;
    server.on('connection', (tcp) => void this.#arrive(tcp));
    expected.tls?.server.on('secureConnection', (socket) => this.#secured(socket));
  }

  /** The TCP connections that are on their way. */
  get current(): readonly Socket[] {
    return [...this.#arriving.values()].map(({ tcp }) => tcp);
  }

  async #arrive(tcp: Socket): Promise<void> {
    const { proxies, tls } = this.#expected;
    const address = plainAddress(tcp.remoteAddress ?? '');
    let arrival: Arrival = { tcp, address, isVague: false };
    // It has ended, so it cannot be told whom a load balancer's connection comes from.
    if (proxies !== undefined && address === '') return void tcp.destroy();
    if (proxies?.isExpected(address) === true) {
      const waiting = this.#wait(arrival);
      const header = await takeProxyHeader(tcp, proxies.clock);
      this.#arriving.delete(waiting);
      if (header === undefined || tcp.readableEnded) return void tcp.destroy();
      arrival = { tcp, address: header.source ?? address, isVague: header.source === undefined };
    }
    if (tls === undefined) return this.#entered(tcp, arrival);
    this.#wait(arrival);
    if (await mayShakeHands(tcp, tls.guide)) tls.server.emit('connection', tcp);
  }

  #secured(socket: TLSSocket): void {
    const addresses = addressesOf(socket);
    const arrival = this.#arriving.get(addresses);
    if (arrival === undefined) return void socket.destroy();
    this.#arriving.delete(addresses);
    socket.allowHalfOpen = true;
    this.#entered(resettable(socket, arrival.tcp), arrival);
  }

  /**
   * The connection is on its way, until it is removed or closes.
   *
   * @returns its key
   */
  #wait(arrival: Arrival): string {
    const { tcp } = arrival;
    const key = addressesOf(tcp);
    this.#arriving.set(key, arrival);
    tcp.on('error', () => tcp.destroy());
    tcp.once('close', () => {
      if (this.#arriving.get(key) === arrival) this.#arriving.delete(key);
    });
    const [oldest] = this.#arriving.values();
    if (this.#arriving.size > this.#limit) oldest?.tcp.destroy();
    return key;
  }
}

function addressesOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort} ${socket.localAddress}`;
}

/**
 * Node resets only bare TCP connections, and a TLS connection that merely ends looks complete to many visitors: so the
 * reset is done on the TCP connection.
 */
function resettable(socket: TLSSocket, tcp: Socket): Socket {
  socket.resetAndDestroy = () => {
    tcp.resetAndDestroy();
    return socket.destroy();
  };
  return socket;
}
