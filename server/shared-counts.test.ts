import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CountSums, SharedCounts } from './shared-counts.ts';

describe('counts of several processes', () => {
  let sums: CountSums<SharedCounts>;
  let one: SharedCounts;
  let two: SharedCounts;
  let three: SharedCounts;

  function start(): SharedCounts {
    const counts: SharedCounts = new SharedCounts(3, (changes) => sums.hear(counts, changes));
    sums.add(counts);
    return counts;
  }

  beforeEach(() => {
    sums = new CountSums((counts, changes) => counts.hear(changes));
    [one, two, three] = [start(), start(), start()];
  });

  it('are the sum of all others, from a turn of the loop later on', async () => {
    one.set('address', '::1', 10, 2);
    two.set('address', '::1', 10, 3);
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

  it('are told only as far as they matter for the limit, but then all', async () => {
    const heard: number[] = [];
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 6; turn += 1) await nextTurn();
      heard.push(three.others('address', '::1'));
    };
    // Twelfths of what is left may stay untold.
    two.set('address', '::1', 240, 19);
    one.set('address', '::1', 240, 5, 2);
    await turns();
    two.set('address', '::1', 240, 200);
    await turns();
    one.set('address', '::1', 240, 9, 7);
    await turns();
    assert.deepEqual([heard, three.othersIdle('address', '::1')], [[19, 205, 209], 7]);
    two.set('address', '::1', 240, 0);
    one.set('address', '::1', 240, 0);
    await turns();
    assert.deepEqual(heard.at(-1), 0);
  });

  it('never exceed a limit that all of them keep', async () => {
    const limit = 100;
    const all = [one, two, three];
    const own = [0, 0, 0];
    for (let time = 0; time < 3000; time += 1) {
      const index = ((time * 7919) % 13) % 3;
      const counts = all[index] ?? assert.fail();
      const count = own[index] ?? 0;
      const isMore = (time * 104_729) % 11 < 7;
      if (isMore && count + counts.others('plan', 'a') >= limit) continue;
      own[index] = Math.max(0, count + (isMore ? 1 : -1));
      counts.set('plan', 'a', limit, own[index]);
      await nextTurn();
      await nextTurn();
      assert.ok(own.reduce((sum, each) => sum + each, 0) <= limit);
    }
    assert.ok(all.every((counts, index) => (own[index] ?? 0) + counts.others('plan', 'a') > limit / 2));
  });

  it('no longer include those of a process that has ended', async () => {
    one.set('plan', 'a', 10, 2);
    await nextTurn();
    await nextTurn();
    sums.remove(one);
    assert.equal(two.others('plan', 'a'), 0);
  });

  it('let an idle one of the process with most of them give way', async () => {
    const given: string[] = [];
    two.listen('slots', { giveWay: (name) => given.push(`two ${name}`) });
    three.listen('slots', { giveWay: (name) => given.push(`three ${name}`) });
    two.set('slots', '', 10, 4, 1);
    three.set('slots', '', 10, 2, 2);
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
