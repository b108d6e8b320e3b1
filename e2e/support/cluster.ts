/** Three relays behind nginx, a tunnel through them that `culvert` serves, and load on both. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Tunnel } from '../../shared/tunnel.ts';
import { CREATES_AN_ACCOUNT, createAccount } from './accounts.ts';
import { Api } from './api.ts';
import { eventually } from './deadline.ts';
import { Load, mixedRequests } from './load.ts';
import { startBalancer } from './native-server.ts';
import {
  Culvert,
  type Environment,
  newApiKey,
  newPreparedDatabase,
  POSTGRES_URL,
  type Relay,
  RelayProgram,
} from './programs.ts';
import type { Request } from './raw-http.ts';
import { RedisServer } from './redis.ts';
import { runScope, type Scope } from './scope.ts';
import { closedPort, startHttpService } from './services/listen.ts';

/** The body of the local service's response. */
export function responseTo({ method = 'GET', target = '/', body = '' }: Request): string {
  return `${method} ${target} ${body.length}`;
}

/** ms between two tunnels */
const PAUSE_MS = 800;

/** Creates tunnels one after the other, and records which were acknowledged. */
class Creator {
  readonly made: Tunnel[] = [];
  /** what was received instead of an acknowledgement */
  readonly failures: string[] = [];
  readonly #apis: readonly Api[];
  readonly #work: Promise<void>;
  #over = false;

  /** @param apis one for each account; each creates no more than its burst allows */
  constructor(apis: readonly Api[]) {
    this.#apis = apis;
    this.#work = this.#create();
  }

  async stop(): Promise<void> {
    this.#over = true;
    await this.#work;
  }

