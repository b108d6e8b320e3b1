import assert from 'node:assert/strict';
import type { LogUpdate } from '../../shared/log.ts';
import { exampleRequest } from '../../testing/views.ts';
import { NOTHING_KNOWN, updated } from './known-log.ts';

const update = (changes: Partial<LogUpdate>): LogUpdate => ({
  at: { epoch: 0, revision: 9 },
  isWhole: false,
  isMore: false,
  oldest: 1,
  requests: [],
  ...changes,
});
const requests = (...ids: number[]) => ids.map((id) => exampleRequest({ id }));

describe('what is known of a log', () => {
  const known = updated(NOTHING_KNOWN, update({ requests: requests(2, 4, 3, 1) }));
  const ids = (log = known): number[] => log.requests.map(({ id }) => id);

  it('is in order, newest first, in whatever order it came', () => {
    assert.deepEqual(ids(), [4, 3, 2, 1]);
    assert.deepEqual(known.at, { epoch: 0, revision: 9 });
  });

  it('takes in what is new and what has changed, and keeps the rest as it is', () => {
    const changed = exampleRequest({ id: 2, status: 500 });
    const next = updated(known, update({ requests: [changed, ...requests(5)] }));
    assert.deepEqual(ids(next), [5, 4, 3, 2, 1]);
    assert.equal(next.requests[3], changed);
    assert.equal(next.requests[1], known.requests[0]);
  });

  it('loses what is no longer kept', () => {
    assert.deepEqual(ids(updated(known, update({ oldest: 3 }))), [4, 3]);
    assert.deepEqual(ids(updated(known, update({ oldest: 5 }))), []);
  });

  it('begins anew when it is told to', () => {
    assert.deepEqual(ids(updated(known, update({ isWhole: true, requests: requests(7) }))), [7]);
    assert.deepEqual(ids(updated(known, update({ isWhole: true }))), []);
  });

  it('is the same list when nothing has changed', () => {
    assert.equal(updated(known, update({})).requests, known.requests);
  });
});
