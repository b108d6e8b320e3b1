import assert from 'node:assert/strict';
import { parseRequestHead } from './head.ts';
import { isHopByHop, namedByConnection } from './hop-by-hop.ts';

describe('fields of one connection', () => {
  for (const [lines, left] of [
    ['Connection: close\r\nKeep-Alive: 5\r\nProxy-Connection: a\r\nUpgrade: b\r\nX-A: 1', ['X-A']],
    ['Connection: X-A, keep-alive\r\nX-A: 1\r\nX-B: 2', ['X-B']],
    [
      'Proxy-Authenticate: Basic\r\nProxy-Authentication-Info: a\r\nProxy-Authorization: b',
      ['Proxy-Authorization'],
    ],
    // Another reader of the message would otherwise see another host, or another end of its body.
    [
      'Connection: host, content-length, transfer-encoding, trailer\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\nTrailer: b',
      ['Host', 'Content-Length', 'Transfer-Encoding', 'Trailer'],
    ],
  ] as const)
    it(`are taken out of ${JSON.stringify(lines)}`, () => {
      const head = parseRequestHead(Buffer.from(`GET / HTTP/1.1\r\n${lines}\r\n\r\n`), {
        target: 99,
        fields: 9,
      });
      assert.ok(typeof head === 'object');
      const named = namedByConnection(head.fields);
      assert.deepEqual(
        head.fields.filter((field) => !isHopByHop(field, named)).map(({ name }) => name),
        left,
      );
    });
});
