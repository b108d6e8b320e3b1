/** What several relays need in total: their own CPU and memory, Redis, PostgreSQL and connections. */
import {
  ACCESS_POLL_MS,
  FLUSH_BATCH,
  FLUSH_INTERVAL_MS,
  POSTGRES_CONNECTIONS_MAX,
} from '../../../server/limits.ts';
import { type RedisDemand, redisDemand } from './redis-demand.ts';
import type { Scenario } from './scenario.ts';
import { RELAY_US, TUNNEL_BYTES } from './unit-costs.ts';

/** Statements for a client that comes to a relay: whose key it is, and which tunnels its account has. */
const STATEMENTS_A_RECONNECT = 2;
/** Transactions for a create, close or extend, including the look-up of the key. */
const TRANSACTIONS_A_CHANGE = 3;
/** The connection with the lock that says that relays use the database. */
const LOCK_CONNECTIONS = 1;

export interface Demand {
  readonly redis: RedisDemand;
  readonly database: {
    /** transactions a second; a single statement counts as one */
    readonly transactions: number;
    /** rows written a second */
    readonly rows: number;
    /** at most */
    readonly connections: number;
  };
  readonly relay: {
    /** cores that all relays need together, if none is idle */
    readonly cores: number;
    /** bytes for tunnels, on each */
    readonly memory: number;
  };
}

export function demand(scenario: Scenario): Demand {
  return { redis: redisDemand(scenario), database: databaseDemand(scenario), relay: relayDemand(scenario) };
}

function databaseDemand(scenario: Scenario): Demand['database'] {
  const { relays, reconnects, changes, busyTunnels, relaysPerBusyTunnel } = scenario;
  const flushes = 1000 / FLUSH_INTERVAL_MS;
  const busyPerRelay = (busyTunnels * relaysPerBusyTunnel) / relays;
  return {
    transactions:
      (relays * 1000) / ACCESS_POLL_MS +
      relays * Math.ceil(busyPerRelay / FLUSH_BATCH) * flushes +
      reconnects * STATEMENTS_A_RECONNECT +
      changes * TRANSACTIONS_A_CHANGE,
    rows: busyPerRelay * relays * flushes + changes,
    connections: relays * (POSTGRES_CONNECTIONS_MAX + LOCK_CONNECTIONS),
  };
}

function relayDemand(scenario: Scenario): Demand['relay'] {
  const { relays, tunnels, requests, requestsPerConnection, elsewhere, hops, reconnects } = scenario;
  const connections = requests / requestsPerConnection;
  const us =
    requests * (RELAY_US.request + hops * RELAY_US.hopRequest) +
    connections * (RELAY_US.connection + elsewhere * RELAY_US.announced + hops * RELAY_US.hopConnection) +
    reconnects * RELAY_US.control;
  return { cores: us / 1e6, memory: (tunnels / relays) * TUNNEL_BYTES };
}
