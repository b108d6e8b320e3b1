import assert from 'node:assert/strict';
import { ACCOUNT_WRITES_MAX, API_WRITES_MAX } from '../../limits.ts';
import { Writes } from './writes.ts';

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('Writes', () => {
  let writes: Writes;
  /** the accounts whose writes have begun, in order, and how to end each */
  let begun: { readonly account: string; readonly end: () => void }[];

  beforeEach(() => {
    writes = new Writes();
    begun = [];
  });

  function write(account: string): Promise<void> {
    return writes.run(account, () => new Promise((end) => begun.push({ account, end })));
  }

  async function endFirst(): Promise<string | undefined> {
    const first = begun.shift();
    first?.end();
    await settled();
    return first?.account;
  }

  it('begins no more writes of one account than the limit', async () => {
    for (let asked = 0; asked < 10; asked += 1) void write('a');
    await settled();
    assert.equal(begun.length, ACCOUNT_WRITES_MAX);
    await endFirst();
    assert.equal(begun.length, ACCOUNT_WRITES_MAX);
  });

  it('begins no more writes of all accounts than the limit', async () => {
    for (let account = 0; account < 20; account += 1) void write(`account ${account}`);
    await settled();
    assert.equal(begun.length, API_WRITES_MAX);
  });

  it('gives an account its turn after one write of each account before it, however many more of those wait', async () => {
    const flooders = Array.from(
      { length: API_WRITES_MAX / ACCOUNT_WRITES_MAX },
      (_, index) => `flood ${index}`,
    );
    for (let asked = 0; asked < 100; asked += 1) for (const flooder of flooders) void write(flooder);
    void write('other');
    await settled();
    assert.equal(begun.length, API_WRITES_MAX);
    for (let ended = 0; ended <= flooders.length; ended += 1) await endFirst();
    assert.ok(begun.some(({ account }) => account === 'other'));
  });

  it('returns what the work returns, begins the next one after a failure, and keeps nothing of those that are done', async () => {
    assert.equal(await writes.run('a', () => Promise.resolve(1)), 1);
    const failed = Array.from({ length: 10 }, () =>
      assert.rejects(writes.run('a', () => Promise.reject(new Error('no')))),
    );
    await Promise.all(failed);
    assert.equal(await writes.run('a', () => Promise.resolve(2)), 2);
  });
});
