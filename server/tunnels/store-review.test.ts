import assert from 'node:assert/strict';
import { FOLLOW_BATCH, REVIEW_PAUSE_MS, REVIEW_RETRY_MS } from '../limits.ts';
import { StoreError } from '../store/store-errors.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aTunnel, anAccount } from '../testing/fixtures.ts';
import { LiveTunnel } from './live-tunnel.ts';
import { StoreReview } from './store-review.ts';

/** Lets everything that is under way in memory arrive. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('StoreReview', () => {
  const account = anAccount();
  let clock: FakeClock;
  let tunnels: LiveTunnel[];
  let compared: (readonly LiveTunnel[])[];
  let failures: number;
  let review: StoreReview;

  beforeEach(() => {
    clock = new FakeClock();
    compared = [];
    failures = 0;
    tunnels = Array.from(
      { length: 2 * FOLLOW_BATCH + 1 },
      () => new LiveTunnel({ tunnel: aTunnel(account.id), account }, clock, () => {}),
    );
    review = new StoreReview(
      clock,
      () => tunnels,
      (batch) => {
        compared.push(batch);
        failures -= 1;
        return failures >= 0 ? Promise.reject(new StoreError(new Error('down'))) : Promise.resolve();
      },
    );
  });

  function sizes(): number[] {
    return compared.map(({ length }) => length);
  }

  async function pass(ms: number): Promise<void> {
    await settled();
    clock.advance(ms);
    await settled();
  }

  it('compares 500 tunnels at a time, with 50 ms between two times', async () => {
    review.request();
    await pass(REVIEW_PAUSE_MS - 1);
    assert.deepEqual(sizes(), [500]);
    await pass(1);
    assert.deepEqual(sizes(), [500, 500]);
    await pass(REVIEW_PAUSE_MS);
    assert.deepEqual(sizes(), [500, 500, 1]);
    assert.deepEqual(compared.flat(), tunnels);
    await pass(60_000);
    assert.equal(compared.length, 3);
  });

  it('begins again, once, if it is asked for meanwhile', async () => {
    review.request();
    await pass(REVIEW_PAUSE_MS);
    for (let time = 0; time < 9; time += 1) review.request();
    for (let time = 0; time < 9; time += 1) await pass(REVIEW_PAUSE_MS);
    assert.deepEqual(sizes(), [500, 500, 1, 500, 500, 1]);
  });

  it('begins again a second after the store has failed, until it has answered everything', async () => {
    failures = 2;
    review.request();
    await pass(REVIEW_RETRY_MS - 1);
    assert.equal(compared.length, 1);
    await pass(1);
    await pass(REVIEW_RETRY_MS);
    await pass(REVIEW_PAUSE_MS);
    await pass(REVIEW_PAUSE_MS);
    assert.deepEqual(sizes(), [500, 500, 500, 500, 1]);
    await pass(60_000);
    assert.equal(compared.length, 5);
  });

  it('ends when it is stopped', async () => {
    review.request();
    await settled();
    review.stop();
    await pass(60_000);
    review.request();
    await settled();
    assert.deepEqual([compared.length, clock.pending], [1, 0]);
  });
});
