import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CountSums, SharedCounts } from './shared-counts.ts';

describe('counts of several processes', () => {
  let sums: CountSums<SharedCounts>;
  let one: SharedCounts;
  let two: SharedCounts;
  let three: SharedCounts;

  function start(): SharedCounts {
    const counts: SharedCounts = new SharedCounts((changes) => sums.hear(counts, changes));
    sums.add(counts);
    return counts;
  }

  beforeEach(() => {
    sums = new CountSums((counts, changes) => counts.hear(changes));
    [one, two, three] = [start(), start(), start()];
  });

  it('are the sum of all others, from a turn of the loop later on', async () => {
    one.set('address', '::1', 2);
    two.set('address', '::1', 3);
    assert.equal(three.others('address', '::1'), 0);
    await nextTurn();
    await nextTurn();
    assert.deepEqual(
      [one, two, three].map((counts) => counts.others('address', '::1')),
      [3, 2, 5],
    );
    assert.equal(one.others('stream', '::1'), 0);
    assert.equal(start().others('address', '::1'), 5, 'one that has just been started knows them');
  });

  it('no longer include those of a process that has ended', async () => {
    one.set('plan', 'a', 2);
    await nextTurn();
    await nextTurn();
    sums.remove(one);
    assert.equal(two.others('plan', 'a'), 0);
  });

  it('let an idle one of the process with most of them give way', async () => {
    const given: string[] = [];
    two.listen('slots', { giveWay: (name) => given.push(`two ${name}`) });
    three.listen('slots', { giveWay: (name) => given.push(`three ${name}`) });
    two.set('slots', '', 4, 1);
    three.set('slots', '', 2, 2);
    await nextTurn();
    await nextTurn();
    assert.deepEqual([one.displace('slots', ''), one.others('slots', '')], [true, 5]);
    await nextTurn();
    await nextTurn();
    assert.deepEqual(given, ['three ']);
    assert.deepEqual(
      [one.displace('slots', ''), one.displace('slots', ''), one.displace('slots', '')],
      [true, true, false],
    );
  });

  it('tell the others what one has spent', async () => {
    const spent: string[] = [];
    two.listen('request', { spent: (name) => spent.push(name) });
    one.spend('request', '203.0.113.7');
    one.spend('request', '203.0.113.7');
    await nextTurn();
    await nextTurn();
    assert.deepEqual(spent, ['203.0.113.7', '203.0.113.7']);
  });
});
