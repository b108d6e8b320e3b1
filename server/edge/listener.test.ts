import assert from 'node:assert/strict';
import { STORE_RETRY_MS, TICKET_KEY_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import type { Store } from '../store/store.ts';
import { openTestStore } from '../testing/fixtures.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { TicketKeys } from './listener.ts';

const HOUR_MS = 3_600_000;

describe('TicketKeys', () => {
  /** noon */
  let clock: FakeClock;
  let store: Store;

  beforeEach(async () => {
    clock = new FakeClock(Date.UTC(2026, 0, 1, 12));
    store = await openTestStore(() => {});
  });

  afterEach(() => store.close());

  function start(of: Pick<Store, 'relaySecret' | 'removeSecrets'> = store): Promise<TicketKeys> {
    return TicketKeys.start({ store: of, clock });
  }

  it('are shared by all relays on the database, and survive a restart', async () => {
    const [one, two] = [await start(), await start()];
    assert.equal(one.current.length, 48);
    assert.deepEqual(two.current, one.current);
  });

  it('change each day, on every relay, at the same moment', async () => {
    const [one, two] = [await start(), await start()];
    const before = one.current;
    const changes = [next(one), next(two)];
    clock.advance(TICKET_KEY_MS / 2);
    const [first, second] = await Promise.all(changes);
    assert.deepEqual(first, second);
    assert.notDeepEqual(first, before);
    const another = next(one);
    clock.advance(TICKET_KEY_MS);
    assert.notDeepEqual(await another, first);
  });

  it('are forgotten after their day: nothing in the database can recreate them', async () => {
    const keys = await start();
    const { current } = keys;
    const change = next(keys);
    clock.advance(TICKET_KEY_MS / 2 + HOUR_MS);
    await change;
    clock.jump(-TICKET_KEY_MS / 2 - HOUR_MS);
    assert.notDeepEqual((await start()).current, current);
  });

  it('are not adopted from a relay whose clock is ahead by less than an hour', async () => {
    clock.jump(TICKET_KEY_MS / 2 - HOUR_MS / 2);
    const behind = await start();
    clock.jump(HOUR_MS);
    const { current } = await start();
    clock.jump(-HOUR_MS);
    await start();
    clock.jump(HOUR_MS);
    assert.deepEqual((await start()).current, current);
    behind.stop();
  });

  it('are replaced when all secrets have been renewed', async () => {
    const keys = await start();
    const { current } = keys;
    await keys.reload();
    assert.deepEqual(keys.current, current);
    const change = next(keys);
    await store.removeSecrets('', Infinity);
    await keys.reload();
    assert.deepEqual(await change, keys.current);
    assert.notDeepEqual(keys.current, current);
  });

  it('stay in use while the store fails, and are renewed when it is back', async () => {
    let fails = false;
    const failing = async (name: string, now: number): Promise<string> => {
      if (fails) throw new StoreError(new Error('away'));
      return await store.relaySecret(name, now);
    };
    const keys = await start({ relaySecret: failing, removeSecrets: () => Promise.resolve() });
    const { current } = keys;
    fails = true;
    clock.advance(TICKET_KEY_MS / 2);
    await new Promise(setImmediate);
    assert.equal(keys.current, current);
    fails = false;
    const change = next(keys);
    clock.advance(STORE_RETRY_MS);
    assert.notDeepEqual(await change, current);
  });

  it('no longer change once they are stopped', async () => {
    const keys = await start();
    keys.stop();
    assert.equal(clock.pending, 0);
  });
});

function next(keys: TicketKeys): Promise<Buffer> {
  return new Promise((resolve) => keys.follow(resolve));
}
