import assert from 'node:assert/strict';
import { checkScript } from '../../../shared/testing/script.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Feed, Poller } from './signals.ts';
import { SNAPSHOT_INTERVAL_MS } from './core.ts';

/** Each step is `change`, `flush`, `listen`, `stop` or ms that pass; what then is reported, and made. */
function checkFeed(script: string): void {
  const clock = new FakeClock();
  let made = 0;
  const did: string[] = [];
  const make = (): string => `${(made += 1)}`;
  const feed = new Feed({ clock, intervalMs: SNAPSHOT_INTERVAL_MS, make });
  let stop: (() => void) | undefined;
  checkScript(script, (step) => {
    if (step === 'change') feed.changed();
    else if (step === 'flush') feed.flush();
    else if (step === 'listen') stop = feed.listen((value) => void did.push(value));
    else if (step === 'stop') stop?.();
    else clock.advance(Number(step));
    return did.splice(0).join(', ');
  });
}

describe('Feed', () => {
  it('builds nothing without listeners', () =>
    checkFeed('change; listen; change: 1; stop; +1000; change; listen; change: 2'));

  it('reports immediately, then at most four times a second, and the last change as well', () =>
    checkFeed('listen; change: 1; change; +249; change; +1: 2; change; +249; +1: 3; +250; +1000; change: 4'));

  it('reports before the interval ends when flushed, and then waits again', () =>
    checkFeed('listen; flush; change: 1; flush; +100; change; flush: 2; +150; change; +99; +1: 3'));
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
