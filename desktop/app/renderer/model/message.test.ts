import assert from 'node:assert/strict';
import { queryOf, rawMessage, readablePairs } from './message.ts';

const query = (target: string) => queryOf({ startLine: `GET ${target} HTTP/1.1` });

describe('the query of a request', () => {
  it('is decoded in order, including repeated names', () => {
    assert.deepEqual(query('/a?q=caf%C3%A9+au+lait&tag=1&tag=2&empty=&flag&raw=caf\u00c3\u00a9'), [
      ['q', 'café au lait'],
      ['tag', '1'],
      ['tag', '2'],
      ['empty', ''],
      ['flag', ''],
      ['raw', 'café'],
    ]);
  });

  it('is empty without one, and unchanged if it cannot be decoded', () => {
    assert.deepEqual(query('/a'), []);
    assert.deepEqual(query('/a?'), []);
    assert.deepEqual(queryOf({ startLine: 'HTTP/1.1 200 OK' }), []);
    assert.deepEqual(query('/a?twice=%C3%83%C2%A9'), [['twice', '\u00c3\u00a9']]);
    assert.deepEqual(query('/a?x=%zz&y=[redacted]&z=%ff'), [
      ['x', '%zz'],
      ['y', '[redacted]'],
      ['z', '\ufffd'],
    ]);
  });

  it('contains no characters that hide or reverse text', () =>
    assert.deepEqual(query('/a?%E2%80%AEx=%1b'), [['\\u{202e}x', '\\x1b']]));
});

describe('headers and cookies', () => {
  it('are read as UTF-8, and contain no characters that hide or reverse text', () =>
    assert.deepEqual(
      readablePairs([
        ['a\u001b', 'caf\u00c3\u00a9'],
        ['b', '\u00ff'],
      ]),
      [
        ['a\\x1b', 'café'],
        ['b', 'ÿ'],
      ],
    ));
});

/** @param changes to a request with that body */
function raw(body: Uint8Array, changes = {}) {
  const fields: [string, string][] = [
    ['B', 'caf\u00c3\u00a9'],
    ['a', '1'],
    ['B', '\u00ff'],
  ];
  const message = rawMessage({ startLine: 'POST / HTTP/1.1', fields, body, isTruncated: false, ...changes });
  return { text: new TextDecoder().decode(message.body), isTruncated: message.isTruncated };
}

const bytes = (text: string) => new TextEncoder().encode(text);

describe('a raw message', () => {
  const HEAD = 'POST / HTTP/1.1\r\nB: café\r\na: 1\r\nB: ÿ\r\n\r\n';

  it('has its line, its headers in order and its body', () => {
    assert.equal(raw(bytes('{"é":1}\n')).text, `${HEAD}{"é":1}\n`);
    assert.deepEqual(raw(new Uint8Array()), { text: HEAD, isTruncated: false });
  });

  it('has a hex dump of a body that is not text', () =>
    assert.equal(raw(Uint8Array.of(0x1f, 0x8b, 0x41)).text, `${HEAD}000000  1f 8b 41${' '.repeat(39)}  ..A`));

  it('says that it is cut, even in the middle of a character', () => {
    const { text, isTruncated } = raw(bytes('é€').subarray(0, 4), { wholeBytes: 5 });
    assert.deepEqual([text, isTruncated], [`${HEAD}é\ufffd`, true]);
  });
});
