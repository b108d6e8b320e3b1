import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { openPostgres } from '../../server/store/postgres/open-postgres.ts';
import type { Store } from '../../server/store/store.ts';
import { FakeClock } from '../../server/testing/fake-clock.ts';
import { anAccount, aTunnel, CALLER, PUBLIC } from '../../server/testing/fixtures.ts';
import { TunnelRegistry } from '../../server/tunnels/registry.ts';
import { FOLLOW_BATCH, SWEEP_BATCH, SWEEP_INTERVAL_MS } from '../../server/tunnels/shared-expiry.ts';
import { TunnelService } from '../../server/tunnels/tunnel-service.ts';
import { eventually } from '../support/deadline.ts';
import { newDatabase, query } from '../support/postgres.ts';
import { POSTGRES_URL } from '../support/programs.ts';
import { suiteScope, testScope } from '../support/scope.ts';

const HOLD_SECONDS = 3600;
const HOUR = 3_600_000;
const TUNNELS = 20_000;

/** One relay of several, reduced to its tunnels, on a real database and with a clock that the test controls. */
describe('a relay on PostgreSQL, after others have died', function () {
  const suite = suiteScope();
  const scope = testScope();
  const [owner, stranger] = [anAccount({ plan: 'team' }), anAccount()];
  let url: string;
  let store: Store;
  let clock: FakeClock;
  let registry: TunnelRegistry;
  let service: TunnelService;
  /** how many tunnels the database was asked for at a time */
  let asked: number[];
  /** operations that the database has not finished */
  let pending: number;

  before(async () => {
    url = await newDatabase(suite, POSTGRES_URL ?? '');
    store = await openPostgres({ kind: 'postgres', url }, () => {});
    suite.defer(() => store.close());
    for (const account of [owner, stranger]) await store.insertAccounts([account]);
  });

  beforeEach(async () => {
    await query(url, 'delete from tunnels');
    clock = new FakeClock();
    registry = new TunnelRegistry(new Set());
    asked = [];
    pending = 0;
    const counted = new Proxy(store, {
      get(target, property: keyof Store) {
        const method: unknown = target[property];
        assert.ok(typeof method === 'function');
        return (...args: readonly unknown[]): unknown => {
          const [by, values] = args as Partial<Parameters<Store['findTunnels']>>;
          if (property === 'findTunnels' && by === 'id') asked.push(values?.length ?? 0);
          const result: unknown = method.apply(target, args);
          if (result instanceof Promise) {
            pending += 1;
            void result.catch(() => undefined).finally(() => (pending -= 1));
          }
          return result;
        };
      },
    });
    service = new TunnelService({
      store: counted,
      registry,
      clock,
      log: () => {},
      ttl: { defaultTtl: 3600, maxTtl: 604_800 },
      nameHold: HOLD_SECONDS,
      tellPeers: () => {},
      onAccess: () => {},
      onEnd: () => {},
    });
    await service.start();
    scope.defer(() => service.stop());
  });

  /** Inserts rows as other relays would have left them. */
  async function leave(count: number, expiresAt: number): Promise<void> {
    const first = aTunnel(owner.id, { slug: 'left-1', createdAt: clock.now(), expiresAt });
    await store.insertTunnel(first);
    await query(
      url,
      `insert into tunnels select made.* from tunnels, generate_series(2, $2::int) as n,
         jsonb_populate_record(tunnels, jsonb_build_object('id', gen_random_uuid(), 'slug', 'left-' || n)) as made
         where tunnels.id = $1`,
      [first.id, count],
    );
  }

  async function rows(): Promise<number> {
    const [row] = await query(url, 'select count(*)::int as count from tunnels');
    return Number(row?.['count']);
  }

  /** Advances the clock until the condition holds, but not while the database is at work. */
  async function until(step: number, probe: () => Promise<void> | void): Promise<void> {
    await eventually(120_000, async () => {
      if (pending === 0) clock.advance(step);
      for (let times = 0; times < 10; times += 1) await turn();
      await probe();
    });
  }

  it('removes their expired tunnels, and holds the names for their accounts as long as it should', async () => {
    const count = SWEEP_BATCH + 10;
    const end = clock.now();
    await leave(count, end);
    const wanted = {
      localPort: 9,
      name: 'left-1',
      ttl: 3600,
      idleTtl: false,
      access: PUBLIC,
      domain: '',
      wildcard: false,
      protocol: 'http' as const,
      remotePort: undefined,
      caller: CALLER,
    };
    await assert.rejects(service.create(stranger, wanted), { status: 409 });
    await until(SWEEP_INTERVAL_MS, async () => assert.equal(await rows(), 0));
    assert.ok(clock.now() - end < HOUR / 2, `${clock.now() - end} ms`);
    await assert.rejects(service.create(stranger, wanted), { status: 409 });
    assert.equal((await service.create(owner, wanted)).slug, 'left-1');
    clock.advance(end + HOLD_SECONDS * 1000 - clock.now());
    assert.equal((await service.create(stranger, { ...wanted, name: 'left-2' })).slug, 'left-2');
  });

  it('reviews twenty thousand tunnels in batches, and ends those that other relays have closed', async () => {
    await leave(TUNNELS, clock.now() + HOUR);
    await service.coordination.followAccount(owner);
    assert.equal(registry.size, TUNNELS);
    await query(url, "delete from tunnels where slug like '%7'");
    service.coordination.review();
    await until(50, () => assert.equal(registry.size, TUNNELS - TUNNELS / 10));
    assert.ok(asked.every((size) => size <= FOLLOW_BATCH));
    assert.equal(asked.length, TUNNELS / FOLLOW_BATCH);
  });
});
