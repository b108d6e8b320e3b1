import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { SendRounds } from './send-rounds.ts';

/** Gives turns until nobody waits; who is named in `more` has more to send for so many turns. */
function turns(rounds: SendRounds<string>, more: Record<string, number> = {}): string {
  let order = '';
  for (let item = rounds.next(); item !== undefined; item = rounds.next()) {
    order += item;
    const left = more[item] ?? 0;
    more[item] = left - 1;
    if (left > 0) rounds.add(item);
  }
  return order;
}

describe('SendRounds', () => {
  it('gives turns in the order in which they came, round and round', () => {
    const rounds = new SendRounds<string>();
    for (const item of 'abc') rounds.add(item);
    assert.equal(rounds.size, 3);
    assert.equal(turns(rounds, { a: 2, b: 1, c: 2 }), 'abcabcac');
    assert.equal(rounds.size, 0);
    assert.equal(rounds.next(), undefined);
  });

  it('gives one who has just begun his turn before those who go on', () => {
    const rounds = new SendRounds<string>();
    rounds.add('a');
    rounds.add('b');
    for (const item of [rounds.next(), rounds.next()]) rounds.add(item ?? '');
    rounds.add('c');
    rounds.add('d');
    assert.equal(turns(rounds), 'cdab');
  });

  it('leaves one who waits in his place when he is added again', () => {
    const rounds = new SendRounds<string>();
    for (const item of 'abba') rounds.add(item);
    rounds.add(rounds.next() ?? '');
    rounds.add('a');
    rounds.add('c');
    assert.equal(rounds.size, 3);
    assert.equal(turns(rounds), 'bca');
  });

  it('lets one who had nothing more for a moment pass nobody who waited meanwhile', () => {
    const rounds = new SendRounds<string>();
    for (const item of 'ab') rounds.add(item);
    rounds.add(rounds.next() ?? '');
    assert.equal(rounds.next(), 'b');
    rounds.add('b');
    assert.equal(rounds.size, 2);
    assert.equal(turns(rounds), 'ab');
    rounds.add('a');
    rounds.add('b');
    assert.equal(turns(rounds), 'ab');
  });

  it('forgets one who has nothing to send any more, wherever he is', () => {
    const rounds = new SendRounds<string>();
    for (const item of 'abc') rounds.add(item);
    rounds.add(rounds.next() ?? '');
    rounds.next();
    for (const item of 'abc') rounds.delete(item);
    assert.deepEqual([rounds.size, rounds.next()], [0, undefined]);
    for (const item of 'cba') rounds.add(item);
    assert.equal(turns(rounds), 'cba');
  });

  it('gives all who always have more as many turns, whatever others come and go', () => {
    // Those with small numbers always have more; the others come with something, are done at once, and come again.
    const visits = fc.array(fc.array(fc.integer({ min: 3, max: 9 }), { maxLength: 7 }), { maxLength: 60 });
    fc.assert(
      fc.property(visits, (arrivals) => {
        const rounds = new SendRounds<number>();
        const had = [0, 0, 0];
        for (const item of [0, 1, 2]) rounds.add(item);
        for (const arrived of arrivals) {
          for (const item of arrived) rounds.add(item);
          const item = rounds.next() ?? NaN;
          if (item >= had.length) continue;
          had[item] = (had[item] ?? 0) + 1;
          rounds.add(item);
          assert.ok(Math.max(...had) - Math.min(...had) <= 1, had.join(' '));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('lets nobody wait for more than one turn of each other', () => {
    const step = fc.record({ arrived: fc.array(fc.nat(7), { maxLength: 8 }), hasMore: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const rounds = new SendRounds<number>();
        /** turns that others have had since it has waited */
        const waiting = new Map<number, number[]>();
        for (const { arrived, hasMore } of steps) {
          for (const item of arrived) {
            rounds.add(item);
            if (!waiting.has(item)) waiting.set(item, []);
          }
          assert.equal(rounds.size, waiting.size);
          const item = rounds.next();
          assert.equal(item === undefined, waiting.size === 0);
          if (item === undefined) continue;
          assert.ok(waiting.delete(item), 'has nothing to send');
          for (const others of waiting.values()) {
            others.push(item);
            const turnsOfIt = others.filter((other) => other === item).length;
            assert.ok(turnsOfIt <= 1, `${item} had ${turnsOfIt} turns`);
          }
          if (!hasMore) continue;
          rounds.add(item);
          waiting.set(item, []);
        }
      }),
      { numRuns: 300 },
    );
  });
});
