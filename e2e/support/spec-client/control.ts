import type { Scope } from '../scope.ts';
import { type Closed, WebSocketClient } from './websocket.ts';

export interface RelayAddress {
  readonly port: number;
}

/** A `connection` message (docs/protocol.md section 5.1). */
export interface ConnectionMessage {
  readonly type: string;
  readonly id: string;
}

/** The control WebSocket of a tunnel (docs/protocol.md section 5). */
export class ControlSocket {
  readonly socket: WebSocketClient;
  /** Every message so far, parsed. */
  readonly messages: ConnectionMessage[] = [];
  /** `performance.now()` of each ping. */
  readonly pings: number[] = [];
  #onMessage: ((message: ConnectionMessage) => void) | undefined;
  /** those that came while nobody wanted them */
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

  /** Who hears each message; the first one hears those that came before, too. */
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

/** Opens the data WebSocket of a pending connection (docs/protocol.md section 6). */
export async function openData(scope: Scope, relay: RelayAddress, id: string): Promise<WebSocketClient> {
  return await WebSocketClient.open(scope, {
    port: relay.port,
    host: `localhost:${relay.port}`,
    target: `/ws/data?id=${id}`,
  });
}
