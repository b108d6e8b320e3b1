import assert from 'node:assert/strict';
import { LOG_REQUESTS_MAX } from '../limits.ts';
import { createEngineLog } from './engine-log.ts';

describe('the log of a tunnel in the app', () => {
  it('lists the last 10,000 requests', () => {
    const log = createEngineLog({ host: 'localhost', port: 3000, https: false, waitMs: 0 });
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
