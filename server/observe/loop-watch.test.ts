import assert from 'node:assert/strict';
import type { Clock } from '../clock.ts';
import { LOG_REPEAT_MS } from './logger.ts';
import { LOOP_STALL_MS, StallDetector } from './loop-watch.ts';

/** A clock whose timer fires when and as late as the test requests. */
class StallingClock implements Clock {
  #now = 0;
  #due: { fn: () => void; at: number } | undefined;

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  setTimeout(fn: () => void, ms: number) {
    this.#due = { fn, at: this.#now + ms };
    return { cancel: () => void (this.#due = undefined) };
  }

  /** @returns whether there was a timer */
  fire(late: number): boolean {
    const due = this.#due;
    if (due === undefined) return false;
    this.#now = due.at + late;
    due.fn();
    return true;
  }
}

describe('StallDetector', () => {
  it('reports how late the event loop was, but not every time', () => {
    const clock = new StallingClock();
    const logged: unknown[] = [];
    const watch = new StallDetector(clock, (event, fields) => logged.push([event, fields]));
    watch.start();
    clock.fire(0);
    clock.fire(LOOP_STALL_MS - 1);
    assert.deepEqual(logged, []);
    clock.fire(LOOP_STALL_MS);
    clock.fire(LOOP_STALL_MS);
    clock.fire(LOG_REPEAT_MS);
    assert.deepEqual(logged, [
      ['event loop stalled', { ms: LOOP_STALL_MS }],
      ['event loop stalled', { ms: LOG_REPEAT_MS }],
    ]);
    watch.stop();
    assert.equal(clock.fire(0), false);
  });
});
