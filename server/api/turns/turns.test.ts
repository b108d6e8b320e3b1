import assert from 'node:assert/strict';
import { API_COST_FACTOR, API_LOOP_SHARE, VISITORS_RECENT_MS } from '../../limits.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { Turns } from './turns.ts';

/** ms that a request in these tests takes before it waits for the store. */
const COST_MS = 1;

describe('Turns', () => {
  let clock: FakeClock;
  /** what is to happen in the next turn of the loop */
  let coming: (() => void)[];
  let work: number;
  /** the requests that have begun, in order */
  let begun: string[];
  let turns: Turns;

  beforeEach(() => {
    clock = new FakeClock();
    coming = [];
    work = 0;
    begun = [];
    const nextTurn = (first: () => void, second: () => void) => void coming.push(first, second);
    turns = new Turns({ clock, visitorsWork: () => work, nextTurn });
    // What visitors have used before anybody looks.
    clock.advance(VISITORS_RECENT_MS);
  });

  function ask(group: string): () => void {
    return turns.take(group, () => {
      begun.push(group);
      clock.advance(COST_MS);
    });
  }

  /** Lets the loop turn once. */
  function turn(): void {
    for (const step of coming.splice(0)) step();
  }

  /** Lets time pass, in which visitors have work all the time, or never. */
  function run(ms: number, visitors: boolean): void {
    const end = clock.monotonic() + ms;
    while (clock.monotonic() < end) {
      if (visitors) work += 1;
      const before = clock.monotonic();
      turn();
      if (clock.monotonic() === before) clock.advance(1);
    }
  }

  it('begins one request in each turn of the loop, and the first not before it has returned', () => {
    for (let asked = 0; asked < 3; asked += 1) ask('a');
    assert.deepEqual(begun, []);
    turn();
    assert.equal(begun.length, 1);
    turn();
    turn();
    assert.equal(begun.length, 3);
    turn();
    assert.deepEqual([begun.length, coming.length, clock.pending], [3, 0, 0]);
  });

  it('serves as fast as it can while visitors have nothing to do', () => {
    for (let asked = 0; asked < 1000; asked += 1) ask('a');
    run(1000 * COST_MS, false);
    assert.equal(begun.length, 1000);
  });

  it('leaves visitors three quarters of the loop while they have work, and full speed to the API afterwards', () => {
    for (let asked = 0; asked < 2000; asked += 1) ask('a');
    work += 1;
    run(1000, true);
    const share = (begun.length * COST_MS * API_COST_FACTOR) / 1000;
    assert.ok(share <= API_LOOP_SHARE * 1.05 && share > API_LOOP_SHARE * 0.8, `${share}`);
    const before = begun.length;
    run(VISITORS_RECENT_MS + 1000, false);
    assert.ok(begun.length - before > 900, `${begun.length - before}`);
  });

  it('lets somebody else in after one request of those who flood it', () => {
    for (let asked = 0; asked < 1000; asked += 1) ask('flood');
    ask('other');
    turn();
    turn();
    assert.deepEqual(begun, ['flood', 'other']);
  });

  it('lets requests that have begun continue, in their turn', async () => {
    ask('a');
    const next = turns.next('account').then(() => begun.push('next'));
    turn();
    turn();
    await next;
    assert.deepEqual(begun, ['a', 'next']);
  });

  it('begins nothing for those who have left', () => {
    ask('a');
    ask('b')();
    turn();
    turn();
    assert.deepEqual(begun, ['a']);
  });
});
