import assert from 'node:assert/strict';
import { STORE_SLOW_MS } from '../limits.ts';
import type { Store } from '../store/store.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { anAccount, aStore } from '../testing/fixtures.ts';
import { storeOperations } from './counters.ts';
import { observeStore } from './observed-store.ts';

function counted(operation: string): [count: number, failures: number] {
  const { seconds, failures } = storeOperations.get(operation) ?? { seconds: { count: 0 }, failures: 0 };
  return [seconds.count, failures];
}

describe('observeStore', () => {
  const clock = new FakeClock();
  let logged: unknown[];
  let store: Store;
  let test: Awaited<ReturnType<typeof aStore>>;

  beforeEach(async () => {
    logged = [];
    test = await aStore();
    store = observeStore(test.store, clock, (event, fields) => logged.push([event, fields]));
  });

  afterEach(() => test.store.close());

  it('counts each operation, and those that failed', async () => {
    const before = counted('findAccount');
    const account = anAccount({ name: 'acme' });
    await store.insertAccount(account);
    assert.deepEqual(await store.findAccount('acme'), account);
    test.down = true;
    await assert.rejects(store.findAccount('acme'));
    assert.deepEqual(counted('findAccount'), [before[0] + 2, before[1] + 1]);
    assert.deepEqual(logged, []);
  });

  it('does not take a broken rule for a failure of the store', async () => {
    const account = anAccount();
    await store.insertAccount(account);
    const [, before] = counted('insertAccount');
    await assert.rejects(store.insertAccount(account));
    assert.equal(counted('insertAccount')[1], before);
  });

  it('reports slow operations, but not each of many', async () => {
    for (let i = 0; i < 3; i += 1) {
      const ping = store.ping();
      clock.advance(STORE_SLOW_MS);
      await ping;
    }
    assert.deepEqual(logged, [['store slow', { operation: 'ping', ms: STORE_SLOW_MS }]]);
  });
});
