import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { SNAPSHOT_INTERVAL_MS } from './limits.ts';
import { Feed, Poller } from './signals.ts';

function countingFeed() {
  const clock = new FakeClock();
  let made = 0;
  return {
    clock,
    made: () => made,
    feed: new Feed({ clock, intervalMs: SNAPSHOT_INTERVAL_MS, make: () => (made += 1) }),
  };
}

describe('Feed', () => {
  it('builds nothing without listeners', () => {
    const { feed, made } = countingFeed();
    feed.changed();
    assert.equal(made(), 0);
  });

  it('reports immediately, then at most four times a second, however much changes', () => {
    const { feed, clock } = countingFeed();
    const seen: number[] = [];
    const stop = feed.listen((value) => void seen.push(value));
    feed.changed();
    assert.equal(seen.length, 1);
    for (let ms = 0; ms < 1000; ms += 10) {
      feed.changed();
      clock.advance(10);
    }
    assert.equal(seen.length, 5);
    clock.advance(1000);
    const before = seen.length;
    feed.changed();
    assert.equal(seen.length, before + 1);
    stop();
    clock.advance(1000);
    feed.changed();
    assert.equal(seen.length, before + 1);
  });

  it('reports before the interval ends when flushed, and then waits again', () => {
    const { feed, clock } = countingFeed();
    const seen: number[] = [];
    feed.listen((value) => void seen.push(value));
    feed.flush();
    feed.changed();
    feed.flush();
    assert.equal(seen.length, 1);
    feed.changed();
    feed.flush();
    assert.equal(seen.length, 2);
    clock.advance(SNAPSHOT_INTERVAL_MS - 1);
    feed.changed();
    assert.equal(seen.length, 2);
    clock.advance(1);
    assert.equal(seen.length, 3);
  });

  it('reports the last change as well', () => {
    const { feed, clock } = countingFeed();
    const seen: number[] = [];
    feed.listen((value) => void seen.push(value));
    feed.changed();
    feed.changed();
    clock.advance(250);
    assert.equal(seen.length, 2);
  });
});

describe('Poller', () => {
  it('runs again after the pause, even after a failure, and once more for a call in between', async () => {
    const clock = new FakeClock();
    const errors: unknown[] = [];
    let works = 0;
    const poller = new Poller({
      clock,
      work: async () => {
        works += 1;
        await Promise.resolve();
        throw new Error('no');
      },
      pauseMs: () => 1000,
      onError: (error) => errors.push(error),
    });
    poller.now();
    poller.now();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([works, errors.length, clock.waiting], [2, 2, [1000]]);
    clock.advance(1000);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(works, 3);
  });
});
