import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { hostOf } from '../support/manual-client.ts';
import { Culvert, Relay } from '../support/programs.ts';
import { isLong, suiteScope } from '../support/scope.ts';
import { startRawService } from '../support/services/listen.ts';

const URLS = isLong ? 1000 : 300;
/**
 * Responses that end before they are complete. A response without a length that ends with its connection does not
 * count.
 */
const TRUNCATED = [
  'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n',
];

describe('truncated responses', () => {
  const scope = suiteScope();

  for (const version of ['--http1.1', '--http1.0']) {
    it(`are errors for curl ${version}: ${URLS} of them, by a close and by a reset`, async () => {
      const relay = await Relay.start(scope);
      let answered = 0;
      const service = await startRawService(scope, (socket) => {
        socket.once('data', () => {
          const truncated = TRUNCATED[answered % TRUNCATED.length] ?? '';
          const reset = Math.floor(answered / TRUNCATED.length) % 2 === 0;
          answered += 1;
          socket.write(truncated, () => {
            if (reset) setTimeout(() => socket.resetAndDestroy(), 5);
            else socket.end();
          });
        });
      });
      const { tunnel } = await Culvert.start(scope, relay, relay.bootstrapKey, service.port);
      const codes = await curlExitCodes(`http://${hostOf(tunnel, relay)}/[1-${URLS}]`, version);
      assert.equal(codes.length, URLS);
      assert.ok(answered >= URLS, `the service answered ${answered} times`);
      // 18: fewer bytes than announced; 52: no answer; 56: the connection was reset.
      assert.deepEqual(
        [...new Set(codes)].filter((code) => ![18, 52, 56].includes(code)),
        [],
      );
    });
  }
});

/** Fetches the URLs of a pattern, many at a time, and reports how each transfer ended. */
async function curlExitCodes(urls: string, version: string): Promise<number[]> {
  const parallel = ['--parallel', '--parallel-immediate', '--parallel-max', '20'];
  const args = [
    '-s',
    version,
    '--max-time',
    '30',
    ...parallel,
    '-o',
    '/dev/null',
    '-w',
    '%{exitcode}\n',
    urls,
  ];
  const child = spawn('curl', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  for await (const piece of child.stdout) text += String(piece);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(Number);
}
