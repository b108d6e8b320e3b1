import assert from 'node:assert/strict';
import { KNOCK_SECONDS } from '../../shared/knocks.ts';
import type { StoredKnock } from '../store/records.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import {
  ApprovalRequests,
  APPROVALS_PER_ADDRESS_MAX,
  APPROVALS_REFUSED_MAX,
  APPROVALS_WAITING_MAX,
  ApprovalWaits,
  KNOCK_HOLDS_MAX,
} from './approval-requests.ts';

const MS = KNOCK_SECONDS * 1000;

function aKnock(number: number, fields: Partial<StoredKnock> = {}): StoredKnock {
  const id = number.toString(16).padStart(16, '0');
  return { id, address: `192.0.2.${number}`, agent: '', at: number, answer: null, ...fields };
}

function heldKnocksHeld(knocks: readonly StoredKnock[]): ApprovalRequests {
  return new ApprovalRequests({ version: 'v1', knocks });
}

describe('ApprovalRequests', () => {
  it('report the state of each, and an expired one as unanswered', () => {
    const knocks = [1, 2, 3].map((number) => aKnock(number));
    const answers = [null, false, 2 * MS] as const;
    const all = heldKnocksHeld(knocks.map((knock, index) => ({ ...knock, answer: answers[index] ?? null })));
    const states = (now: number): unknown[] => knocks.map(({ id }) => all.stateOf(id, now));
    assert.deepEqual(states(MS), ['waiting', 'refused', 'admitted']);
    assert.deepEqual(states(MS + 2), ['unanswered', undefined, 'admitted']);
    assert.deepEqual(states(2 * MS), ['unanswered', undefined, undefined]);
    assert.equal(all.stateOf('ffffffffffffffff', 0), undefined);
    assert.deepEqual(
      knocks.map(({ id }) => all.isApproved(id, 2 * MS - 1)),
      [false, false, true],
    );
    assert.equal(all.isApproved(knocks[2]?.id ?? '', 2 * MS), false);
  });

  it('let three from an address wait, including those denied recently', () => {
    const near = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:9::3'].map((address, index) =>
      aKnock(index, { address, answer: index === 0 ? false : null }),
    );
    assert.equal(near.length, APPROVALS_PER_ADDRESS_MAX);
    assert.equal(heldKnocksHeld(near).wait('2001:db8::4', [], 0), MS);
    assert.equal(heldKnocksHeld(near).wait('2001:db8:0:1::4', [], 0), 0);
    assert.equal(heldKnocksHeld(near.slice(1)).wait('2001:db8::4', ['2001:db8::5'], 0), MS);
    assert.equal(heldKnocksHeld(near.slice(1)).wait('2001:db8::4', ['192.0.2.1'], 0), 0);
    assert.equal(heldKnocksHeld(near).wait('2001:db8::4', [], MS), 0);
    const isIn = near.map((knock) => ({ ...knock, answer: 9 * MS }));
    assert.equal(heldKnocksHeld(isIn).wait('2001:db8::4', [], 0), 0);
  });

  it('let 32 wait, not counting answered ones', () => {
    const waiting = Array.from({ length: APPROVALS_WAITING_MAX }, (_, index) => aKnock(index));
    const [first = aKnock(0), ...rest] = waiting;
    assert.equal(heldKnocksHeld(waiting).wait('198.51.100.1', [], 10), MS - 10);
    assert.equal(heldKnocksHeld(rest).wait('198.51.100.1', ['198.51.100.2'], 10), MS - 9);
    for (const answer of [false, MS] as const)
      assert.equal(heldKnocksHeld([{ ...first, answer }, ...rest]).wait('198.51.100.1', [], 10), 0);
  });

  it('drop those that have expired, and the oldest of more than 32 denied ones', () => {
    const refused = Array.from({ length: APPROVALS_REFUSED_MAX }, (_, index) =>
      aKnock(index, { answer: false }),
    );
    const one = aKnock(99);
    const all = heldKnocksHeld([...refused, one]).with({ ...one, answer: false }, 10);
    assert.deepEqual(
      all.map(({ at }) => at),
      [...Array.from({ length: 31 }, (_, index) => index + 1), 99],
    );
    assert.deepEqual(heldKnocksHeld([...refused, one]).with(aKnock(2 * MS), 2 * MS), [aKnock(2 * MS)]);
  });
});

describe('ApprovalWaits', () => {
  let clock: FakeClock;
  let waits: ApprovalWaits;

  beforeEach(() => {
    clock = new FakeClock();
    waits = new ApprovalWaits(clock);
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

  it('holds back four responses per approval request', async () => {
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
