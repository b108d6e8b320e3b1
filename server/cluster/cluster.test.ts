import assert from 'node:assert/strict';
import { RateLimiter } from '../rate-limiter.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { SharedRateLimiter } from './cluster.ts';
import { type RedisCommands, RedisError } from './redis-client.ts';
import { GIVE_BACK, IS_OUT, type Script, TAKE } from './scripts.ts';

const RATE = { perMinute: 10, burst: 5 };

describe('SharedRateLimiter', () => {
  let calls: (readonly [Script, ...(string | number)[]])[];
  /** ms until the next token; `undefined`: Redis is down */
  let wait: number | undefined;
  let redis: RedisCommands;
  let limiter: SharedRateLimiter;

  beforeEach(() => {
    calls = [];
    wait = 0;
    redis = {
      run(script: Script, ...args: readonly (string | number)[]): Promise<unknown> {
        calls.push([script, ...args]);
        return wait === undefined ? Promise.reject(new RedisError()) : Promise.resolve(wait);
      },
    };
    limiter = new SharedRateLimiter(redis, new RateLimiter(new FakeClock(), RATE), RATE);
  });

  it('queries Redis, and returns the wait in whole seconds', async () => {
    assert.equal(await limiter.take('a'), 0);
    wait = 5001;
    assert.equal(await limiter.take('a'), 6);
    assert.deepEqual(calls[0], [TAKE, 'a', 5, 6000]);
  });

  it('returns a token to Redis', async () => {
    await limiter.giveBack('a');
    assert.deepEqual(calls, [[GIVE_BACK, 'a', 5, 6000]]);
  });

  it('asks Redis whether there is a token, of what it counts', async () => {
    limiter = new SharedRateLimiter(redis, new RateLimiter(new FakeClock(), RATE), RATE, 'tries');
    assert.equal(await limiter.isOut('a'), false);
    wait = 1;
    assert.equal(await limiter.isOut('a'), true);
    assert.deepEqual(calls[0], [IS_OUT, 'tries a', 5, 6000]);
  });

  it('limits locally while Redis is down', async () => {
    wait = undefined;
    const taken: number[] = [];
    for (let time = 0; time < 6; time += 1) taken.push(await limiter.take('a'));
    assert.deepEqual(taken, [0, 0, 0, 0, 0, 6]);
    await limiter.giveBack('a');
    assert.deepEqual([await limiter.take('a'), await limiter.take('a')], [0, 6]);
  });
});
