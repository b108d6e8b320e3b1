import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { Api } from '../api.ts';
import { Scope } from '../scope.ts';
import { type Closed, WebSocketClient } from './websocket.ts';

/** ms between two attempts to open the control socket again. */
const RETRY_MS = 500;

/**
 * A tunnel client written from the protocol specification alone. It creates a tunnel, holds its control socket, and
 * carries every announced connection to the local port. It implements nothing optional: no close code, no event, no
 * header.
 */
export class SpecClient {
  readonly tunnel: Tunnel;
  readonly #relay: RelayAddress;
  readonly #key: string;
  readonly #api: Api;
  readonly #scope: Scope;
  #control: ControlSocket;
  #stopped = false;

  private constructor(
    relay: RelayAddress,
    key: string,
    scope: Scope,
    tunnel: Tunnel,
    control: ControlSocket,
  ) {
    this.#relay = relay;
    this.#key = key;
    this.#scope = scope;
    this.#api = new Api(relay, key);
    this.tunnel = tunnel;
    this.#control = control;
    this.#hold(control);
  }

  /**
   * Creates a tunnel and goes online.
   *
   * @param request body of the create request (protocol.md section 3.2)
   */
  static async start(outer: Scope, relay: RelayAddress, key: string, request: object): Promise<SpecClient> {
    const scope = new Scope();
    outer.defer(() => scope.end());
    const tunnel = await new Api(relay, key).create(request);
    const control = await ControlSocket.open(scope, relay, key, tunnel.id);
    const client = new SpecClient(relay, key, scope, tunnel, control);
    scope.defer(() => (client.#stopped = true));
    return client;
  }

  /** Closes the tunnel and every connection. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#api.close(this.tunnel.id);
    this.#control.socket.close();
    await this.#control.closed;
  }

  #hold(control: ControlSocket): void {
    this.#control = control;
    for (const message of control.messages) void this.#serve(message.id);
    control.onMessage = (message) => void this.#serve(message.id);
    void control.closed.then(() => this.#reconnect());
  }

  async #reconnect(): Promise<void> {
    while (!this.#stopped) {
      try {
        return this.#hold(await ControlSocket.open(this.#scope, this.#relay, this.#key, this.tunnel.id));
      } catch {
        // The relay is gone, or still starting.
        await delay(RETRY_MS);
      }
    }
  }

  async #serve(id: string): Promise<void> {
    try {
      bridge(await openData(this.#scope, this.#relay, id), this.tunnel.local_port);
    } catch {
      // The visitor has left, so nobody needs an answer.
    }
  }
}

export interface RelayAddress {
  readonly port: number;
}

/** A `connection` message (protocol.md section 5.1). */
export interface ConnectionMessage {
  readonly type: string;
  readonly id: string;
}

/** The control WebSocket of a tunnel (protocol.md section 5). */
export class ControlSocket {
  readonly socket: WebSocketClient;
  /** Every message so far, parsed. */
  readonly messages: ConnectionMessage[] = [];
  /** `performance.now()` of each ping. */
  readonly pings: number[] = [];
  #onMessage: ((message: ConnectionMessage) => void) | undefined;
  /** messages received while there was no listener */
  readonly #unheard: ConnectionMessage[] = [];

  private constructor(socket: WebSocketClient) {
    this.socket = socket;
    let text = '';
    socket.attach({
      data: (bytes, kind, last) => {
        if (kind !== 'text') throw new Error('a binary message on the control socket');
        text += bytes.toString('utf8');
        if (!last) return;
        const message = JSON.parse(text) as ConnectionMessage;
        text = '';
        this.messages.push(message);
        if (this.#onMessage === undefined) this.#unheard.push(message);
        else this.#onMessage(message);
      },
      ping: () => this.pings.push(performance.now()),
    });
  }

  /** Receives each message. The first listener also gets the messages that arrived before. */
  set onMessage(listener: (message: ConnectionMessage) => void) {
    this.#onMessage = listener;
    for (const message of this.#unheard.splice(0)) listener(message);
  }

  /** @throws HandshakeRefused */
  static async open(
    scope: Scope,
    relay: RelayAddress,
    key: string,
    tunnelId: string,
    query = '',
  ): Promise<ControlSocket> {
    const socket = await WebSocketClient.open(scope, {
      port: relay.port,
      host: `localhost:${relay.port}`,
      target: `/ws/control?tunnel_id=${tunnelId}${query}`,
      headers: [['Authorization', `Bearer ${key}`]],
    });
    return new ControlSocket(socket);
  }

  get closed(): Promise<Closed> {
    return this.socket.closed;
  }
}

/** Opens the data WebSocket of a pending connection (protocol.md section 6). */
export async function openData(scope: Scope, relay: RelayAddress, id: string): Promise<WebSocketClient> {
  return await WebSocketClient.open(scope, {
    port: relay.port,
    host: `localhost:${relay.port}`,
    target: `/ws/data?id=${id}`,
  });
}

/**
 * Pipes a data WebSocket and a TCP connection to the local port to each other, with backpressure. When either side
 * closes, the other is closed as well (protocol.md section 6.3).
 */
export function bridge(data: WebSocketClient, localPort: number): void {
  const local = connect({ port: localPort, host: '127.0.0.1', noDelay: true });
  let ended = false;
  local.on('data', (chunk: Buffer) => {
    if (!data.send(chunk)) local.pause();
  });
  local.once('end', () => {
    ended = true;
    data.close(1000);
  });
  local.on('error', () => {
    // A failure is not the end of a stream: the connection is cut, so that it does not look complete.
    if (!ended) data.drop();
  });
  local.on('drain', () => data.resume());
  data.attach({
    data: (bytes) => {
      if (local.writable && !local.write(bytes)) data.pause();
    },
    drain: () => local.resume(),
  });
  void data.closed.then(() => local.destroySoon());
}
