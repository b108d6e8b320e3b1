import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { TIMER_STEP_MAX_MS } from '../shared/timer.ts';
import { systemClock } from './clock.ts';

describe('the clock of the relay', () => {
  it('waits for longer than a system timer can', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      let fired = 0;
      systemClock.setTimeout(() => (fired += 1), TIMER_STEP_MAX_MS + 1);
      mock.timers.tick(TIMER_STEP_MAX_MS);
      assert.equal(fired, 0);
      mock.timers.tick(1);
      assert.equal(fired, 1);
    } finally {
      mock.timers.reset();
    }
  });
});
