import assert from 'node:assert/strict';
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

  it('accepts a burst of 5, then reports how long to wait', () => {
    assert.deepEqual(take(7), [0, 0, 0, 0, 0, 6, 6]);
  });

  it('accepts one more after that time, but not before', () => {
    take(5);
    clock.advance(5999);
    assert.deepEqual(take(1), [1]);
    clock.advance(1);
    assert.deepEqual(take(2), [0, 6]);
  });

  it('accepts 10 a minute in the long run', () => {
    take(5);
    let passed = 0;
    for (let second = 0; second < 600; second += 1) {
      clock.advance(1000);
      if (limiter.take('a') === 0) passed += 1;
    }
    assert.equal(passed, 100);
  });

  it('never accumulates more than the burst', () => {
    take(5);
    clock.advance(3_600_000);
    assert.deepEqual(take(6), [0, 0, 0, 0, 0, 6]);
  });

  it('returns a token, but not beyond the burst', () => {
    take(5);
    limiter.giveBack('a');
    assert.deepEqual(take(2), [0, 6]);
    for (let i = 0; i < 9; i += 1) limiter.giveBack('a');
    assert.deepEqual(take(6), [0, 0, 0, 0, 0, 6]);
    limiter.giveBack('unknown');
    assert.deepEqual(take(6, 'unknown'), [0, 0, 0, 0, 0, 6]);
  });

  it('limits accounts separately', () => {
    take(5, 'a');
    assert.deepEqual(take(1, 'b'), [0]);
  });

  it('does not depend on changes of the wall clock', () => {
    take(5);
    clock.jump(3_600_000);
    assert.deepEqual(take(1), [6]);
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
