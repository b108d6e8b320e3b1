import assert from 'node:assert/strict';
import { emptyLog } from '../../../testing/fake-platform.ts';
import { exampleDetail, exampleRequest } from '../../../testing/views.ts';
import { LOG_START } from '../../ipc/request-views.ts';
import { LOG_PART_MAX, LOG_REQUESTS_MAX } from '../limits.ts';
import { createTunnelLog, ShownLog } from './tunnel-log.ts';

function logOf(count: number) {
  const seen = { cleared: [] as number[] };
  let newest = count;
  const log = new ShownLog({
    ...emptyLog(),
    list: (most = newest) =>
      Array.from({ length: Math.min(most, newest) }, (_, n) => exampleRequest({ id: newest - n })),
    changes: (since, most) => {
      const requests = Array.from({ length: newest - since }, (_, n) =>
        exampleRequest({ id: since + n + 1 }),
      );
      const part = requests.slice(0, most);
      return { revision: since + part.length, oldest: 1, requests: part };
    },
    get revision() {
      return newest;
    },
    detail: (id) => exampleDetail({ id }),
    clear: (upTo) => void seen.cleared.push(upTo),
  });
  return { log, seen, add: () => void (newest += 1), ids: () => log.list().map(({ id }) => id) };
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
    const { log, add, ids, seen } = logOf(3);
    const hidden = log.hide();
    add();
    hidden.forget();
    assert.deepEqual([seen.cleared, ids()], [[3], [4]]);
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

describe('the log of a tunnel in the app', () => {
  it('lists at most the last 10,000 requests', () => {
    const log = createTunnelLog({ host: 'localhost', port: 3000, https: false, waitMs: 0 });
    for (let n = 1; n <= LOG_REQUESTS_MAX + 5; n++) {
      const recording = log.recorder.open(0);
      recording.toLocal(Buffer.from(`GET /${n} HTTP/1.1\r\nHost: a\r\n\r\n`));
      recording.end(false);
    }
    const listed = log.list();
    assert.equal(listed.length, LOG_REQUESTS_MAX);
    assert.deepEqual([listed[0]?.target, listed.at(-1)?.target], ['/10005', '/6']);
  });
});
