import assert from 'node:assert/strict';
import { TIMER_STEP_MAX_MS } from '../../shared/timer.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import type { LiveTunnel } from './live-tunnel.ts';
import { AdmissionEnds } from './admission-ends.ts';
import { HeldKnocks } from '../gate/held-knocks.ts';

function aTunnel(...answers: (number | false | null)[]): LiveTunnel {
  const knocks = answers.map((answer, number) => ({
    id: String(number),
    address: '192.0.2.1',
    agent: '',
    at: 0,
    answer,
  }));
  return { id: 'one', knocks: new HeldKnocks({ version: '', knocks }) } as unknown as LiveTunnel;
}

describe('AdmissionEnds', () => {
  let clock: FakeClock;
  let ends: AdmissionEnds;
  let told: number[];

  beforeEach(() => {
    clock = new FakeClock(0);
    told = [];
    ends = new AdmissionEnds(clock, () => told.push(clock.now()));
  });

  it('tells of each who is out again, at that moment', () => {
    ends.watch(aTunnel(3000, null, 1000, false));
    clock.advance(5000);
    assert.deepEqual(told, [1000, 3000]);
    assert.equal(clock.pending, 0);
  });

  it('begins anew with those who are in now, and ends with the tunnel', () => {
    ends.watch(aTunnel(1000));
    ends.watch(aTunnel(2000));
    clock.advance(1500);
    assert.deepEqual([told, clock.pending], [[], 1]);
    ends.forget(aTunnel());
    assert.equal(clock.pending, 0);
  });

  it('waits for longer than a timer can', () => {
    const end = TIMER_STEP_MAX_MS + 1000;
    ends.watch(aTunnel(end));
    clock.advance(end);
    assert.equal(told.at(-1), end);
  });
});
