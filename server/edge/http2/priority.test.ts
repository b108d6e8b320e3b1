import assert from 'node:assert/strict';
import { FRAME_MAX } from './frames.ts';
import { EarlyUrgencies, ReadyStreams, urgencyOf } from './priority.ts';

interface Fake {
  readonly urgency: number;
  hasOutput: boolean;
  readonly needsWindow: boolean;
}

function stream(urgency: number): Fake {
  return { urgency, hasOutput: true, needsWindow: true };
}

describe('urgencyOf', () => {
  for (const [value, urgency] of [
    ['', 3],
    ['u=0', 0],
    ['u=7, i', 7],
    ['i, u=1', 1],
    ['i=?0,u=5;x="y"', 5],
    ['u=1,u=6', 6],
    ['u=8', 3],
    ['u=-1', 3],
    ['u=1.0', 3],
    ['U=1', 3],
    ['urgency=1', 3],
    [`${'x'.repeat(100)},u=1`, 3],
  ] as const)
    it(`is ${urgency} for "${value}"`, () => {
      assert.equal(urgencyOf(value), urgency);
    });
});

describe('EarlyUrgencies', () => {
  it('forgets streams that are opened, or can no longer be', () => {
    const early = new EarlyUrgencies();
    early.set(1, 1);
    early.set(3, 2);
    early.set(3, 4);
    early.set(5, 5);
    assert.deepEqual([early.take(3), early.take(1), early.take(5)], [4, undefined, 5]);
  });

  it('remembers no more than 100', () => {
    const early = new EarlyUrgencies();
    for (let id = 1; id < 400; id += 2) early.set(id, 1);
    assert.equal(early.take(399), undefined);
  });
});

describe('ReadyStreams', () => {
  it('takes the most urgent first, and those of one urgency in turn', () => {
    const [late, first, second] = [stream(7), stream(2), stream(2)];
    const ready = new ReadyStreams<Fake>();
    for (const each of [late, first, second]) ready.add(each);
    assert.equal(ready.take(true), first);
    ready.add(first);
    assert.deepEqual([ready.take(true), ready.take(true), ready.take(true)], [second, first, late]);
    assert.deepEqual([ready.take(true), ready.isEmpty], [undefined, true]);
  });

  it('lets each urgency have a turn after three frames of more urgent ones', () => {
    const urgent = stream(0);
    const others = [stream(3), stream(7)];
    const ready = new ReadyStreams<Fake>();
    for (const each of [urgent, ...others]) ready.add(each);
    const taken: (number | undefined)[] = [];
    for (let count = 0; count < 12; count += 1) {
      const next = ready.take(true) ?? assert.fail();
      ready.sent(FRAME_MAX);
      ready.add(next);
      taken.push(next.urgency);
    }
    assert.deepEqual(taken, [0, 0, 0, 3, 0, 0, 7, 0, 0, 0, 0, 0]);
  });

  it('skips those that have to wait for the window of the connection, and forgets those with nothing to send', () => {
    const [waits, sends, empty] = [stream(1), { ...stream(3), needsWindow: false }, stream(0)];
    empty.hasOutput = false;
    const ready = new ReadyStreams<Fake>();
    for (const each of [empty, waits, sends]) ready.add(each);
    assert.deepEqual([ready.take(false), ready.take(true)], [sends, waits]);
  });

  it('moves no stream that is not ready', () => {
    const ready = new ReadyStreams<Fake>();
    assert.equal(ready.delete(stream(4)), false);
  });
});
