import assert from 'node:assert/strict';
import { PASS_KEY_MS, STORE_RETRY_MS, PASS_SECONDS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { KeyRing } from './pass-keys.ts';

const HOUR = 3600_000;

/** The key of a week since 1970. */
function key(week: number): string {
  return `secret of pass ${week}`;
}

describe('KeyRing', () => {
  let clock: FakeClock;
  let fails: boolean;
  let changes: number;
  let ring: KeyRing;

  beforeEach(async () => {
    clock = new FakeClock();
    clock.advance(PASS_KEY_MS - (clock.now() % PASS_KEY_MS) + 24 * HOUR);
    fails = false;
    changes = 0;
    ring = new KeyRing({
      store: {
        relaySecret: (name) =>
          fails ? Promise.reject(new StoreError('down')) : Promise.resolve(`secret of ${name}`),
      },
      clock,
      changed: () => (changes += 1),
    });
    await ring.start();
  });

  afterEach(() => ring.stop());

  /** Lets ms go by, and what was asked of the store arrive. */
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }

  it('has a new key each week, and takes the one before for 12 h, the next one for the hour before', async () => {
    const week = Math.floor(clock.now() / PASS_KEY_MS);
    assert.deepEqual(ring.keys, { current: key(week), others: [] });
    await pass(6 * 24 * HOUR - HOUR);
    assert.deepEqual(ring.keys, { current: key(week), others: [key(week + 1)] });
    await pass(HOUR);
    assert.deepEqual(ring.keys, { current: key(week + 1), others: [key(week)] });
    await pass(PASS_SECONDS * 1000);
    assert.deepEqual(ring.keys, { current: key(week + 1), others: [] });
    assert.equal(changes, 3);
  });

  it('goes on with the keys it has while the store fails, and asks again every 10 s', async () => {
    const before = ring.keys;
    fails = true;
    await pass(6 * 24 * HOUR);
    assert.deepEqual(ring.keys, before);
    fails = false;
    await pass(STORE_RETRY_MS);
    assert.notDeepEqual(ring.keys, before);
  });
});
