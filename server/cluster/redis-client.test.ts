import assert from 'node:assert/strict';
import { REDIS_RETRY_MAX_MS, redisRetryDelay } from './redis-client.ts';

describe('the next attempt to reach Redis', () => {
  it('starts after a random time of at most 2 s', () => {
    const longest = [1, 2, 3, 4, 5, 6, 1000].map((attempt) => redisRetryDelay(attempt, () => 1));
    assert.deepEqual(longest, [200, 400, 800, 1600, 2000, 2000, 2000]);
    assert.equal(REDIS_RETRY_MAX_MS, 2000);
    assert.equal(
      redisRetryDelay(3, () => 0.5),
      400,
    );
    assert.ok(redisRetryDelay(1000) <= REDIS_RETRY_MAX_MS);
  });
});
