import type { Tunnel } from '../../shared/tunnel.ts';
import type { AccountPool, TestAccount } from './accounts.ts';
import { eventually } from './deadline.ts';
import type { Relay } from './programs.ts';
import type { Scope } from './scope.ts';
import { ControlSocket, openData } from './spec-client/client.ts';
import { TrunkClient, type TrunkClientOptions } from './spec-client/trunk.ts';
import type { WebSocketClient } from './spec-client/websocket.ts';

/** The `Host` of a tunnel's subdomain form on a relay with default settings. */
export function hostOf(tunnel: Pick<Tunnel, 'slug'>, relay: { readonly port: number }): string {
  return `${tunnel.slug}.localhost:${relay.port}`;
}

/** A data socket on which the test sees and sends every byte. */
export class DataConnection {
  readonly id: string;
  readonly socket: WebSocketClient;
  readonly kinds = new Set<string>();
  /** whether an empty message has arrived */
  hasEnded = false;
  #received = Buffer.alloc(0);

  constructor(id: string, socket: WebSocketClient) {
    this.id = id;
    this.socket = socket;
    socket.attach({
      data: (bytes, kind, last) => {
        this.kinds.add(kind);
        this.hasEnded ||= last && bytes.length === 0;
        this.#received = Buffer.concat([this.#received, bytes]);
      },
    });
  }

  /** Everything received so far. */
  get received(): Buffer {
    return this.#received;
  }

  /** Waits until what was received contains a text, and returns all of it. */
  async receivedUpTo(text: string, ms = 20_000): Promise<string> {
    return await eventually(ms, () => {
      const all = this.#received.toString('latin1');
      if (!all.includes(text)) throw new Error(`received only ${JSON.stringify(all)}`);
      return all;
    });
  }

  /** Sends bytes as one binary message. */
  send(bytes: string | Buffer): void {
    this.socket.send(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }
}

/** A client whose every step the test controls: control socket, announcements, data sockets. */
export class ManualClient {
  readonly tunnel: Tunnel;
  readonly account: TestAccount;
  control: ControlSocket;
  readonly #scope: Scope;
  readonly #relay: Relay;
  #taken = 0;

  private constructor(
    scope: Scope,
    relay: Relay,
    account: TestAccount,
    tunnel: Tunnel,
    control: ControlSocket,
  ) {
    this.#scope = scope;
    this.#relay = relay;
    this.account = account;
    this.tunnel = tunnel;
    this.control = control;
  }

  /** Creates a tunnel and opens its control socket. */
  static async start(
    scope: Scope,
    relay: Relay,
    pool: Pick<AccountPool, 'tunnel'>,
    request: object = {},
  ): Promise<ManualClient> {
    const { tunnel, account } = await pool.tunnel(request);
    return await ManualClient.adopt(scope, relay, account, tunnel);
  }

  /** Opens the control socket of an existing tunnel. */
  static async adopt(
    scope: Scope,
    relay: Relay,
    account: TestAccount,
    tunnel: Tunnel,
  ): Promise<ManualClient> {
    const control = await ControlSocket.open(scope, relay, account.key, tunnel.id);
    return new ManualClient(scope, relay, account, tunnel, control);
  }

  get host(): string {
    return hostOf(this.tunnel, this.#relay);
  }

  /** Opens the control socket again. */
  async reconnect(): Promise<void> {
    this.control = await ControlSocket.open(this.#scope, this.#relay, this.account.key, this.tunnel.id);
    this.#taken = 0;
  }

  /** The id of the next connection announced on the current control socket. */
  async announced(ms = 20_000): Promise<string> {
    const id = await eventually(ms, () => {
      const message = this.control.messages[this.#taken];
      if (message === undefined) throw new Error('no connection was announced');
      return message.id;
    });
    this.#taken += 1;
    return id;
  }

  /** Opens a data socket for an announced connection. */
  async open(id: string, query = ''): Promise<DataConnection> {
    return new DataConnection(id, await openData(this.#scope, this.#relay, id, query));
  }

  /** Opens a trunk for the tunnel's visitors. */
  async trunk(options: TrunkClientOptions = {}): Promise<TrunkClient> {
    return await TrunkClient.open(this.#scope, this.#relay, this.account.key, this.tunnel.id, options);
  }

  /** Accepts the next announced connection. */
  async accept(query = ''): Promise<DataConnection> {
    return await this.open(await this.announced(), query);
  }
}
