import assert from 'node:assert/strict';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';
import { temporaryDirectory } from '../../../shared/testing/temporary-directory.ts';
import { anAccount, aTunnel, hasNoRoom, isTaken } from '../../testing/fixtures.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { StoreError, UnansweredError } from '../store-errors.ts';
import type { Store } from '../store.ts';
import {
  openThreaded,
  STORE_ANSWER_TIMEOUT_MS,
  STORE_CALLS_MAX,
  STORE_THREAD_RETRY_MS,
} from './store-connection.ts';

describe('a store on its own thread', () => {
  const owner = anAccount({ name: 'owner' });
  let folder: string;
  let path: string;
  let clock: FakeClock;
  let logged: string[];
  let thread: Worker;
  let store: Store;

  beforeEach(async () => {
    folder = temporaryDirectory();
    path = join(folder, 'culvert.db');
    clock = new FakeClock();
    logged = [];
    store = await open(path);
    await store.insertAccounts([owner]);
  });

  afterEach(() => store.close());

  async function open(file: string): Promise<Store> {
    process.once('worker', (worker: Worker) => (thread = worker));
    return await openThreaded(file, clock, (event) => logged.push(event));
  }

  /** A lock that another program holds on the file. */
  function holdWrites(): DatabaseSync {
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    return other;
  }

  it('passes and returns the same values as the store: records, sets, nothing', async () => {
    const tunnel = aTunnel(owner.id, { slug: 'web' });
    await store.insertTunnel(tunnel, { maxTunnels: 1, nameHold: 0 });
    assert.deepEqual(await store.findTunnel(tunnel.id), { tunnel, account: owner });
    assert.equal(await store.findTunnel('unknown'), undefined);
    const released = { id: tunnel.id, slug: 'web', accountId: owner.id, heldUntil: 0 };
    assert.deepEqual(await store.releaseTunnels([released], 1), new Set([tunnel.id]));
  });

  it('fails like the store', async () => {
    await assert.rejects(store.insertAccounts([anAccount({ name: 'owner' })]), isTaken('name'));
    const tunnel = aTunnel(owner.id, { expiresAt: 5000 });
    await store.insertTunnel(tunnel);
    await assert.rejects(
      store.insertTunnel(aTunnel(owner.id), { maxTunnels: 1, nameHold: 0 }),
      hasNoRoom(5000),
    );
  });

  it('explains why a database cannot be opened, and leaves no thread behind', async () => {
    const started = once(process, 'worker') as Promise<[Worker]>;
    const opened = openThreaded(join(folder, 'culvert.db', 'none'), clock, () => {});
    await assert.rejects(opened, /^Error: cannot open the database .*none: /);
    const [refused] = await started;
    if (refused.threadId !== -1) await once(refused, 'exit');
  });

  it('lets timers run while another program keeps it from writing', async () => {
    const other = holdWrites();
    const written = store.insertAccounts([anAccount({ name: 'late' })]);
    setTimeout(() => other.exec('commit'), 30);
    await written;
    other.close();
    assert.equal((await store.findAccount('late'))?.name, 'late');
  });

  it('forwards log entries of the store', async () => {
    rmSync(path);
    await assert.rejects(store.insertAccounts([anAccount()]), StoreError);
    assert.deepEqual(logged, ['database created', 'store failing']);
  });

  it('gives up an operation after 10 s without an answer, and reports that its outcome is unknown', async () => {
    const other = holdWrites();
    const written = store.insertAccounts([anAccount({ name: 'late' })]);
    clock.advance(STORE_ANSWER_TIMEOUT_MS);
    await assert.rejects(
      written,
      (error) => error instanceof StoreError && error.cause instanceof UnansweredError,
    );
    other.exec('rollback');
    other.close();
    await store.ping();
  });

  it('rejects a call that would wait behind 5,000 others', async () => {
    const other = holdWrites();
    const asked = Array.from({ length: STORE_CALLS_MAX }, () => store.setPlan('owner', 'team'));
    await assert.rejects(store.ping(), StoreError);
    clock.advance(STORE_ANSWER_TIMEOUT_MS);
    assert.equal((await Promise.allSettled(asked)).length, STORE_CALLS_MAX);
    const reached = store.ping();
    other.exec('rollback');
    other.close();
    await thread.terminate();
    await assert.rejects(reached, StoreError);
  });

  it('fails while its thread is lost, starts another after 1 s, and still has the data', async () => {
    const other = holdWrites();
    const written = store.insertAccounts([anAccount()]);
    // Rejected before anybody looks.
    const outcome = assert.rejects(
      written,
      (error) => error instanceof StoreError && error.cause instanceof UnansweredError,
    );
    await thread.terminate();
    await outcome;
    other.exec('rollback');
    other.close();
    await assert.rejects(store.ping(), StoreError);
    assert.deepEqual(logged, ['database created', 'store thread lost']);
    const started = once(process, 'worker') as Promise<[Worker]>;
    clock.advance(STORE_THREAD_RETRY_MS);
    [thread] = await started;
    while (logged.length < 3) await once(thread, 'message');
    assert.deepEqual(logged.slice(1), ['store thread lost', 'store thread back']);
    assert.deepEqual(await store.findAccount('owner'), owner);
  });
});
