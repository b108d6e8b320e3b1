import assert from 'node:assert/strict';
import { BULK_TURN_MS, LoopTurns } from './loop-turns.ts';

describe('LoopTurns', () => {
  let now: number;
  /** what is to happen in the next turn of the loop */
  let coming: (() => void)[];
  /** the groups that have worked, in order */
  let order: string;
  let turns: LoopTurns;

  beforeEach(() => {
    now = 0;
    coming = [];
    order = '';
    turns = new LoopTurns({ now: () => now, nextTurn: (callback) => void coming.push(callback) });
  });

  /** Work of a group that takes this many ms. */
  function work(group: string, ms: number): ReturnType<LoopTurns['run']> {
    return turns.run(group, () => {
      order += group;
      now += ms;
    });
  }

  function turn(): void {
    for (const callback of coming.splice(0)) callback();
  }

  it('does at once what there is time for', () => {
    for (let piece = 0; piece < 4; piece += 1) assert.equal(work('a', BULK_TURN_MS / 5), 'begun');
    assert.equal(order, 'aaaa');
  });

  it('leaves the rest to later turns, one turn each if each takes that long', () => {
    for (let piece = 0; piece < 4; piece += 1) work('a', BULK_TURN_MS);
    assert.equal(order, 'a');
    turn();
    assert.equal(order, 'aa');
    turn();
    turn();
    assert.equal(order, 'aaaa');
  });

  it('lets those who wait work one after the other, however many pieces one of them has', () => {
    for (let piece = 0; piece < 4; piece += 1) work('a', BULK_TURN_MS);
    work('b', BULK_TURN_MS);
    work('c', BULK_TURN_MS);
    for (let left = 0; left < 5; left += 1) turn();
    assert.equal(order, 'aabcaa');
  });

  it('lets nobody pass who comes while others wait', () => {
    work('a', BULK_TURN_MS);
    work('a', BULK_TURN_MS);
    turn();
    work('a', BULK_TURN_MS);
    work('b', 0);
    assert.equal(order, 'aa');
    turn();
    assert.equal(order, 'aaa');
    turn();
    assert.equal(order, 'aaab');
  });

  it('begins each turn with all of its time, and uses no turn of the loop when nothing comes', () => {
    work('a', BULK_TURN_MS);
    turn();
    assert.equal(coming.length, 0);
    assert.equal(work('b', 0), 'begun');
    assert.equal(coming.length, 1);
  });

  it('does nothing for those who have left', () => {
    work('a', BULK_TURN_MS);
    const leave = work('b', 0);
    assert.notEqual(leave, 'begun');
    if (leave !== 'begun') leave();
    turn();
    assert.equal(order, 'a');
    assert.equal(coming.length, 0);
  });
});
