/** Accepts data sockets that arrived on other relays (docs/decisions/0009-cluster.md). */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { HopRequest } from '../../clients/ownership.ts';
import { CLIENT_SOCKETS_MAX, HOP_LINE_MAX_BYTES, HOP_LINE_TIMEOUT_MS, KEEP_ALIVE_MS } from '../../limits.ts';
import { HOP_TLS, HopConnection, type HopHandler, hopKey, readRequest } from './hop-connection.ts';

export interface HopListenerOptions {
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
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_MS,
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
    socket.on('error', () => socket.destroy());
    const via = this.#from.get(socket);
    if (via === undefined) return void socket.destroy();
    HopReceiver.serve(socket, via, this.#take);
  }
}

/*
 * One connection from another relay, on the side where visitors wait: accepts one data socket after the other from it.
 */

/** Handles a data socket that another relay has forwarded. */
export type TakeHop = (request: HopRequest, socket: Duplex) => void;

export class HopReceiver implements HopHandler {
  readonly #connection: HopConnection;
  readonly #via: string;
  readonly #take: TakeHop;
  /** as much of the next request as has arrived */
  #request: Buffer = Buffer.alloc(0);
  /** the current data socket, or the previous one */
  #stream: HopStream | undefined;
  /** whether more of it may arrive */
  #isReading = false;

  private constructor(socket: Socket, via: string, take: TakeHop) {
    this.#via = via;
    this.#take = take;
    this.#connection = new HopConnection(socket, this);
  }

  /**
   * Reads from a connection until it ends.
   *
   * @param socket of a relay that has proven that it belongs to the cluster
   * @param via its incarnation
   */
  static serve(socket: Socket, via: string, take: TakeHop): HopReceiver {
    return new HopReceiver(socket, via, take);
  }

  onPiece(piece: Buffer, isLast: boolean): void {
    if (this.#isReading) return this.#stream?.receive(piece);
    this.#request = Buffer.concat([this.#request, piece]);
    if (this.#request.length > HOP_LINE_MAX_BYTES) return this.#connection.destroy();
    if (isLast) this.#begin();
  }

  #begin(): void {
    const request = readRequest(this.#request, this.#via);
    this.#request = Buffer.alloc(0);
    if (request === undefined) return this.#connection.destroy();
    this.#stream = new HopStream(this.#connection);
    this.#isReading = true;
    this.#take(request, this.#stream);
  }

  onEnd(): void {
    this.#isReading = false;
    this.#stream?.receiveEnd();
  }

  onDrain(): void {
    this.#stream?.drained();
  }

  onClose(): void {
    this.#stream?.destroy();
  }
}

/* The end of a data socket that arrives over a connection from another relay (hop-connection.ts). */

export class HopStream extends Duplex {
  readonly #connection: HopConnection;
  #endSent = false;
  #onDrain: (() => void) | undefined;

  /** @param connection whose data socket begins */
  constructor(connection: HopConnection) {
    super({ allowHalfOpen: true, decodeStrings: true });
    this.#connection = connection;
    // Errors are reported with `close`.
    this.on('error', () => {});
  }

  /** Bytes have arrived. */
  receive(piece: Buffer): void {
    // After our end was sent, the other relay may still send something until it has received that.
    if (!this.destroyed && !this.push(piece)) this.#connection.pause();
  }

  /** No more bytes arrive. */
  receiveEnd(): void {
    if (!this.destroyed) this.push(null);
  }

  /** The connection accepts bytes again. */
  drained(): void {
    const onDrain = this.#onDrain;
    this.#onDrain = undefined;
    onDrain?.();
  }

  override _read(): void {
    this.#connection.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    this.#send([chunk], callback);
  }

  override _writev(queued: readonly { readonly chunk: Buffer }[], callback: () => void): void {
    this.#send(
      queued.map(({ chunk }) => chunk),
      callback,
    );
  }

  #send(pieces: readonly Buffer[], callback: () => void): void {
    this.#connection.hold();
    if (this.#connection.send(pieces)) callback();
    else this.#onDrain = callback;
  }

  override _final(callback: () => void): void {
    this.#sendEnd();
    callback();
  }

  /** If everything was passed to the system, it ends like a closed connection; otherwise it breaks like one. */
  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (error !== null || this.writableLength > 0) this.#connection.destroy();
    else this.#sendEnd();
    this.#connection.resume();
    callback(error);
  }

  #sendEnd(): void {
    if (this.#endSent) return;
    this.#endSent = true;
    this.#connection.sendEnd();
  }
}
