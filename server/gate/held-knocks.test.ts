import assert from 'node:assert/strict';
import { KNOCK_SECONDS } from '../../shared/knocks.ts';
import { KNOCKS_PER_ADDRESS_MAX, KNOCKS_REFUSED_MAX, KNOCKS_WAITING_MAX } from '../limits.ts';
import type { StoredKnock } from '../store/records.ts';
import { HeldKnocks } from './held-knocks.ts';

const MS = KNOCK_SECONDS * 1000;

function aKnock(number: number, fields: Partial<StoredKnock> = {}): StoredKnock {
  const id = number.toString(16).padStart(16, '0');
  return { id, address: `192.0.2.${number}`, agent: '', at: number, answer: null, ...fields };
}

function held(knocks: readonly StoredKnock[]): HeldKnocks {
  return new HeldKnocks({ version: 'v1', knocks });
}

describe('HeldKnocks', () => {
  it('says of each what has become of it, and of those that are over only that nobody has answered', () => {
    const knocks = [1, 2, 3].map((number) => aKnock(number));
    const answers = [null, false, 2 * MS] as const;
    const all = held(knocks.map((knock, index) => ({ ...knock, answer: answers[index] ?? null })));
    const states = (now: number): unknown[] => knocks.map(({ id }) => all.stateOf(id, now));
    assert.deepEqual(states(MS), ['waiting', 'refused', 'admitted']);
    assert.deepEqual(states(MS + 2), ['unanswered', undefined, 'admitted']);
    assert.deepEqual(states(2 * MS), ['unanswered', undefined, undefined]);
    assert.equal(all.stateOf('ffffffffffffffff', 0), undefined);
    assert.deepEqual(
      knocks.map(({ id }) => all.isAdmitted(id, 2 * MS - 1)),
      [false, false, true],
    );
    assert.equal(all.isAdmitted(knocks[2]?.id ?? '', 2 * MS), false);
  });

  it('lets three from an address wait, with those who were refused lately', () => {
    const near = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:9::3'].map((address, index) =>
      aKnock(index, { address, answer: index === 0 ? false : null }),
    );
    assert.equal(near.length, KNOCKS_PER_ADDRESS_MAX);
    assert.equal(held(near).wait('2001:db8::4', [], 0), MS);
    assert.equal(held(near).wait('2001:db8:0:1::4', [], 0), 0);
    assert.equal(held(near.slice(1)).wait('2001:db8::4', ['2001:db8::5'], 0), MS);
    assert.equal(held(near.slice(1)).wait('2001:db8::4', ['192.0.2.1'], 0), 0);
    assert.equal(held(near).wait('2001:db8::4', [], MS), 0);
    const isIn = near.map((knock) => ({ ...knock, answer: 9 * MS }));
    assert.equal(held(isIn).wait('2001:db8::4', [], 0), 0);
  });

  it('lets 32 wait, besides those who have an answer', () => {
    const waiting = Array.from({ length: KNOCKS_WAITING_MAX }, (_, index) => aKnock(index));
    const [first = aKnock(0), ...rest] = waiting;
    assert.equal(held(waiting).wait('198.51.100.1', [], 10), MS - 10);
    assert.equal(held(rest).wait('198.51.100.1', ['198.51.100.2'], 10), MS - 9);
    for (const answer of [false, MS] as const)
      assert.equal(held([{ ...first, answer }, ...rest]).wait('198.51.100.1', [], 10), 0);
  });

  it('forgets what is over, and the oldest of more than 32 who were refused', () => {
    const refused = Array.from({ length: KNOCKS_REFUSED_MAX }, (_, index) =>
      aKnock(index, { answer: false }),
    );
    const one = aKnock(99);
    const all = held([...refused, one]).with({ ...one, answer: false }, 10);
    assert.deepEqual(
      all.map(({ at }) => at),
      [...Array.from({ length: 31 }, (_, index) => index + 1), 99],
    );
    assert.deepEqual(held([...refused, one]).with(aKnock(2 * MS), 2 * MS), [aKnock(2 * MS)]);
  });
});
