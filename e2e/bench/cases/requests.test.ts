import assert from 'node:assert/strict';
import { parseWrk } from './requests.ts';

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

describe('parseWrk', () => {
  it('reads counts, and latencies in ms', () => {
    assert.deepEqual(parseWrk(OUTPUT), { requests: 27_636, perSecond: 13_818.48, p50: 0.97, p99: 1020 });
  });

  it('rejects the result of a run in which requests failed', () => {
    assert.throws(() => parseWrk(`${OUTPUT}  Non-2xx or 3xx responses: 3\n`), /requests failed/);
    assert.throws(
      () => parseWrk(`${OUTPUT}  Socket errors: connect 0, read 9, write 0, timeout 0\n`),
      /requests failed/,
    );
  });
});
