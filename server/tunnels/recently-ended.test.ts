import assert from 'node:assert/strict';
import { RECENTLY_ENDED_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { RecentlyEnded } from './recently-ended.ts';

describe('RecentlyEnded', () => {
  it('remembers a tunnel for 30 s', () => {
    const clock = new FakeClock();
    const ended = new RecentlyEnded(clock);
    ended.add('one');
    clock.advance(RECENTLY_ENDED_MS - 1);
    ended.add('two');
    assert.deepEqual([ended.has('one'), ended.has('two'), ended.has('three')], [true, true, false]);
    clock.advance(1);
    assert.deepEqual([ended.has('one'), ended.has('two')], [false, true]);
  });
});
