import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
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
export type SpecClient = Awaited<ReturnType<typeof SpecClient.start>>;

export const SpecClient = {
  /**
   * Creates a tunnel and goes online.
   *
   * @param request body of the create request (protocol.md section 3.2)
   */
  async start(outer: Scope, relay: RelayAddress, key: string, request: object) {
    const scope = new Scope();
    outer.defer(() => scope.end());
    const api = new Api(relay, key);
    const tunnel = await api.create(request);
    const openControl = (): Promise<ControlSocket> => ControlSocket.open(scope, relay, key, tunnel.id);
    let control = await openControl();
    const ending = new AbortController();
    scope.defer(() => ending.abort());
    hold();
    return {
      tunnel,

      /** Closes the tunnel and every connection. */
      async stop(): Promise<void> {
        ending.abort();
        await api.close(tunnel.id);
        control.socket.close();
        await control.closed;
      },
    };

    function hold(): void {
      control.onMessage = (message) => void serve(message.id);
      void control.closed.then(reconnect);
    }

    async function reconnect(): Promise<void> {
      while (!ending.signal.aborted) {
        try {
          control = await openControl();
          return hold();
        } catch {
          // The relay is gone, or still starting.
          await delay(RETRY_MS);
        }
      }
    }

    async function serve(id: string): Promise<void> {
      try {
        bridge(await openData(scope, relay, id), tunnel.local_port);
      } catch {
        // The visitor has left, so nobody needs an answer.
      }
    }
  },
};

export interface RelayAddress {
  readonly port: number;
}

/** A `connection` message (protocol.md section 5.1). */
interface ConnectionMessage {
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
export async function openData(
  scope: Scope,
  relay: RelayAddress,
  id: string,
  query = '',
): Promise<WebSocketClient> {
  return await WebSocketClient.open(scope, {
    port: relay.port,
    host: `localhost:${relay.port}`,
    target: `/ws/data?id=${id}${query}`,
  });
}

/**
 * Pipes a data WebSocket and a TCP connection to the local port to each other, with backpressure. When either side
 * closes, the other is closed as well (protocol.md section 6.3).
 */
export function bridge(data: WebSocketClient, localPort: number): void {
  const local = connect({ port: localPort, host: '127.0.0.1', noDelay: true });
  let ended = false;
  // A service may respond and close before it has read the request. Node would drop the response when a write fails.
  const write = local._write.bind(local);
  local._write = (bytes, encoding, done) => write(bytes, encoding, () => done());
  Object.assign(local, { _writev: undefined });
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
