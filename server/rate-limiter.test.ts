import assert from 'node:assert/strict';
import { checkScript } from '../shared/testing/script.ts';
import { FakeClock } from './testing/fake-clock.ts';
import { RATE_BUCKETS_MAX, RateLimiter } from './rate-limiter.ts';

describe('RateLimiter', () => {
  let clock: FakeClock;
  let limiter: RateLimiter;

  beforeEach(() => {
    clock = new FakeClock();
    limiter = new RateLimiter(clock, { perMinute: 10, burst: 5 });
  });

  function take(times: number, account = 'a'): number[] {
    return Array.from({ length: times }, () => limiter.take(account));
  }

  /** `take` shows how many s each has to wait; `+` and `jump` are ms. */
  for (const [title, script] of Object.entries({
    'accepts a burst of 5, then reports how long to wait': 'take 7: 0 0 0 0 0 6 6',
    'accepts one more after that time, but not before':
      'take 5: 0 0 0 0 0; + 5999; take 1: 1; + 1; take 2: 0 6',
    'never accumulates more than the burst': 'take 5: 0 0 0 0 0; + 3600000; take 6: 0 0 0 0 0 6',
    'returns a token, but not beyond the burst':
      'take 5: 0 0 0 0 0; return 1; take 2: 0 6; return 9; take 6: 0 0 0 0 0 6',
    'returns none that was not taken': 'return 1; take 6: 0 0 0 0 0 6',
    'limits accounts separately': 'take 5: 0 0 0 0 0; take 1 b: 0',
    'does not depend on changes of the wall clock': 'take 5: 0 0 0 0 0; jump 3600000; take 1: 6',
  }))
    it(title, () =>
      checkScript(script, (step) => {
        const [action, amount, account] = step.split(' ');
        const count = Number(amount);
        if (action === 'take') return take(count, account).join(' ');
        if (action === '+') clock.advance(count);
        else if (action === 'jump') clock.jump(count);
        else for (let left = count; left > 0; left -= 1) limiter.giveBack('a');
        return '';
      }),
    );

  it('accepts 10 a minute in the long run', () => {
    take(5);
    let passed = 0;
    for (let second = 0; second < 600; second += 1) {
      clock.advance(1000);
      if (limiter.take('a') === 0) passed += 1;
    }
    assert.equal(passed, 100);
  });

  it('forgets accounts whose bucket is full again', () => {
    for (let i = 0; i < 1000; i += 1) limiter.take(`account ${i}`);
    clock.advance(30_000);
    limiter.take('another');
    assert.equal(limiter.size, 1);
  });

  it('keeps at most 100,000 buckets, and forgets the least recently used one', () => {
    limiter.take('other');
    take(5);
    for (let count = 0; count < RATE_BUCKETS_MAX - 1; count += 1) limiter.take(String(count));
    assert.equal(limiter.size, RATE_BUCKETS_MAX);
    assert.equal(limiter.take('a'), 6);
    assert.deepEqual(take(5, 'other'), [0, 0, 0, 0, 0]);
  });
});
