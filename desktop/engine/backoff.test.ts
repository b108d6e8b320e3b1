import assert from 'node:assert/strict';
import { retryDelay } from './backoff.ts';

const ALMOST_ONE = 1 - Number.EPSILON;

describe('retryDelay', () => {
  it('is random from 0 to a ceiling that doubles from 0.5 s to 15 s', () => {
    const ceilings = Array.from({ length: 8 }, (_, attempt) => retryDelay(attempt, ALMOST_ONE) + 1);
    assert.deepEqual(ceilings, [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    assert.equal(retryDelay(3, 0), 0);
    assert.equal(retryDelay(3, 0.5), 2000);
  });

  it('stays at the cap however long the relay is away', () => {
    assert.equal(retryDelay(100_000, 0.5), 7500);
  });

  it('comes on top of what the relay asked for', () => {
    assert.equal(retryDelay(0, 0.5, 7000), 7250);
  });

  it('believes no Retry-After beyond 5 minutes', () => {
    assert.equal(retryDelay(0, 0, 86_400_000), 300_000);
  });
});
