import assert from 'node:assert/strict';
import { checkAsyncScript } from '../../shared/testing/script.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  anAccount,
  aStore,
  aTunnel,
  nameHolders,
  ofTunnels,
  storeAnswers,
  type TestStore,
} from '../testing/fixtures.ts';
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

  async function leave(slug: string): Promise<void> {
    await test.store.insertTunnel(aTunnel(account.id, { slug, expiresAt: clock.now() }));
  }

  /** Times are in seconds, and tunnels are left when they expire. A step shows what is in the store. */
  for (const [title, script] of Object.entries({
    'runs every 60 s, and removes tunnels that nobody has ended a minute after their expiry':
      '+60; +0.001; leave web: web; +59.999: web; +60',
    'gives relays a minute to store what they could not while the store was down':
      '+60; leave web: web; down; +60; +60; +60; up: web; +60: web; +60',
    'stops on request': 'leave web: web; stop: web; +60: web; +60: web; +60: web',
  }))
    it(title, async () => {
      await checkAsyncScript(script, async (step) => {
        const [action, slug = ''] = step.split(' ');
        if (action === 'leave') await leave(slug);
        else if (action === 'stop') sweep.stop();
        else if (action === 'down' || action === 'up') test.down = action === 'down';
        else clock.advance(Math.round(Number(step) * 1000));
        await storeAnswers();
        return test.down ? '' : (await ofTunnels(test.store, 'slug')).join(' ');
      });
      const isStopped = title.startsWith('stops');
      assert.equal(clock.pending, isStopped ? 0 : 1);
      const holder = isStopped ? undefined : account.id;
      assert.deepEqual(await nameHolders(test.store, [['web', clock.now()]]), [holder]);
    });

  it('removes 500 at a time until none is left', async () => {
    for (let left = 2 * SWEEP_BATCH + 1; left > 0; left -= 1) await leave(`web-${left}`);
    for (let count = 0; count < 2; count += 1) {
      clock.advance(SWEEP_INTERVAL_MS);
      await storeAnswers();
    }
    assert.deepEqual([await ofTunnels(test.store, 'slug'), limits], [[], [500, 500, 500]]);
  });
});
