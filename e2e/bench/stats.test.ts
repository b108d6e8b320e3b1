import assert from 'node:assert/strict';
import { parseWrk } from './cases/requests.ts';
import { median, quantile, rotated, Samples } from './stats.ts';

describe('statistics', () => {
  it('have the middle value as median, or the mean of the middle two', () => {
    assert.deepEqual([median([9, 1, 5]), median([4, 1, 2, 10]), median([])], [5, 3, NaN]);
  });

  it('have the value that a given share does not exceed as quantile', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    assert.deepEqual([quantile(values, 0.5), quantile(values, 0.99)], [100, 198]);
    assert.deepEqual([quantile([7], 0.99), quantile([], 0.5)], [7, NaN]);
  });

  it('begin each round with another peer', () => {
    assert.deepEqual([rotated(['a', 'b', 'c'], 1), rotated(['a'], 3)], [['b', 'c', 'a'], ['a']]);
  });

  it('take ratios round by round, so that a slow round counts for both', () => {
    const samples = new Samples();
    for (const value of [100, 10, 90]) samples.add('ours', value);
    for (const value of [50, 5, 60]) samples.add('theirs', value);
    assert.deepEqual([samples.ratio('ours', 'theirs'), samples.ratio('ours', 'nobody')], [2, undefined]);
    assert.deepEqual([samples.median('ours'), samples.median('nobody')], [90, undefined]);
  });
});

const OUTPUT = `Running 2s test @ http://127.0.0.1:8080/
  1 threads and 16 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.91ms    5.16ms 100.85ms   96.82%
  Latency Distribution
     50%  970.00us
     75%    1.34ms
     99%    1.02s\x20
  27636 requests in 2.00s, 4.10MB read
Requests/sec:  13818.48
Transfer/sec:      2.02MB
`;

describe('the output of wrk', () => {
  it('has counts, and latencies in ms', () => {
    assert.deepEqual(parseWrk(OUTPUT), { requests: 27_636, perSecond: 13_818.48, p50: 0.97, p99: 1020 });
  });

  it('is rejected if requests failed', () => {
    for (const failed of [
      'Non-2xx or 3xx responses: 3',
      'Socket errors: connect 0, read 9, write 0, timeout 0',
    ])
      assert.throws(() => parseWrk(`${OUTPUT}  ${failed}\n`), /requests failed/);
  });
});
