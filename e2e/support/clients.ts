import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { AccountPool } from './accounts.ts';
import { hostOf } from './manual-client.ts';
import { Culvert, type Relay } from './programs.ts';
import { formatRequest, RawConnection, type Request } from './raw-http.ts';
import { sharedRelay } from './relay-suite.ts';
import type { Scope } from './scope.ts';
import { type LocalConnection, startScriptedService } from './services/scripted.ts';
import { SpecClient } from './spec-client/client.ts';

/** Options that a suite can request for a client's tunnel. */
export interface TunnelRequest {
  readonly localPort: number;
  readonly name?: string;
  readonly ttl?: string;
}

/** A client that serves a tunnel. */
export interface TunnelClient {
  readonly tunnel: Tunnel;
  /** Ends the client and with it the tunnel. */
  stop(): Promise<void>;
}

/** One of the two clients with which the core behaviour is tested. */
interface ClientKind {
  readonly name: string;
  start(scope: Scope, relay: Relay, key: string, request: TunnelRequest): Promise<TunnelClient>;
}

const culvert: ClientKind = {
  name: 'the culvert program',
  async start(scope, relay, key, { localPort, name, ttl }) {
    const args = [
      ...(name === undefined ? [] : ['--name', name]),
      ...(ttl === undefined ? [] : ['--ttl', ttl]),
    ];
    const client = await Culvert.start(scope, relay, key, localPort, args);
    return {
      tunnel: client.tunnel,
      stop: async () => assert.deepEqual(await client.stop(), { code: 0, signal: null }),
    };
  },
};

const specClient: ClientKind = {
  name: 'a client written from protocol.md',
  async start(scope, relay, key, { localPort, ...optional }) {
    return await SpecClient.start(scope, relay, key, { local_port: localPort, ...optional });
  },
};

/** Describes the same suite once for each client. */
export function bothClients(name: string, suite: (client: ClientKind) => void): void {
  for (const client of [culvert, specClient]) describe(`${name}, with ${client.name}`, () => suite(client));
}

/** A relay with one tunnel to a service whose every byte the test sends. */
export type ScriptedTunnel = Awaited<ReturnType<typeof ScriptedTunnel.start>>;

export const ScriptedTunnel = {
  async start(scope: Scope, kind: ClientKind) {
    const [relay, service] = await Promise.all([sharedRelay(), startScriptedService(scope)]);
    const pool = new AccountPool(relay);
    const { key } = await pool.take();
    const { tunnel } = await kind.start(scope, relay, key, { localPort: service.port });
    /** The `Host` of the tunnel. */
    const host = hostOf(tunnel, relay);

    /** Sends these bytes as a visitor. @returns also the local connection on which their head arrived */
    async function send(bytes: string | Buffer): Promise<[RawConnection, LocalConnection]> {
      const visitor = await RawConnection.open(scope, relay.port);
      await visitor.write(bytes);
      const local = await service.next();
      await local.head();
      return [visitor, local];
    }

    /** Sends a request as a visitor. @returns also the local connection on which it arrived */
    const visit = (request: Omit<Request, 'host'> = {}): Promise<[RawConnection, LocalConnection]> =>
      send(formatRequest({ host, ...request }));

    return { relay, service, pool, host, send, visit };
  },
};
