import assert from 'node:assert/strict';
import { RECENT_MS } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { RecentIds } from './recent-ids.ts';

describe('RecentIds', () => {
  it('remembers a tunnel for 30 s', () => {
    const clock = new FakeClock();
    const ended = new RecentIds(clock);
    ended.add('one');
    clock.advance(RECENT_MS - 1);
    ended.add('two');
    assert.deepEqual([ended.has('one'), ended.has('two'), ended.has('three')], [true, true, false]);
    clock.advance(1);
    assert.deepEqual([ended.has('one'), ended.has('two')], [false, true]);
  });
});
