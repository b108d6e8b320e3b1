import assert from 'node:assert/strict';
import { fakeServed } from '../../../testing/served.ts';
import { LOG_START } from '../../ipc/request-views.ts';
import { ShownLog, LOG_PART_MAX, LOG_REQUESTS_MAX } from './tunnel-log.ts';

/** A log with so many requests, none of which has a response yet: each is one change. */
function logOf(count: number) {
  const { served } = fakeServed({}, { requestsMax: LOG_REQUESTS_MAX });
  const add = (): void => served.log.open().toLocal(Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n'));
  for (let n = 0; n < count; n += 1) add();
  const log = new ShownLog(served.log);
  return {
    log,
    add,
    ids: () => log.list().map(({ id }) => id),
    kept: () => served.log.list().map(({ id }) => id),
  };
}

describe('ShownLog', () => {
  it('hides the requests so far, and shows later ones', () => {
    const { log, add, ids } = logOf(3);
    log.hide();
    add();
    assert.deepEqual(ids(), [4]);
    assert.equal(log.detail(3, false), undefined);
    assert.equal(log.detail(4, false)?.id, 4);
  });

  it('shows them again, with later ones', () => {
    const { log, add, ids } = logOf(3);
    const hidden = log.hide();
    add();
    hidden.show();
    assert.deepEqual(ids(), [4, 3, 2, 1]);
  });

  it('forgets only the hidden requests', () => {
    const { log, add, ids, kept } = logOf(3);
    const hidden = log.hide();
    add();
    hidden.forget();
    assert.deepEqual([kept(), ids()], [[4], [4]]);
  });

  it('sends changes in parts, and everything again after a hide or a show', () => {
    const { log, add } = logOf(LOG_PART_MAX + 3);
    const first = log.update(LOG_START);
    assert.deepEqual([first.requests.length, first.isMore, first.isWhole], [LOG_PART_MAX, true, false]);
    const second = log.update(first.at);
    assert.deepEqual([second.requests.length, second.isMore, second.isWhole], [3, false, false]);
    assert.deepEqual(log.update(second.at).requests, []);
    const hidden = log.hide();
    assert.notDeepEqual(log.point, second.at);
    add();
    let update = log.update(second.at);
    assert.deepEqual([update.isWhole, update.oldest], [true, LOG_PART_MAX + 4]);
    while (update.isMore) update = log.update(update.at);
    assert.deepEqual(
      update.requests.map(({ id }) => id),
      [LOG_PART_MAX + 4],
    );
    hidden.show();
    const again = log.update(update.at);
    assert.deepEqual([again.isWhole, again.oldest, again.requests.length], [true, 1, LOG_PART_MAX]);
    log.tellAnew();
    assert.equal(log.update(again.at).isWhole, true);
  });

  it('keeps hidden requests hidden', () => {
    const { log, add, ids } = logOf(3);
    const first = log.hide();
    add();
    log.hide();
    first.show();
    assert.deepEqual(ids(), []);
  });
});
