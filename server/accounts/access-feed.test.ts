import assert from 'node:assert/strict';
import { ACCESS_POLL_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { PolledAccessFeed } from './access-feed.ts';

describe('PolledAccessFeed', () => {
  let clock: FakeClock;
  let revision: number | StoreError;
  let calls: number;
  let failing: boolean;
  let feed: PolledAccessFeed;

  beforeEach(() => {
    clock = new FakeClock();
    [revision, calls, failing] = [7, 0, false];
    const accessRevision = () =>
      typeof revision === 'number' ? Promise.resolve(String(revision)) : Promise.reject(revision);
    feed = new PolledAccessFeed({ accessRevision }, clock);
    feed.start(() => {
      calls += 1;
      return failing ? Promise.reject(new StoreError('down')) : Promise.resolve();
    });
  });

  afterEach(() => feed.stop());

  async function look(): Promise<number> {
    clock.advance(ACCESS_POLL_MS);
    // A look has ended when nothing of it is queued any more.
    await new Promise((resolve) => setImmediate(resolve));
    return calls;
  }

  it('calls at the start, and then for each change', async () => {
    assert.deepEqual([await look(), await look()], [1, 1]);
    revision = 8;
    assert.deepEqual([await look(), await look()], [2, 2]);
  });

  it('notices changes well within a second', () => {
    assert.ok(2 * ACCESS_POLL_MS < 1000);
  });

  it('calls again when the call has failed', async () => {
    failing = true;
    assert.deepEqual([await look(), await look()], [1, 2]);
    failing = false;
    assert.deepEqual([await look(), await look()], [3, 3]);
  });

  it('continues after the store was down', async () => {
    revision = new StoreError('down');
    assert.equal(await look(), 0);
    revision = 7;
    assert.equal(await look(), 1);
  });

  it('leaves no timer behind', async () => {
    await look();
    await feed.stop();
    assert.equal(clock.pending, 0);
  });
});
