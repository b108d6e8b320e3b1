import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { FairQueue } from './fair-queue.ts';

function drain(queue: FairQueue<string>): string {
  let order = '';
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) order += next.item;
  return order;
}

describe('FairQueue', () => {
  for (const [given, order] of [
    ['aaa', 'aaa'],
    ['aaab', 'abaa'],
    ['aaabbc', 'abcaba'],
    ['', ''],
  ] as const) {
    it(`returns "${given}" as "${order}"`, () => {
      const queue = new FairQueue<string>();
      for (const group of given) queue.push(group, group);
      assert.equal(queue.size, given.length);
      assert.equal(drain(queue), order);
      assert.equal(queue.size, 0);
    });
  }

  it('puts a group after the waiting others once it has had its turn, even if it returns', () => {
    const queue = new FairQueue<string>();
    for (const group of 'aab') queue.push(group, group);
    assert.equal(queue.shift()?.item, 'a');
    queue.push('c', 'c');
    assert.equal(drain(queue), 'bac');
  });

  it('skips groups that may not go, and keeps their place', () => {
    const queue = new FairQueue<string>();
    for (const group of 'aab') queue.push(group, group);
    const next = queue.shift((group) => group !== 'a');
    assert.deepEqual(next, { group: 'b', item: 'b' });
    assert.equal(
      queue.shift(() => false),
      undefined,
    );
    assert.equal(drain(queue), 'aa');
  });

  it('does not return removed items, and removes nothing twice', () => {
    const queue = new FairQueue<string>();
    queue.push('a', '1');
    const remove = queue.push('a', '2');
    remove();
    remove();
    assert.equal(queue.size, 1);
    const gone = queue.push('b', '3');
    assert.equal(drain(queue), '13');
    gone();
    assert.equal(queue.size, 0);
  });

  /** Events of a queue: an item of a group arrives, the next one leaves, a waiting one is removed. */
  const event = fc.oneof(
    fc.record({ kind: fc.constant('come'), group: fc.constantFrom('a', 'b', 'c', 'd') }),
    fc.record({ kind: fc.constant('go') }),
    fc.record({ kind: fc.constant('leave'), which: fc.nat(20) }),
  );

  it('makes no group wait for more turns than there are others, keeps the order within it, and loses no item', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200 }), (events) => {
        const queue = new FairQueue<number>();
        /** by group, its waiting items in order; and the turns of others since its last */
        const waiting = new Map<string, { id: number; remove: () => void }[]>();
        const passed = new Map<string, Map<string, number>>();
        let id = 0;
        for (const given of events) {
          if (given.kind === 'come' && 'group' in given) {
            const line = waiting.get(given.group) ?? [];
            waiting.set(given.group, line);
            if (line.length === 0) passed.set(given.group, new Map());
            const own = (id += 1);
            line.push({ id: own, remove: queue.push(given.group, own) });
          } else if (given.kind === 'leave' && 'which' in given) {
            const line = [...waiting.values()].find((one) => one.length > given.which);
            line?.splice(given.which, 1)[0]?.remove();
          } else {
            const next = queue.shift();
            const size = [...waiting.values()].reduce((sum, line) => sum + line.length, 0);
            assert.equal(next === undefined, size === 0);
            if (next === undefined) continue;
            assert.equal(waiting.get(next.group)?.shift()?.id, next.item);
            for (const [group, line] of waiting) {
              if (group === next.group || line.length === 0) continue;
              const times = (passed.get(group)?.get(next.group) ?? 0) + 1;
              // Another group goes before it once, and never twice.
              assert.ok(times <= 1, `${next.group} went twice before ${group}`);
              passed.get(group)?.set(next.group, times);
            }
            passed.set(next.group, new Map());
          }
        }
        assert.equal(
          queue.size,
          [...waiting.values()].reduce((sum, line) => sum + line.length, 0),
        );
      }),
    );
  });
});
