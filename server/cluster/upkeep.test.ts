import assert from 'node:assert/strict';
import { LEAP_CHECK_MS, LEAP_RETRY_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { RedisError } from './redis-link.ts';
import { Upkeep } from './upkeep.ts';

/** Lets everything that is under way in memory arrive. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('Upkeep', () => {
  let clock: FakeClock;
  let redis: { isUp: boolean };
  /** what the next renewals find: whether others took the relay for dead, or that Redis fails */
  let found: (boolean | 'fails')[];
  /** what was done and when, in ms since the start */
  let done: string[];
  let upkeep: Upkeep;

  beforeEach(() => {
    clock = new FakeClock();
    const start = clock.monotonic();
    redis = { isUp: true };
    found = [];
    done = [];
    const note = (what: string) => done.push(`${what} ${clock.monotonic() - start}`);
    const membership = {
      async renew() {
        note('renew');
        const next = found.shift() ?? false;
        if (next === 'fails') throw new RedisError();
        return await Promise.resolve(next);
      },
    };
    const presence = {
      async tellAll() {
        note('tell');
        await Promise.resolve();
      },
    };
    upkeep = new Upkeep({ redis, membership, presence, clock, onDown: () => note('down') });
    upkeep.start();
  });

  afterEach(() => upkeep.stop());

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      clock.advance(Math.min(100, left));
      await settled();
    }
  }

  it('looks every 500 ms, tells Redis everything at first, and renews its lease every 3 s', async () => {
    await pass(7000);
    assert.deepEqual(done, ['renew 500', 'tell 500', 'renew 3500', 'renew 6500']);
  });

  it('tells Redis everything again every 5 min', async () => {
    await pass(501_000);
    const tells = done.filter((what) => what.startsWith('tell'));
    assert.deepEqual(tells, ['tell 500', 'tell 300500']);
  });

  it('tells Redis everything again when others may have taken it for dead', async () => {
    found = [false, true];
    await pass(4000);
    assert.deepEqual(done, ['renew 500', 'tell 500', 'renew 3500', 'tell 3500']);
  });

  it('tries again 500 ms after Redis has failed', async () => {
    found = ['fails', 'fails'];
    await pass(1500);
    assert.deepEqual(done, ['renew 500', 'renew 1000', 'renew 1500', 'tell 1500']);
  });

  it('says again and again that Redis is down', async () => {
    redis.isUp = false;
    await pass(1000);
    assert.deepEqual(done, ['down 500', 'down 1000']);
  });

  it('tries for 5 s, every 100 ms, to find out what has moved during a pause', async () => {
    upkeep.stop();
    found = Array.from({ length: 1000 }, () => 'fails');
    let isOver = false;
    void upkeep.checkLeap().then(() => (isOver = true));
    await settled();
    await pass(LEAP_CHECK_MS - LEAP_RETRY_MS);
    assert.equal(isOver, false);
    await pass(LEAP_RETRY_MS);
    assert.equal(isOver, true);
    assert.deepEqual([done.length, done[1]], [LEAP_CHECK_MS / LEAP_RETRY_MS + 1, 'renew 100']);
    found = ['fails', false];
    done = [];
    const checked = upkeep.checkLeap();
    await settled();
    await pass(LEAP_RETRY_MS);
    await checked;
    assert.deepEqual(done, ['renew 5000', 'renew 5100', 'tell 5100']);
  });

  it('ends when it is stopped', async () => {
    upkeep.stop();
    await pass(10_000);
    assert.deepEqual([done, clock.pending], [[], 0]);
  });
});
