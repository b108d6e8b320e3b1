/** What PostgreSQL spends on the relays' statements while tunnels are served. */
import { openPostgres } from '../../../server/store/postgres/open-postgres.ts';
import type { Store } from '../../../server/store/store.ts';
import { FLUSH_BATCH } from '../../../server/limits.ts';
import { hashKey } from '../../../server/accounts/api-key.ts';
import { newDatabase } from '../../support/postgres.ts';
import { familyCpuSeconds } from '../processes.ts';
import type { ClusterCase } from './case.ts';
import { type StoredTunnel, storeTunnels } from './stored-tunnels.ts';

const TUNNELS = 4000;
/** How often all tunnels are flushed. */
const FLUSHES = 10;
const KEYS = 10_000;
/** Relays that flush or query at the same time. */
const AT_ONCE = 4;

export const database: ClusterCase = {
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
