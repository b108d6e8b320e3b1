import assert from 'node:assert/strict';
import { type Retry, retryDelay } from './backoff.ts';

const ALMOST_ONE = 1 - Number.EPSILON;
const RETRY: Retry = { attempt: 0, random: 0.5, reach: 'answered', awayMs: 0 };

const ceilings = (retry: Partial<Retry>): number[] =>
  Array.from(
    { length: 8 },
    (_, attempt) => retryDelay({ ...RETRY, random: ALMOST_ONE, ...retry, attempt }) + 1,
  );

describe('retryDelay', () => {
  it('is random from 0 to a ceiling that doubles from 0.5 s to 15 s', () => {
    assert.deepEqual(ceilings({}), [500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000]);
    assert.equal(retryDelay({ ...RETRY, attempt: 3, random: 0 }), 0);
    assert.equal(retryDelay({ ...RETRY, attempt: 3 }), 2000);
  });

  it('stays at the cap however long the relay is away', () => {
    assert.equal(retryDelay({ ...RETRY, attempt: 100_000 }), 7500);
  });

  it('stays below 1.5 s for a minute without a response', () => {
    const quick = [500, 1000, 1500, 1500, 1500, 1500, 1500, 1500];
    assert.deepEqual(ceilings({ reach: 'unanswered', awayMs: 59_999 }), quick);
    assert.deepEqual(ceilings({ reach: 'unanswered', awayMs: 60_000 }), ceilings({}));
  });

  it('stays below 1.5 s while there is no network', () => {
    assert.equal(retryDelay({ ...RETRY, reach: 'nowhere', awayMs: 86_400_000, attempt: 100_000 }), 750);
  });

  it('is added to what the relay asked for', () => {
    assert.equal(retryDelay({ ...RETRY, retryAfterMs: 7000 }), 7250);
  });

  it('does not believe a Retry-After of more than 5 minutes', () => {
    assert.equal(retryDelay({ ...RETRY, random: 0, retryAfterMs: 86_400_000 }), 300_000);
  });
});
