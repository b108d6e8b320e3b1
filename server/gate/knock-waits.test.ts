import assert from 'node:assert/strict';
import { KNOCK_HOLDS_MAX } from '../limits.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { KnockWaits } from './knock-waits.ts';

describe('KnockWaits', () => {
  let clock: FakeClock;
  let waits: KnockWaits;

  beforeEach(() => {
    clock = new FakeClock();
    waits = new KnockWaits(clock);
  });

  it('wakes those of one tunnel, and lets the others wait for as long as they want', async () => {
    const [one, other, third] = [
      waits.wait('a', '1', 10),
      waits.wait('a', '2', 10),
      waits.wait('b', '1', 10),
    ];
    waits.wake('a', 'changed');
    assert.deepEqual(await Promise.all([one, other]), ['changed', 'changed']);
    clock.advance(9);
    assert.equal(waits.size, 1);
    clock.advance(1);
    assert.equal(await third, 'late');
    const last = waits.wait('b', '1', 10);
    waits.wake('b', 'over');
    assert.equal(await last, 'over');
    assert.deepEqual([waits.size, clock.pending], [0, 0]);
  });

  it('holds back four responses for a knock', async () => {
    const held = Array.from({ length: KNOCK_HOLDS_MAX }, () => waits.wait('a', '1', 10));
    assert.equal(await waits.wait('a', '1', 10), 'none');
    const other = waits.wait('a', '2', 10);
    assert.equal(waits.size, KNOCK_HOLDS_MAX + 1);
    clock.advance(10);
    assert.deepEqual(new Set(await Promise.all([...held, other])), new Set(['late']));
  });

  it('holds nothing back once the relay shuts down', async () => {
    const held = [waits.wait('a', '1', 10), waits.wait('b', '2', 10)];
    waits.release();
    assert.deepEqual(await Promise.all([...held, waits.wait('a', '1', 10)]), ['none', 'none', 'none']);
    assert.deepEqual([waits.size, clock.pending], [0, 0]);
  });
});
