import assert from 'node:assert/strict';
import { EXPIRED_GRACE_MS } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount, aStore, aTunnel, ofTunnels, storeAnswers, type TestStore } from '../testing/fixtures.ts';
import { OverdueSweep, SWEEP_BATCH, SWEEP_INTERVAL_MS } from './shared-expiry.ts';

const HOLD = 3_600_000;

describe('OverdueSweep', () => {
  const account = anAccount();
  let clock: FakeClock;
  let test: TestStore;
  /** limits of the removals requested from the store */
  let limits: number[];
  let sweep: OverdueSweep;

  beforeEach(async () => {
    clock = new FakeClock();
    test = await aStore(account);
    limits = [];
    const store: Pick<Store, 'ping' | 'releaseOverdue'> = {
      ping: () => test.store.ping(),
      releaseOverdue(overdue) {
        limits.push(overdue.limit);
        return test.store.releaseOverdue(overdue);
      },
    };
    sweep = new OverdueSweep(store, clock, HOLD);
    sweep.start();
  });

  afterEach(() => sweep.stop());

  async function pass(intervals: number): Promise<void> {
    for (let left = intervals; left > 0; left -= 1) {
      clock.advance(SWEEP_INTERVAL_MS);
      await storeAnswers();
    }
  }

  async function leave(slug: string): Promise<void> {
    await test.store.insertTunnel(aTunnel(account.id, { slug, expiresAt: clock.now() }));
  }

  async function slugs(): Promise<string[]> {
    return await ofTunnels(test.store, 'slug');
  }

  it('runs every 60 s, and removes tunnels that nobody has ended a minute after their expiry', async () => {
    await pass(1);
    clock.advance(SWEEP_INTERVAL_MS - EXPIRED_GRACE_MS + 1);
    await leave('web');
    clock.advance(SWEEP_INTERVAL_MS - 1);
    await storeAnswers();
    assert.deepEqual(await slugs(), ['web']);
    await pass(1);
    assert.deepEqual(await slugs(), []);
    assert.equal(await test.store.nameHolder('web', clock.now()), account.id);
  });

  it('gives relays a minute to store what they could not while the store was down', async () => {
    await pass(1);
    await leave('web');
    test.down = true;
    await pass(3);
    test.down = false;
    await pass(1);
    assert.deepEqual(await slugs(), ['web']);
    await pass(1);
    assert.deepEqual(await slugs(), []);
  });

  it('removes 500 at a time until none is left', async () => {
    for (let left = 2 * SWEEP_BATCH + 1; left > 0; left -= 1) await leave(`web-${left}`);
    await pass(2);
    assert.deepEqual(await slugs(), []);
    assert.deepEqual(limits, [500, 500, 500]);
  });

  it('stops on request', async () => {
    await leave('web');
    sweep.stop();
    await pass(3);
    assert.deepEqual([await slugs(), clock.pending], [['web'], 0]);
  });
});
