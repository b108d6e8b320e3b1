/**
 * What a connection passes before it has a visitor: the header of a load balancer, the first message of TLS, and the
 * handshake.
 */
import type { Server, Socket } from 'node:net';
import type { Server as TlsServer, TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import { mayShakeHands, type HandshakeRules } from './client-hello.ts';
import { peersIn, takeProxyHeader, writePeers } from './proxy-header.ts';
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
export interface Tls extends Pick<HandshakeRules, 'guide'> {
  /** does not listen itself */
  readonly server: TlsServer;
}

/** A connection that may become a visitor's. */
export interface Arrival {
  /** the TCP connection */
  readonly tcp: Socket;
  /** the IP address it comes from; empty if it has already ended */
  readonly address: string;
  /** Whether that is a balancer's own, although others connect through it. */
  readonly isVague: boolean;
  /** the header of a balancer that began the connection */
  readonly header?: Buffer;
}

/** The visitor's address and the one it has connected to, each with its port and divided by a space. */
export function peersOf({ tcp, address, header }: Arrival): string {
  const { remotePort, localAddress = '', localPort } = tcp;
  const ownEnds = () => writePeers([address, remotePort], [plainAddress(localAddress), localPort]);
  return (header && peersIn(header)) ?? ownEnds();
}

/** Takes a connection that may be a visitor's, with half-open ones allowed. */
type Entered = (socket: Socket, arrival: Arrival) => void;

/**
 * Finds who takes connections with TLS to a host unread, if anybody does; never rejects. Responds immediately if it is known here.
 */
export type TakesUnread = (host: string) => Entered | Promise<Entered | undefined> | undefined;

export class Entrance {
  readonly #expected: Expected;
  readonly #limit: number;
  readonly #entered: Entered;
  readonly #takesUnread: TakesUnread;
  /** those that are on their way, oldest first, by the addresses of both ends */
  readonly #arriving = new Map<string, Arrival>();

  /**
   * @param server without a listener for its connections so far
   * @param limit number of connections that may be on their way; beyond it the oldest is cut
   * @param entered called with each connection that may be a visitor's
   */
  constructor(
    server: Server,
    expected: Expected,
    limit: number,
    entered: Entered,
    takesUnread: TakesUnread = () => undefined,
  ) {
    this.#expected = expected;
    this.#limit = limit;
    this.#entered = entered;
    this.#takesUnread = takesUnread;
    server.on('connection', (tcp) => void this.#arrive(tcp));
    expected.tls?.server.on('secureConnection', (socket) => this.#secured(socket));
  }

  /** The TCP connections that are on their way. */
  get current(): readonly Socket[] {
    return [...this.#arriving.values()].map(({ tcp }) => tcp);
  }

  /** Lets a connection of another listener enter, whose first bytes are for the visitor's service. */
  async enterUnread(tcp: Socket, entered: Entered): Promise<void> {
    const arrival = await this.#introduced(tcp);
    if (arrival !== undefined) entered(tcp, arrival);
  }

  async #arrive(tcp: Socket): Promise<void> {
    const { tls } = this.#expected;
    const introduced = this.#introduced(tcp);
    const arrival = introduced instanceof Promise ? await introduced : introduced;
    if (arrival === undefined) return;
    if (tls === undefined) return this.#entered(tcp, arrival);
    const waiting = this.#wait(arrival);
    const passing: HandshakeRules['passing'] = (serverName) => {
      const pass = (entered: Entered) => (): void => {
        this.#arriving.delete(waiting);
        tcp.allowHalfOpen = true;
        entered(tcp, arrival);
      };
      const found = this.#takesUnread(serverName);
      if (found instanceof Promise) return found.then((entered) => entered && pass(entered));
      return found && pass(found);
    };
    if (await mayShakeHands(tcp, { guide: tls.guide, passing })) tls.server.emit('connection', tcp);
  }

  /** Awaits the header of a load balancer, where there is one. @returns `undefined` if the connection has ended */
  #introduced(tcp: Socket): Arrival | Promise<Arrival | undefined> | undefined {
    const { proxies } = this.#expected;
    const address = plainAddress(tcp.remoteAddress ?? '');
    const arrival: Arrival = { tcp, address, isVague: false };
    if (proxies === undefined) return arrival;
    // It has ended, so it cannot be told whom a load balancer's connection comes from.
    if (address === '') return void tcp.destroy();
    if (!proxies.isExpected(address)) return arrival;
    const waiting = this.#wait(arrival);
    return takeProxyHeader(tcp, proxies.clock).then((header) => {
      this.#arriving.delete(waiting);
      if (header === undefined || tcp.readableEnded) return void tcp.destroy();
      const { source, bytes } = header;
      return { tcp, address: source ?? address, isVague: source === undefined, header: bytes };
    });
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
