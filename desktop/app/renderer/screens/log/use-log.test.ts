import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { exampleRequest } from '../../../../testing/views.ts';
import type { LogPoint, LogUpdate } from '../../../../client/inspector/records.ts';
import type { Bridge } from '../../bridge.ts';
import { LogReader } from './use-log.ts';

/** A log of that many requests, delivered in pairs. */
function readerOf(count: number) {
  const asked: LogPoint[] = [];
  const seen: (number[] | string)[] = [];
  const log = { count, refuses: false };
  const call = (_: string, { since }: { since: LogPoint }) => {
    asked.push(since);
    if (log.refuses) return Promise.resolve({ ok: false, error: { code: 'gone', text: 'It is gone.' } });
    const revision = Math.min(since.revision + 2, log.count);
    const value: LogUpdate = {
      at: { epoch: 0, revision },
      isWhole: false,
      isMore: revision < log.count,
      oldest: 1,
      requests: Array.from({ length: revision - since.revision }, (_each, n) =>
        exampleRequest({ id: since.revision + n + 1 }),
      ),
    };
    return Promise.resolve({ ok: true, value });
  };
  const reader = new LogReader({
    bridge: { call: call as Bridge['call'] },
    key: 'k',
    onRead: ({ requests }) => void seen.push(requests.map(({ id }) => id)),
    onProblem: ({ text }) => void seen.push(text),
  });
  return { reader, log, asked, seen };
}

describe('LogReader', () => {
  it('reads all parts before it reports, and then only changes', async () => {
    const { reader, log, asked, seen } = readerOf(5);
    reader.read();
    await turn();
    assert.deepEqual([seen, asked.length], [[[5, 4, 3, 2, 1]], 3]);
    log.count = 6;
    reader.read();
    await turn();
    assert.deepEqual([seen.at(-1), asked.at(-1)], [[6, 5, 4, 3, 2, 1], { epoch: 0, revision: 5 }]);
  });

  it('reads once more for all changes during a read', async () => {
    const { reader, seen } = readerOf(3);
    reader.read();
    reader.read();
    reader.read();
    await turn();
    assert.equal(seen.length, 2);
  });

  it('reports an error, and reads again on request', async () => {
    const { reader, log, seen } = readerOf(1);
    log.refuses = true;
    reader.read();
    await turn();
    log.refuses = false;
    reader.read();
    await turn();
    assert.deepEqual(seen, ['It is gone.', [1]]);
  });

  it('reports nothing once it is stopped', async () => {
    const { reader, asked, seen } = readerOf(5);
    reader.read();
    reader.stop();
    await turn();
    assert.deepEqual([asked.length, seen], [1, []]);
  });
});
