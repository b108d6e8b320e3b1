/** Accepts what arrived on other relays (docs/decisions/0009-cluster.md). */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { joined } from '../../../shared/http1/fields.ts';
import type { TrunkStream } from '../../../shared/trunk/trunk-stream.ts';
import type { TrunkOwner } from '../../../shared/trunk/trunk.ts';
import type { ByteStreamHandler } from '../../../shared/websocket/byte-stream.ts';
import type { HopRequest } from '../../clients/ownership.ts';
import { CLIENT_SOCKETS_MAX } from '../../clients/upgrades.ts';
import { LOST_BEYOND } from '../../tunnels/stream.ts';
import { HOP_TLS, hopKey, HopSocket, hopTrunk, readRequest } from './hop-protocol.ts';

/** How long another relay has to authenticate its connection and to state the purpose of a stream on it. */
export const HOP_LINE_TIMEOUT_MS = 5000;
/**
 * Maximum size of the line that another relay begins a stream with: an id, and two keys of at most a few hundred
 * bytes each.
 */
export const HOP_LINE_MAX_BYTES = 4096;

/** Handles what another relay has forwarded. */
export interface TakeHop {
  /** the connection of a data socket or a trunk */
  upgrade(request: HopRequest, socket: Duplex): void;
  /** a visitor of a tunnel; must attach to the stream before it returns, or close it */
  visit(tunnelId: string, stream: TrunkStream, peers: string): void;
}

interface HopListenerOptions {
  /** address to listen on */
  readonly host: string;
  /** 0 for a free one */
  readonly port: number;
  /** of this relay */
  readonly incarnation: string;
  /** known only to the relays of the cluster */
  readonly secret: string;
  readonly take: TakeHop;
}

export class HopListener {
  readonly #server: Server;
  readonly #take: TakeHop;
  /** TCP connections, from the moment they are accepted */
  readonly #sockets = new Set<Socket>();
  /** proven incarnations of the connected relays */
  readonly #from = new WeakMap<TLSSocket, string>();

  private constructor({ incarnation, secret, take }: HopListenerOptions) {
    this.#take = take;
    this.#server = createServer(
      {
        ...HOP_TLS,
        handshakeTimeout: HOP_LINE_TIMEOUT_MS,
        pskCallback: (socket, from) => {
          this.#from.set(socket, from);
          // Without a key the handshake fails, because there is no certificate either.
          return hopKey({ from, to: incarnation }, secret) ?? null;
        },
      },
      (socket) => this.#secured(socket),
    );
    this.#server.maxConnections = CLIENT_SOCKETS_MAX;
    this.#server.on('connection', (socket: Socket) => this.#accept(socket));
    // A peer that does not prove that it belongs to this cluster gets no response.
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  /** @throws Error if the address cannot be bound */
  static async start(options: HopListenerOptions): Promise<HopListener> {
    const listener = new HopListener(options);
    listener.#server.listen(options.port, options.host);
    await once(listener.#server, 'listening');
    // Out of file descriptors, for example: open connections continue, and the next accept may succeed.
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
    const via = this.#from.get(socket);
    if (via === undefined) return void socket.destroy();
    hopTrunk(socket, 'listener', acceptor(via, this.#take));
  }
}

/**
 * Accepts the streams of a trunk.
 *
 * @param via incarnation of the relay that begins them
 */
export function acceptor(via: string, take: TakeHop): TrunkOwner {
  return {
    begun: (stream, first) => {
      const request = new PendingRequest(stream, via, take);
      stream.attach(request);
      request.onStreamData(first);
    },
    // Relays move no streams.
    moveAsked: (stream) => stream.destroy(),
    closed() {},
  };
}

/** Reads the line that a stream begins with. */
class PendingRequest implements ByteStreamHandler {
  readonly #stream: TrunkStream;
  readonly #via: string;
  readonly #take: TakeHop;
  readonly #timer: NodeJS.Timeout;
  #read: Buffer | undefined;

  constructor(stream: TrunkStream, via: string, take: TakeHop) {
    this.#stream = stream;
    this.#via = via;
    this.#take = take;
    this.#timer = setTimeout(() => stream.destroy(), HOP_LINE_TIMEOUT_MS);
  }

  onStreamData(piece: Buffer): void {
    const read = this.#read === undefined ? piece : joined(this.#read, piece);
    const end = read.indexOf('\n');
    if (end === -1 && read.length < HOP_LINE_MAX_BYTES) {
      this.#read = read;
      return;
    }
    clearTimeout(this.#timer);
    const line = end === -1 || end >= HOP_LINE_MAX_BYTES ? undefined : read.subarray(0, end);
    const request = line && readRequest(line, this.#via);
    if (request === undefined) return this.#stream.destroy();
    this.#stream.unread(read.subarray(end + 1));
    if (request.kind === 'visit') return this.#take.visit(request.id, this.#stream, request.peers);
    // A trunk's visitors learn that it was lost from the trunk.
    const socket = new HopSocket(this.#stream, request.kind === 'data' ? LOST_BEYOND : undefined);
    this.#stream.attach(socket);
    this.#take.upgrade(request, socket);
  }

  onStreamDrain(): void {
    // Nothing was written yet.
  }

  onStreamClose(): void {
    clearTimeout(this.#timer);
  }
}
