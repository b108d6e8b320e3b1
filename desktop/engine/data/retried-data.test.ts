import assert from 'node:assert/strict';
import { FakeClock } from '../../testing/fake-clock.ts';
import { FakeStream } from '../../testing/fake-stream.ts';
import { Deadlines } from '../deadlines.ts';
import { DATA_RETRY_MS } from '../limits.ts';
import { RelayRefusal, RelayUnreachable } from '../relay/errors.ts';
import type { DataHandler } from './data-socket.ts';
import { RetriedData } from './retried-data.ts';

describe('RetriedData', () => {
  let clock: FakeClock;
  let tries: DataHandler[];
  let cancelled: number;
  let results: unknown[];
  let data: RetriedData;
  let deadlines: Deadlines;

  beforeEach(() => {
    clock = new FakeClock();
    tries = [];
    cancelled = 0;
    results = [];
    deadlines = new Deadlines(clock);
    const source = {
      open: (id: string, handler: DataHandler) => {
        assert.equal(id, 'id');
        tries.push(handler);
        return { cancel: () => (cancelled += 1) };
      },
    };
    data = new RetriedData(source, deadlines);
  });

  const open = () =>
    data.open('id', {
      opened: (stream) => results.push(stream),
      failed: (error) => results.push(error.message),
    });

  for (const error of [
    new RelayUnreachable('no connection'),
    new RelayRefusal(502, 'bad gateway'),
    new RelayRefusal(429, 'too many'),
  ]) {
    it(`tries again every 250 ms after "${error.message}"`, () => {
      open();
      tries[0]?.failed(error);
      assert.deepEqual([tries.length, results], [1, []]);
      clock.advance(DATA_RETRY_MS);
      assert.equal(tries.length, 2);
      tries[1]?.failed(error);
      clock.advance(DATA_RETRY_MS);
      const stream = new FakeStream();
      tries[2]?.opened(stream);
      assert.deepEqual([results, deadlines.size, DATA_RETRY_MS], [[stream], 0, 250]);
    });
  }

  for (const status of [400, 401, 404]) {
    it(`takes ${status} for the relay's word about the visitor`, () => {
      open();
      tries[0]?.failed(new RelayRefusal(status, 'no'));
      assert.deepEqual([tries.length, results], [1, ['no']]);
    });
  }

  it('gives up when the relay has given the visitor up, after 10 s', () => {
    open();
    for (let at = 0; at < tries.length && results.length === 0; at += 1) {
      tries[at]?.failed(new RelayUnreachable('no connection'));
      clock.advance(DATA_RETRY_MS);
    }
    assert.deepEqual(results, ['no connection']);
    assert.ok(clock.monotonic() <= 10_000 && tries.length >= 35, `${tries.length} tries`);
    assert.equal(deadlines.size, 0);
  });

  it('tries nothing any more when it is cancelled, also while it waits', () => {
    const attempt = open();
    tries[0]?.failed(new RelayUnreachable('no connection'));
    attempt.cancel();
    clock.advance(1000);
    assert.deepEqual([tries.length, cancelled, results, deadlines.size], [1, 1, [], 0]);
  });
});
