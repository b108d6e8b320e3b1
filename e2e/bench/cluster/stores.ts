/** The time that PostgreSQL spends on the relays' statements while tunnels are served, and Redis's one core on each of their scripts. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { hashKey, hintOf } from '../../../server/accounts/api-keys.ts';
import { connectionId } from '../../../server/cluster/connection-id.ts';
import { RedisLink } from '../../../server/cluster/redis-client.ts';
import { ANNOUNCE, CLAIM, LEASE, RELAYS } from '../../../server/cluster/scripts.ts';
import { FLUSH_BATCH } from '../../../server/limits.ts';
import { openPostgres } from '../../../server/store/postgres/open-postgres.ts';
import type { Store } from '../../../server/store/store.ts';
import { newDatabase, query } from '../../support/postgres.ts';
import { newApiKey } from '../../support/programs.ts';
import { RedisServer } from '../../support/redis.ts';
import type { Scope } from '../../support/scope.ts';
import { cpuSeconds, familyCpuSeconds } from '../../support/processes.ts';
import type { ClusterCase } from './case.ts';

const TUNNELS = 4000;
/** How often all tunnels are flushed. */
const FLUSHES = 10;
const KEYS = 10_000;
/** Relays that flush or query at the same time, or make slow calls. */
const SLOW_AT_ONCE = 4;

export const databaseCase: ClusterCase = {
  name: 'database',
  async run(scope, { postgres, samples, log }) {
    const url = await newDatabase(scope, postgres.url);
    const store = await openPostgres({ kind: 'postgres', url }, () => {});
    scope.defer(() => store.close());
    const tunnels = await storeTunnels(url, TUNNELS);
    const measure = async (what: string, units: number, work: () => Promise<void>): Promise<void> => {
      const before = familyCpuSeconds(postgres.pid);
      const began = performance.now();
      await work();
      const seconds = (performance.now() - began) / 1000;
      samples.add(`PostgreSQL/${what}/CPU µs`, ((familyCpuSeconds(postgres.pid) - before) * 1e6) / units);
      samples.add(`PostgreSQL/${what}/a second, here`, units / seconds);
    };
    await measure(`counters of a tunnel (of ${FLUSH_BATCH} at a time)`, TUNNELS * FLUSHES, async () => {
      for (let flush = 0; flush < FLUSHES; flush += 1) await flushAll(store, tunnels);
    });
    await measure('a key found', KEYS, () =>
      repeat(KEYS, (index) => store.findKeyOwner(hashKey(tunnels[index % TUNNELS]?.key ?? '')), SLOW_AT_ONCE),
    );
    log('database: done');
  },
};

async function flushAll(store: Store, tunnels: readonly StoredTunnel[]): Promise<void> {
  const traffic = { bytesIn: 100, bytesOut: 1000, requests: 1, expiresAt: 0, termsRevision: 0 };
  const flush = (index: number): Promise<unknown> => {
    const batch = tunnels.slice(index * FLUSH_BATCH, (index + 1) * FLUSH_BATCH);
    return store.addTraffic(batch.map(({ id }) => ({ id, ...traffic })));
  };
  await repeat(Math.ceil(tunnels.length / FLUSH_BATCH), flush, SLOW_AT_ONCE);
}

const DAY_MS = 24 * 3600 * 1000;
/** The tunnels of one account. A relay reads all of them when it needs the first. */
const TUNNELS_AN_ACCOUNT = 20;

export interface StoredTunnel {
  readonly id: string;
  readonly slug: string;
  /** key of the tunnel's account */
  readonly key: string;
}

/** @param database a database whose tables a relay has created */
export async function storeTunnels(database: string, count: number): Promise<StoredTunnel[]> {
  const now = Date.now();
  const accounts = Array.from({ length: Math.ceil(count / TUNNELS_AN_ACCOUNT) }, () => ({
    id: randomUUID(),
    key: newApiKey(),
  }));
  const tunnels = Array.from({ length: count }, (_, index) => {
    const account = accounts[Math.floor(index / TUNNELS_AN_ACCOUNT)];
    if (account === undefined) throw new RangeError(`no account for tunnel ${index}`);
    return { id: randomUUID(), slug: `stored-${index}`, account };
  });
  await insert(
    database,
    'accounts',
    accounts.map(({ id }) => ({ id, name: id, plan: 'team', subdomain: null, created_at: now })),
  );
  await insert(
    database,
    'api_keys',
    accounts.map(({ id, key }) => ({
      id: randomUUID(),
      account_id: id,
      hash: hashKey(key),
      hint: hintOf(key),
      created_at: now,
      revoked_at: null,
    })),
  );
  await insert(
    database,
    'tunnels',
    tunnels.map(({ id, slug, account }) => ({
      id,
      account_id: account.id,
      slug,
      name: '',
      local_port: 9,
      ttl_seconds: 86_400,
      idle: 0,
      created_at: now,
      expires_at: now + DAY_MS,
      bytes_in: 0,
      bytes_out: 0,
      requests: 0,
    })),
  );
  return tunnels.map(({ id, slug, account }) => ({ id, slug, key: account.key }));
}

