import assert from 'node:assert/strict';
import type { ReleasedTunnel } from '../store/queries/tunnel-queries.ts';
import type { TunnelRecord } from '../store/records.ts';
import { StoreError } from '../store/store-errors.ts';
import {
  allTunnels,
  anAccess,
  anAccount,
  aStore,
  aTunnel,
  ofTunnels,
  storeAnswers,
  type TestStore,
} from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { LiveTunnel, TOKEN_USE_MS } from './live-tunnel.ts';
import { TunnelRegistry } from './registry.ts';
import { Coordination } from './coordination.ts';
import { FLUSH_BATCH, FLUSH_INTERVAL_MS, FLUSH_SOON_MS, FLUSH_URGENT_MS, StoreSync } from './store-sync.ts';

describe('StoreSync', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  let logged: unknown[];
  let sync: StoreSync;

  beforeEach(async () => {
    clock = new FakeClock(0);
    test = await aStore(account);
    logged = [];
    sync = new StoreSync(test.store, clock, (event, fields) => logged.push([event, fields]));
  });

  async function live(fields: Partial<TunnelRecord> = {}): Promise<LiveTunnel> {
    const tunnel = aTunnel(account.id, fields);
    await test.store.insertTunnel(tunnel);
    return new LiveTunnel({ tunnel, account }, clock, sync.noteTraffic);
  }

  async function storedRequests(): Promise<number[]> {
    return await ofTunnels(test.store, 'requests');
  }

  /** A tunnel with these tokens, which are their own hashes. */
  async function withTokens(...names: readonly string[]): Promise<LiveTunnel> {
    const access = anAccess({ tokens: names.map((name) => ({ name, hash: name })) });
    return await live({ access, tokenUses: names.includes('old') ? [['old', 5]] : [] });
  }

  async function use(tunnel: LiveTunnel, hash: string): Promise<unknown> {
    tunnel.tokenUses.note(hash);
    tunnel.countRequest();
    await sync.flush();
    return (await test.store.findTunnel(tunnel.id))?.tunnel.tokenUses;
  }

  it('stores the use of tokens with the traffic, at most once a minute', async () => {
    const tunnel = await withTokens('ci', 'agent', 'old');
    clock.advance(10);
    const first = [
      ['old', 5],
      ['ci', 10],
    ];
    assert.deepEqual(await use(tunnel, 'ci'), first);
    clock.advance(TOKEN_USE_MS - 1);
    assert.deepEqual(await use(tunnel, 'ci'), first);
    clock.advance(1);
    const now = 10 + TOKEN_USE_MS;
    const latest = [...first.slice(0, 1), ['ci', now], ['agent', now]];
    await use(tunnel, 'ci');
    assert.deepEqual(await use(tunnel, 'agent'), latest);
    assert.deepEqual([...tunnel.tokenUses.times], latest);
    tunnel.setAccess(anAccess({ tokens: [{ name: 'ci', hash: 'ci' }] }), 1);
    assert.deepEqual([...tunnel.tokenUses.times], [['ci', now]]);
  });

  it('reports the traffic that it stored even if the use of its tokens cannot be stored', async () => {
    let isDown = true;
    const store = new Proxy(test.store, {
      get: (target, name) =>
        name === 'markTokensUsed' && isDown
          ? () => Promise.reject(new StoreError(new Error('down')))
          : Reflect.get(target, name),
    });
    sync = new StoreSync(store, clock, () => {});
    const tunnel = await withTokens('ci');
    const reported: number[] = [];
    sync.onStored = (deltas) => reported.push(...deltas.map(({ requests }) => requests));
    assert.deepEqual([await use(tunnel, 'ci'), reported], [[], [1]]);
    isDown = false;
    tunnel.countRequest();
    await sync.flush();
    const stored = (await test.store.findTunnel(tunnel.id))?.tunnel;
    assert.deepEqual([stored?.requests, stored?.tokenUses], [2, [['ci', 0]]]);
  });

  it('stores traffic within 50 ms if other relays would otherwise end an idle tunnel within 2 s, and only then', async () => {
    for (const [shared, idle, left, wait] of [
      [true, true, FLUSH_URGENT_MS, FLUSH_SOON_MS],
      [true, true, FLUSH_URGENT_MS + 1, FLUSH_INTERVAL_MS],
      [true, false, FLUSH_URGENT_MS, FLUSH_INTERVAL_MS],
      [false, true, FLUSH_URGENT_MS, FLUSH_INTERVAL_MS],
    ] as const) {
      sync = new StoreSync(test.store, clock, () => {});
      sync.start();
      const deps = { store: test.store, sync, clock, nameHold: 0, log() {}, onAccess() {}, onEnd() {} };
      const registry = new TunnelRegistry(new Set());
      const { lifecycle } = new Coordination({ ...deps, registry }, shared ? () => {} : undefined);
      const record = aTunnel(account.id, { idle, expiresAt: clock.now() + left });
      await test.store.insertTunnel(record);
      lifecycle.begin({ tunnel: record, account }).countRequest();
      const requests = async () => (await test.store.findTunnel(record.id))?.tunnel.requests;
      clock.advance(wait - 1);
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(await requests(), 0);
      clock.advance(1);
      while ((await requests()) === 0) await new Promise((resolve) => setImmediate(resolve));
      lifecycle.stop();
      await sync.stop();
    }
  });

  it('counts everything exactly once if traffic arrives during a write, or if one fails', async () => {
    const tunnel = await live();
    tunnel.countRequest();
    const flushed = sync.flush();
    tunnel.countRequest();
    await flushed;
    await sync.flush();
    assert.deepEqual(await storedRequests(), [2]);
    test.down = true;
    for (const down of [true, false]) {
      tunnel.countRequest();
      await sync.flush();
      test.down = down;
    }
    await sync.flush();
    assert.deepEqual(await storedRequests(), [4]);
  });

  it('stores the expiry that idle traffic has moved', async () => {
    const idle = await live({ idle: true, ttl: 60, expiresAt: 60_000 });
    clock.advance(5000);
    idle.countIn(1);
    await sync.flush();
    assert.equal((await allTunnels(test.store))[0]?.tunnel.expiresAt, 65_000);
  });

  it('stores many tunnels in several transactions', async () => {
    for (let i = 0; i < FLUSH_BATCH + 1; i += 1) (await live()).countRequest();
    await sync.flush();
    assert.deepEqual(new Set(await storedRequests()), new Set([1]));
  });

  it('flushes every second once it is started, and a last time when it is stopped', async () => {
    const tunnel = await live();
    sync.start();
    for (const count of [1, 2]) {
      tunnel.countRequest();
      clock.advance(FLUSH_INTERVAL_MS);
      await storeAnswers();
      assert.deepEqual(await storedRequests(), [count]);
    }
    tunnel.countRequest();
    await sync.stop();
    assert.deepEqual([await storedRequests(), clock.pending, logged], [[3], 0, []]);
  });

  it('logs what was lost at the end', async () => {
    const tunnel = await live();
    sync.start();
    tunnel.countRequest();
    test.down = true;
    await sync.stop();
    assert.deepEqual(logged, [['traffic not stored', { tunnels: 1 }]]);
  });

  it('removes the records of ended tunnels, even if the store was down at that time', async () => {
    const tunnel = await live();
    test.down = true;
    sync.noteGone(ended(tunnel));
    await sync.flush();
    test.down = false;
    assert.equal((await storedRequests()).length, 1);
    await sync.flush();
    assert.deepEqual(await storedRequests(), []);
  });

  it('frees a slug immediately', async () => {
    sync.noteGone(ended(await live({ slug: 'web' })));
    await sync.clear('web');
    assert.deepEqual(await storedRequests(), []);
    await sync.clear('web');
  });
});

function ended({ id, slug, account }: LiveTunnel): ReleasedTunnel {
  return { id, slug, accountId: account.id, heldUntil: 0 };
}
