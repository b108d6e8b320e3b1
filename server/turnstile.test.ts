import assert from 'node:assert/strict';
import { setImmediate as settled } from 'node:timers/promises';
import { BusyError, Turnstile } from './turnstile.ts';

const ALL = 8;
const GROUP = 2;

describe('Turnstile', () => {
  let turnstile: Turnstile;
  /** the groups whose work has begun, in order, and how to end each */
  let begun: { readonly group: string; readonly end: () => void }[];

  beforeEach(() => {
    turnstile = new Turnstile({ atOnce: { all: ALL, group: GROUP } });
    begun = [];
  });

  function work(group: string): Promise<void> {
    return turnstile.run(group, () => new Promise((end) => begun.push({ group, end })));
  }

  async function endFirst(): Promise<string | undefined> {
    const first = begun.shift();
    first?.end();
    await settled();
    return first?.group;
  }

  it('starts at most the limit of one group', async () => {
    for (let asked = 0; asked < 10; asked += 1) void work('a');
    await settled();
    assert.equal(begun.length, GROUP);
    await endFirst();
    assert.equal(begun.length, GROUP);
  });

  it('starts at most the limit of all groups', async () => {
    for (let group = 0; group < 20; group += 1) void work(`group ${group}`);
    await settled();
    assert.equal(begun.length, ALL);
  });

  it('serves a group after one of each group before it, however much they have queued', async () => {
    const flooders = Array.from({ length: ALL / GROUP }, (_, index) => `flood ${index}`);
    for (let asked = 0; asked < 100; asked += 1) for (const flooder of flooders) void work(flooder);
    void work('other');
    await settled();
    assert.equal(begun.length, ALL);
    for (let ended = 0; ended <= flooders.length; ended += 1) await endFirst();
    assert.ok(begun.some(({ group }) => group === 'other'));
  });

  it('does work now only if it need not wait, and takes a place for it', async () => {
    const now = (group: string) =>
      turnstile.runNow(group, () => new Promise<void>((end) => begun.push({ group, end })));
    for (const group of ['a', 'a', 'b', 'b', 'c', 'c', 'd']) assert.ok(now(group));
    assert.equal(now('a'), undefined);
    assert.ok(now('e'));
    assert.equal(now('f'), undefined);
    assert.equal(turnstile.underWay, ALL);
    void work('f');
    assert.equal(await endFirst(), 'a');
    assert.deepEqual([begun.length, begun.at(-1)?.group], [ALL, 'f']);
  });

  it('refuses work of a group that has as much waiting as it may, and takes it again later', async () => {
    turnstile = new Turnstile({ atOnce: { all: 1, group: 1 }, waiting: { group: 2 } });
    for (let asked = 0; asked < 3; asked += 1) void work('a');
    await assert.rejects(work('a'), BusyError);
    void work('b');
    await endFirst();
    void work('a');
    for (let ended = 0; ended < 3; ended += 1) await endFirst();
    assert.deepEqual(
      begun.map(({ group }) => group),
      ['a'],
    );
  });

  it('returns the result of the work, begins the next one after a failure, and keeps nothing of finished work', async () => {
    assert.equal(await turnstile.run('a', () => Promise.resolve(1)), 1);
    const failed = Array.from({ length: 10 }, () =>
      assert.rejects(turnstile.run('a', () => Promise.reject(new Error('no')))),
    );
    await Promise.all(failed);
    assert.equal(await turnstile.run('a', () => Promise.resolve(2)), 2);
  });
});