/** Columns that the rows do not name get their defaults. */
async function insert(database: string, table: string, rows: readonly object[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {}).join(', ');
  await query(
    database,
    `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
    [JSON.stringify(rows)],
  );
}

const REDIS_TUNNELS = 10_000;
const CALLS = 30_000;
/** Calls in flight at the same time, as on a busy relay. */
const AT_ONCE = 50;
const KEEP_MS = 15 * 60_000;
const LEASE_MS = 3_600_000;
/** Relays that receive the broadcast messages. */
const LISTENERS = [1, 10, 100];
/** Relays in the list that each relay reads every 3 s. */
const MEMBERS = [10, 100, 1000];

type Call = (index: number) => Promise<unknown>;

export const redis: ClusterCase = {
  name: 'redis',
  async run(scope, { samples, log }) {
    const server = await RedisServer.start(scope);
    const link = await openLink(scope, server);
    const ids = Array.from({ length: REDIS_TUNNELS }, () => randomUUID());
    const add = (what: string, us: number): void => samples.add(`Redis/${what}/CPU µs`, us);
    const cost = async (calls: number, call: Call, atOnce = AT_ONCE): Promise<number> => {
      const before = cpuSeconds([server.pid]);
      await repeat(calls, call, atOnce);
      return ((cpuSeconds([server.pid]) - before) * 1e6) / calls;
    };
    const id = (index: number): string => ids[index % REDIS_TUNNELS] ?? '';
    await link.run(LEASE, 1, 'one', '127.0.0.1:1', LEASE_MS);
    await listen(scope, server, 'culvert:to:one', 1);
    const claim = (index: number): Promise<unknown> => link.run(CLAIM, id(index), 1, 'one', id(0), KEEP_MS);
    const memory = (await server.counters()).memory;
    await repeat(REDIS_TUNNELS, claim);
    samples.add('Redis/entry of a tunnel/bytes', ((await server.counters()).memory - memory) / REDIS_TUNNELS);
    add(
      'announcement of a visitor to another relay',
      await cost(CALLS, (index) => link.run(ANNOUNCE, id(index), connectionId(2, 'secret'), 'two')),
    );
    let members = 1;
    for (const count of MEMBERS) {
      for (; members < count; members += 1)
        await link.run(LEASE, members + 1, `incarnation-${members}`, '10.0.0.1:7000', LEASE_MS);
      add(
        `list of relays, ${count} of them`,
        await cost((10 * CALLS) / count, () => link.run(RELAYS), SLOW_AT_ONCE),
      );
    }
    let listeners = 0;
    for (const count of LISTENERS) {
      await listen(scope, server, 'culvert:all', count - listeners);
      listeners = count;
      add(`control socket entered, ${count} relays told`, await cost(CALLS, claim));
    }
    log('redis: done');
  },
};

async function openLink(scope: Scope, server: RedisServer): Promise<RedisLink> {
  const isUp = Promise.withResolvers<void>();
  const link = await RedisLink.open({
    url: server.url,
    channels: ['culvert:none'],
    log: () => {},
    onUp: isUp.resolve,
    onMessage: () => {},
    onUnsent: () => {},
  });
  scope.defer(() => link.close());
  await isUp.promise;
  return link;
}

/** Relays that only listen. */
async function listen(scope: Scope, server: RedisServer, channel: string, count: number): Promise<void> {
  for (let started = 0; started < count; started += 1) {
    const socket = connect(server.port, '127.0.0.1');
    scope.defer(() => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.write(`SUBSCRIBE ${channel}\r\n`);
    await once(socket, 'data');
    socket.resume();
  }
}

async function repeat(calls: number, call: Call, atOnce = AT_ONCE): Promise<void> {
  let next = 0;
  const callers = Array.from({ length: atOnce }, async () => {
    while (next < calls) await call(next++);
  });
  await Promise.all(callers);
}
