import assert from 'node:assert/strict';
import { fullJitter } from './backoff.ts';

function wait(attempt: number, random = 1): number {
  return fullJitter({ attempt, baseMs: 100, capMs: 1000, random });
}

describe('fullJitter', () => {
  it('doubles its ceiling up to the cap, even after very many tries', () => {
    assert.deepEqual(
      [0, 1, 2, 3, 4, 5000].map((attempt) => wait(attempt)),
      [100, 200, 400, 800, 1000, 1000],
    );
  });

  it('returns anything from zero to the ceiling', () => {
    assert.deepEqual(
      [0, 0.5, 0.999].map((random) => wait(1, random)),
      [0, 100, 199],
    );
  });
});
