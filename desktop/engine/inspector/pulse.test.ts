import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { PULSE_SECONDS } from '../limits.ts';
import { Pulse } from './pulse.ts';
import { RequestLog } from './request-log.ts';

describe('the pulse of a tunnel', () => {
  it('counts requests and errors by the second', () => {
    const pulse = new Pulse();
    for (const now of [1000, 1999, 2000]) pulse.count(now);
    pulse.countError(2500);
    assert.deepEqual(pulse.list(2999), [
      { id: 1, requests: 2, errors: 0 },
      { id: 2, requests: 1, errors: 1 },
    ]);
  });

  it('is of the last 60 s, whatever came before', () => {
    const pulse = new Pulse();
    for (let second = 0; second < 200; second += 1) pulse.count(second * 1000);
    const ids = pulse.list(199_000).map(({ id }) => id);
    assert.deepEqual([ids.length, ids[0], ids.at(-1)], [PULSE_SECONDS, 140, 199]);
    assert.deepEqual(pulse.list(300_000), []);
  });

  it('is that of visitors: what fails counts when it ends, what is sent by hand does not', () => {
    const clock = new FakeClock();
    const log = new RequestLog(clock);
    const request = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    const recording = log.open();
    recording.toLocal(request);
    clock.advance(3000);
    recording.toVisitor(Buffer.from('HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n'));
    const replay = log.openReplay(1);
    replay.toLocal(request);
    replay.end(true);
    const imported = log.openImported();
    imported.toLocal(request);
    imported.end(true);
    const broken = log.open();
    broken.toLocal(request);
    broken.end(true);
    assert.deepEqual(log.pulse, [
      { id: 0, requests: 1, errors: 0 },
      { id: 3, requests: 1, errors: 2 },
    ]);
  });
});
