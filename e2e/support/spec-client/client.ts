import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../../shared/tunnel.ts';
import { Api } from '../api.ts';
import { Scope } from '../scope.ts';
import { bridge } from './bridge.ts';
import { ControlSocket, type RelayAddress, openData } from './control.ts';

/** ms between two attempts to open the control socket again. */
const RETRY_MS = 500;

/**
 * A tunnel client written from the interface specification alone. It creates a tunnel, holds its control socket, and carries
 * every announced connection to the local port. It knows nothing that is optional: no close code, no event, no header.
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
   * @param request body of the create request (docs/protocol.md section 3.2)
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
      // The visitor has left; there is nobody to tell.
    }
  }
}
