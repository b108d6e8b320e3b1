import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { fullJitter, LongTimer, TIMER_STEP_MAX_MS } from './timer.ts';

const DAY_MS = 86_400_000;

describe('a timer', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('fires on time after any duration', () => {
    for (const ms of [0, 1, DAY_MS, TIMER_STEP_MAX_MS, TIMER_STEP_MAX_MS + 1, 30 * DAY_MS, 720 * DAY_MS]) {
      let fired = 0;
      const timer = new LongTimer(() => (fired += 1), ms, true);
      // In the steps of its waits: a timer set within a tick starts at the end of it.
      for (let left = ms - 1; left > 0; left -= TIMER_STEP_MAX_MS)
        mock.timers.tick(Math.min(left, TIMER_STEP_MAX_MS));
      assert.equal(fired, 0, `${ms}`);
      mock.timers.tick(1);
      assert.equal(fired, 1, `${ms}`);
      mock.timers.tick(DAY_MS);
      assert.equal(fired, 1, `${ms}`);
      timer.cancel();
    }
  });

  it('can be cancelled after its first wait', () => {
    let fired = 0;
    const timer = new LongTimer(() => (fired += 1), 40 * DAY_MS, false);
    for (let day = 0; day < 30; day += 1) mock.timers.tick(DAY_MS);
    timer.cancel();
    for (let day = 0; day < 30; day += 1) mock.timers.tick(DAY_MS);
    assert.equal(fired, 0);
  });

  it('never fires after an infinite duration', () => {
    let fired = 0;
    const timer = new LongTimer(() => (fired += 1), Infinity, true);
    for (let day = 0; day < 100; day += 1) mock.timers.tick(DAY_MS);
    assert.equal(fired, 0);
    timer.cancel();
  });
});

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