  async #create(): Promise<void> {
    const turns = Array.from({ length: CREATES_AN_ACCOUNT }, () => this.#apis).flat();
    for (const api of turns) {
      if (this.#over) return;
      try {
        this.made.push(await api.create({ local_port: 9 }));
      } catch (error) {
        this.failures.push(String(error));
      }
      await delay(PAUSE_MS);
    }
  }
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>;

/** @param accountCount how many accounts create tunnels at the same time */
export async function startFleet(scope: Scope, accountCount: number) {
  const port = await closedPort();
  const url = `http://localhost:${port}`;
  const settings = { CULVERT_PUBLIC_URL: url, CULVERT_TRUST_PROXY: '127.0.0.1' };
  const cluster = await RelayCluster.start(scope, 3, settings);
  await startBalancer(
    scope,
    port,
    cluster.relays.map((relay) => relay.port),
  );
  const service = await startHttpService(scope, (request, response) => {
    let length = 0;
    request.on('data', (chunk: Buffer) => (length += chunk.length));
    request.on('end', () => response.end(`${request.method} ${request.url} ${length}`));
  });
  const culvert = await Culvert.start(scope, { url }, cluster.key, service.port);
  const accounts = await Promise.all(
    Array.from({ length: accountCount }, () => createAccount(cluster.relay(0), { plan: 'team' })),
  );
  return {
    cluster,
    culvert,
    /** the balancer's port */
    port,

    /** Visitors of the tunnel, through the balancer. */
    visit(perSecond: number): Load {
      const host = `${culvert.tunnel.slug}.localhost:${port}`;
      return new Load(port, perSecond, perSecond / 5, mixedRequests(host));
    },

    /** Starts creating tunnels through the balancer. */
    create: (): Creator => new Creator(accounts.map(({ key }) => new Api({ port }, key))),

    /** @returns ids of the created tunnels that a relay does not have */
    async missing({ made }: Creator): Promise<string[]> {
      const missing: string[] = [];
      for (const relay of cluster.relays) {
        const lists = await Promise.all(accounts.map(({ key }) => new Api(relay, key).list()));
        const found = new Set(lists.flat().map(({ id }) => id));
        missing.push(...made.map(({ id }) => id).filter((id) => !found.has(id)));
      }
      return missing;
    },

    /** Connections of the relays' listeners, including those not accepted yet. */
    openOn(...relays: readonly Relay[]): number {
      const ports = new Set(relays.map((relay) => relay.port));
      return connectionEnds().filter((end) => ports.has(end.port)).length;
    },

    /** What `culvert` has printed about the tunnel so far, without problems of individual visitors. */
    get events(): string[] {
      const events = culvert.child.lines.map(
        (line) => (JSON.parse(line) as { readonly event: string }).event,
      );
      return events.filter((event) => event !== 'problem');
    },
  };
}

/** One end of an established connection on 127.0.0.1. */
interface ConnectionEnd {
  readonly port: number;
  readonly peerPort: number;
  /** ms after which Linux probes whether the peer is reachable (TCP keep-alive); `undefined` for never */
  readonly probeIn: number | undefined;
  /** bytes that were written and have not reached the peer's system */
  readonly unsent: number;
  /** bytes that arrived and were not read */
  readonly unread: number;
}

// The columns of /proc/net/tcp: both addresses, state 1 for established, queues, timer 2 for keep-alive, its ticks of 10 ms.
const LINE =
  / 0100007F:([0-9A-F]{4}) 0100007F:([0-9A-F]{4}) 01 ([0-9A-F]{8}):([0-9A-F]{8}) (\d\d):([0-9A-F]{8}) /g;

/** All ends of established IPv4 connections on loopback. */
export function connectionEnds(): ConnectionEnd[] {
  return [...readFileSync('/proc/net/tcp', 'utf8').matchAll(LINE)].map(
    ([, port = '', peerPort = '', unsent = '', unread = '', timer, ticks = '']) => ({
      port: Number.parseInt(port, 16),
      peerPort: Number.parseInt(peerPort, 16),
      probeIn: timer === '02' ? Number.parseInt(ticks, 16) * 10 : undefined,
      unsent: Number.parseInt(unsent, 16),
      unread: Number.parseInt(unread, 16),
    }),
  );
}

/* Several relays on one PostgreSQL database and one Redis. */

/** {@link RelayCluster.shared}, by their settings */
const sharedClusters = new Map<string, Promise<RelayCluster>>();

export class RelayCluster {
  readonly relays: readonly RelayProgram[];
  readonly redis: RedisServer;
  readonly key: string;
  /** address of the database */
  readonly database: string;

  private constructor(relays: readonly RelayProgram[], redis: RedisServer, key: string, database: string) {
    this.relays = relays;
    this.redis = redis;
    this.key = key;
    this.database = database;
  }

  /** @param postgres a server; the one of this run by default */
  static async start(
    scope: Scope,
    count: number,
    settings: Environment = {},
    postgres = POSTGRES_URL,
  ): Promise<RelayCluster> {
    if (postgres === undefined) throw new Error('needs PostgreSQL: run npm test -- cluster');
    const [redis, database] = await Promise.all([
      RedisServer.start(scope),
      newPreparedDatabase(scope, postgres),
    ]);
    const key = newApiKey();
    const shared = {
      CULVERT_DATABASE_URL: database,
      CULVERT_REDIS_URL: redis.url,
      CULVERT_CLUSTER_SECRET: 's'.repeat(32),
      CULVERT_BOOTSTRAP_KEY: key,
      ...settings,
    };
    const relays = await Promise.all(Array.from({ length: count }, () => RelayProgram.start(scope, shared)));
    return new RelayCluster(relays, redis, key, database);
  }

  /**
   * Three relays that all suites of this process share, as they share a relay (relay-suite.ts). For tests with their own
   * accounts and names, which stop neither a relay nor Redis.
   */
  static async shared(settings: Environment = {}): Promise<RelayCluster> {
    const name = JSON.stringify(settings);
    const started = sharedClusters.get(name) ?? RelayCluster.start(runScope, 3, settings);
    sharedClusters.set(name, started);
    const cluster = await started;
    await cluster.#recovered();
    return cluster;
  }

  /** Waits until no relay counts by itself because an earlier test stopped Redis. */
  async #recovered(): Promise<void> {
    for (const { child } of this.relays)
      await eventually(60_000, () => {
        const [failing, recovered] = ['failing', 'recovered'].map(
          (state) => child.stderr.split(`"msg":"redis ${state}"`).length,
        );
        assert.equal(recovered, failing, child.output);
      });
  }

  /** @param index from 0 */
  relay(index: number): RelayProgram {
    const relay = this.relays[index];
    if (relay === undefined) throw new RangeError(`there is no relay ${index}`);
    return relay;
  }

  /** The API of one of the relays, with the bootstrap account's key. */
  api(index: number): Api {
    return new Api(this.relay(index), this.key);
  }
}
