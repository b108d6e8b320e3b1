/** The time PostgreSQL spends on the relays' statements while tunnels are served. */
import { randomUUID } from 'node:crypto';
import { hashKey, hintOf } from '../../../server/accounts/api-keys.ts';
import { FLUSH_BATCH } from '../../../server/limits.ts';
import { openPostgres } from '../../../server/store/postgres/open-postgres.ts';
import type { Store } from '../../../server/store/store.ts';
import { newDatabase, query } from '../../support/postgres.ts';
import { newApiKey } from '../../support/programs.ts';
import { familyCpuSeconds } from '../machine.ts';
import type { ClusterCase } from './case.ts';

const TUNNELS = 4000;
/** How often all tunnels are flushed. */
const FLUSHES = 10;
const KEYS = 10_000;
/** Relays that flush or query at the same time. */
const AT_ONCE = 4;

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
      inTurns(
        Array.from({ length: KEYS }, (_, index) => tunnels[index % TUNNELS]?.key ?? ''),
        (key) => store.findKeyOwner(hashKey(key)),
      ),
    );
    log('database: done');
  },
};

async function flushAll(store: Store, tunnels: readonly StoredTunnel[]): Promise<void> {
  const batches = Array.from({ length: Math.ceil(tunnels.length / FLUSH_BATCH) }, (_, index) =>
    tunnels.slice(index * FLUSH_BATCH, (index + 1) * FLUSH_BATCH),
  );
  const traffic = { bytesIn: 100, bytesOut: 1000, requests: 1, expiresAt: 0, termsRevision: 0 };
  await inTurns(batches, (batch) => store.addTraffic(batch.map(({ id }) => ({ id, ...traffic }))));
}

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = items.values();
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (const item of left) await work(item);
  });
  await Promise.all(workers);
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
