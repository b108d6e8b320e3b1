import assert from 'node:assert/strict';
import { KEY_USES_FLUSH_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { KeyUses } from './key-uses.ts';

describe('KeyUses', () => {
  let clock: FakeClock;
  let told: [ids: readonly string[], at: number][];
  let isDown: boolean;
  let uses: KeyUses;
  let inUse: string[];
  const users = { keysInUse: () => inUse };

  beforeEach(() => {
    clock = new FakeClock(0);
    told = [];
    isDown = false;
    inUse = [];
    const markKeysUsed = (ids: readonly string[], at: number): Promise<void> => {
      if (isDown) return Promise.reject(new StoreError(new Error('down')));
      told.push([ids, at]);
      return Promise.resolve();
    };
    uses = new KeyUses({ markKeysUsed }, clock);
    uses.start(users);
  });

  it('tells the store after 30 s, once for any number of uses, and not again', async () => {
    for (let count = 0; count < 1000; count += 1) uses.note('a');
    uses.note('b');
    clock.advance(KEY_USES_FLUSH_MS - 1);
    assert.deepEqual(told, []);
    clock.advance(1);
    await settled();
    assert.deepEqual(told, [[['a', 'b'], KEY_USES_FLUSH_MS]]);
    clock.advance(KEY_USES_FLUSH_MS);
    await settled();
    assert.equal(told.length, 1);
  });

  it('takes a key for used as long as something is open that was opened with it', async () => {
    inUse = ['a'];
    for (let count = 0; count < 2; count += 1) {
      clock.advance(KEY_USES_FLUSH_MS);
      await settled();
    }
    assert.deepEqual(
      told.map(([ids]) => ids),
      [['a'], ['a']],
    );
  });

  it('tells a store that has failed the next time, and the rest at the end', async () => {
    isDown = true;
    uses.note('a');
    clock.advance(KEY_USES_FLUSH_MS);
    await settled();
    isDown = false;
    uses.note('b');
    await uses.stop(users);
    assert.deepEqual(
      told.map(([ids]) => new Set(ids)),
      [new Set(['a', 'b'])],
    );
    assert.equal(clock.pending, 0);
  });
});

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
