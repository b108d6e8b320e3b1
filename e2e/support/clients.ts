import assert from 'node:assert/strict';
import type { Tunnel } from '../../shared/tunnel.ts';
import { Culvert, type Relay } from './programs.ts';
import type { Scope } from './scope.ts';
import { SpecClient } from './spec-client/client.ts';

/** What a suite may ask for in a client's tunnel. */
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

/** One of the two clients that every main job is tested with. */
export interface ClientKind {
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
  name: 'a client written from the specification',
  async start(scope, relay, key, { localPort, ...optional }) {
    return await SpecClient.start(scope, relay, key, { local_port: localPort, ...optional });
  },
};

/** Describes the same suite once for each client. */
export function bothClients(name: string, suite: (client: ClientKind) => void): void {
  for (const client of [culvert, specClient]) describe(`${name}, with ${client.name}`, () => suite(client));
}
