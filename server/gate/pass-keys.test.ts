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

function linkKey(week: number): string {
  return `secret of links ${week}`;
}

describe('KeyRing', () => {
  let clock: FakeClock;
  let fails: boolean;
  let changes: number;
  /** how often all secrets were renewed */
  let renewals: number;
  let removed: [prefix: string, before: number][];
  let ring: KeyRing;

  beforeEach(async () => {
    clock = new FakeClock();
    clock.advance(PASS_KEY_MS - (clock.now() % PASS_KEY_MS) + 24 * HOUR);
    fails = false;
    changes = 0;
    renewals = 0;
    removed = [];
    ring = ringOf('pass', PASS_SECONDS * 1000);
    await ring.start();
  });

  function ringOf(name: string, lifetime: number): KeyRing {
    return new KeyRing({
      store: {
        relaySecret: (secret) =>
          fails
            ? Promise.reject(new StoreError('down'))
            : Promise.resolve(`secret of ${secret}${'!'.repeat(renewals)}`),
        removeSecrets: (prefix, before) => Promise.resolve(void removed.push([prefix, before])),
      },
      name,
      lifetime,
      clock,
      changed: () => (changes += 1),
    });
  }

  afterEach(() => ring.stop());

  /** Lets ms go by, and what was asked of the store arrive. */
  async function pass(ms: number): Promise<void> {
    clock.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
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

  it('accepts keys of earlier weeks as long as anything signed with them may be valid', async () => {
    const links = ringOf('links', 30 * 24 * HOUR);
    await links.start();
    const week = Math.floor(clock.now() / PASS_KEY_MS);
    const before = (...weeks: number[]): string[] => weeks.map((ago) => linkKey(week - ago));
    // One day into the week, the fifth one before ended 29 days ago.
    assert.deepEqual(links.keys, { current: linkKey(week), others: before(1, 2, 3, 4, 5) });
    await pass(24 * HOUR);
    assert.deepEqual(links.keys, { current: linkKey(week), others: before(1, 2, 3, 4) });
    await pass(5 * 24 * HOUR - HOUR);
    await pass(HOUR);
    assert.deepEqual(links.keys, { current: linkKey(week + 1), others: before(0, 1, 2, 3, 4) });
    links.stop();
  });

  it('refuses a key for a tunnel that was created an hour after its week or later', async () => {
    const links = ringOf('links', 30 * 24 * HOUR);
    await links.start();
    const begin = clock.now() - 24 * HOUR;
    const week = Math.floor(clock.now() / PASS_KEY_MS);
    const others = (madeAt: number): readonly string[] => links.keysSince(madeAt).others;
    assert.deepEqual(others(begin + HOUR), []);
    assert.deepEqual(others(begin + HOUR - 1), [`secret of links ${week - 1}`]);
    assert.deepEqual(
      others(begin - PASS_KEY_MS),
      [1, 2].map((ago) => `secret of links ${week - ago}`),
    );
    assert.equal(links.keysSince(clock.now()).current, `secret of links ${week}`);
    links.stop();
  });

  it('removes the secrets of keys that have expired', async () => {
    await pass(6 * 24 * HOUR);
    const [prefix, before] = removed.at(-1) ?? [];
    assert.equal(prefix, 'pass ');
    // Made an hour before the week that has just begun, or later, or for the week before.
    assert.ok(before !== undefined && before < clock.now() - PASS_KEY_MS - PASS_SECONDS * 1000 - HOUR);
  });

  it('reloads renewed secrets, and reports a change only then', async () => {
    await ring.reload();
    assert.equal(changes, 0);
    renewals = 1;
    await ring.reload();
    assert.deepEqual([ring.keys.current, changes], [`${key(Math.floor(clock.now() / PASS_KEY_MS))}!`, 1]);
    fails = true;
    await assert.rejects(ring.reload(), StoreError);
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
