/**
 * A tunnel that lives for a minute and leads to a service of our own. It shows that the whole way works, without the user's
 * service.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Tunnel } from '../../shared/tunnel.ts';
import type { TunnelSession } from '../engine/control/tunnel-session.ts';
import { localPort } from '../engine/local/local-target.ts';
import { ApiClient } from '../engine/relay/api-client.ts';
import { createTunnelClient } from '../engine/tunnel-client.ts';
import type { RelayAccess } from './subject.ts';
import { DOCTOR_HOP_TIMEOUT_MS } from './limits.ts';
import { within } from './attempts.ts';
import { SaidError } from '../engine/said/said.ts';

/** A test tunnel that could not be closed is gone after that. */
const TTL = '1m';

export class TestTunnel {
  readonly tunnel: Tunnel;
  /** what the service answers to everything */
  readonly answer: string;
  readonly #api: ApiClient;
  readonly #server: Server;
  readonly #session: TunnelSession;

  private constructor(
    tunnel: Tunnel,
    answer: string,
    api: ApiClient,
    server: Server,
    session: TunnelSession,
  ) {
    this.tunnel = tunnel;
    this.answer = answer;
    this.#api = api;
    this.#server = server;
    this.#session = session;
  }

  /**
   * @returns when the relay has the control connection
   * @throws what {@link ApiClient.createTunnel} throws, or an Error that says why it is not online in time
   */
  static async open({ relay, key, network }: RelayAccess): Promise<TestTunnel> {
    const answer = randomUUID();
    const server = createServer((_request, response) => response.end(answer));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const api = new ApiClient(relay, key, network);
    let tunnel: Tunnel;
    try {
      tunnel = await api.createTunnel({ local_port: port, ttl: TTL });
    } catch (error) {
      server.close();
      throw error;
    }
    const online = Promise.withResolvers<void>();
    const session = createTunnelClient({
      relay,
      key,
      network,
      tunnelId: tunnel.id,
      local: localPort(port),
      onProblem: () => {},
      onState(state) {
        if (state.name === 'online') online.resolve();
        if (state.name === 'reconnecting' || state.name === 'offline')
          online.reject(new SaidError(state.why));
      },
    });
    const opened = new TestTunnel(tunnel, answer, api, server, session);
    session.start();
    try {
      await within(DOCTOR_HOP_TIMEOUT_MS, online.promise);
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  /** Closes the tunnel at the relay; if that fails, it ends by itself within a minute. */
  async close(): Promise<void> {
    this.#session.stop();
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#api.closeTunnel(this.tunnel.id).catch(() => {});
  }
}
