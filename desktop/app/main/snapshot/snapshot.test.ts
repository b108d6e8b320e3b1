import assert from 'node:assert/strict';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { TUNNEL } from '../../../testing/tunnel.ts';
import { LOG_START, WHOLE_LOG } from '../../ipc/request-views.ts';
import { Poller } from '../core.ts';
import { RECENT_REQUESTS, SNAPSHOT_INTERVAL_MS } from '../limits.ts';
import type { PortScan } from '../ports/port-scan.ts';
import { Feed } from '../snapshot.ts';
import { tunnelView } from '../tunnel-view.ts';

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
  it('builds nothing while nobody listens', () => {
    const { feed, made } = countingFeed();
    feed.changed();
    assert.equal(made(), 0);
  });

  it('tells at once, and then at most four times a second, however much changes', () => {
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

  it('tells before the interval ends when asked to, and waits again from then on', () => {
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

  it('tells of the last change too', () => {
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
  it('works again after the pause, even if it failed, and once more for a call in between', async () => {
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

const scan = (listening: number[], isComplete = true): PortScan => ({
  listening: new Set(listening),
  isComplete,
  ports: [{ port: 3000, process: 'node', framework: 'Vite' }],
});

describe('tunnelView', () => {
  const form = { port: 3000, name: '', ttl: '', idle: false, hostHeader: 'keep' };
  const refused = { code: 'local-refused', text: 'Nothing answers.' };
  const blocked = { code: 'host-blocked', text: 'It refuses the name.' };
  const known = {
    key: 'k',
    tunnel: TUNNEL,
    lock: { kind: 'anyone' },
    knocks: [],
    logView: WHOLE_LOG,
    log: { list: () => [], point: LOG_START, pulse: [] },
  } as const;
  const view = (localProblem: typeof refused | undefined, ports: PortScan | undefined) =>
    tunnelView({ ...known, status: { name: 'online' }, form, localProblem }, ports, true);

  it('has times and counts as the window takes them', () => {
    const { expiresAt, ttl, framework } = view(undefined, scan([3000]));
    assert.deepEqual([expiresAt, ttl, framework], [Date.parse(TUNNEL.expires_at), 3600, 'Vite']);
  });

  it('has the last three requests', () => {
    const asked: unknown[] = [];
    const log = { ...known.log, list: (count?: number) => (asked.push(count), []) };
    tunnelView({ ...known, status: { name: 'online' }, form, log, localProblem: undefined }, undefined, true);
    assert.deepEqual([asked, RECENT_REQUESTS], [[3], 3]);
  });

  it('says that nothing listens before a visitor meets it', () => {
    assert.equal(view(undefined, scan([])).localProblem?.code, 'local-refused');
  });

  it('says nothing about a port that only others may see', () => {
    assert.equal(view(undefined, scan([], false)).localProblem, undefined);
  });

  it('takes it back as soon as something listens, and nothing else', () => {
    assert.equal(view(refused, scan([3000])).localProblem, undefined);
    assert.equal(view(blocked, scan([3000])).localProblem, blocked);
  });

  it('relies on visitors if nobody looks at ports', () => {
    assert.equal(view(refused, undefined).localProblem, refused);
  });
});
