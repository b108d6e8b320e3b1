import assert from 'node:assert/strict';
import type { RecordedMessage } from '../../engine/inspector/records.ts';
import { bodyView, hexDump } from './body.ts';

function message(
  body: string | Uint8Array,
  fields: RecordedMessage['fields'],
  isTruncated = false,
): RecordedMessage {
  return {
    startLine: 'POST / HTTP/1.1',
    fields,
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
    isTruncated,
  };
}

describe('bodies', () => {
  it('lays out JSON, also of a type of its own or without one', () => {
    const pretty = '{\n  "a": 1\n}';
    for (const type of ['application/json; charset=utf-8', 'application/problem+json', 'text/plain']) {
      const view = bodyView(message('{"a":1}', [['Content-Type', type]]));
      assert.deepEqual(view, { kind: 'text', text: '{"a":1}', pretty }, type);
    }
  });

  it('shows broken JSON as it is', () => {
    const view = bodyView(message('{"a":', [['content-type', 'application/json']]));
    assert.deepEqual(view, { kind: 'text', text: '{"a":', pretty: undefined });
  });

  it('lays out a form', () => {
    const view = bodyView(message('a=1&b=x+y', [['Content-Type', 'application/x-www-form-urlencoded']]));
    assert.equal(view.kind === 'text' ? view.pretty : '', 'a = 1\nb = x y');
  });

  it('shows characters that hide in a text or reverse it', () => {
    const view = bodyView(message('{"a":"x\u{202E}gpj.exe\u{9B}"}\n\t', []));
    assert.ok(view.kind === 'text');
    assert.equal(view.text, '{"a":"x\\u{202e}gpj.exe\\x9b"}\n\t');
    assert.match(view.pretty ?? '', /x\\u\{202e\}gpj\.exe\\x9b/);
  });

  it('recognises what is not text: other bytes, compressed bodies', () => {
    assert.equal(bodyView(message(new Uint8Array([0x89, 0x50, 0xff]), [])).kind, 'binary');
    assert.equal(bodyView(message('x', [['Content-Encoding', 'gzip']])).kind, 'binary');
    assert.equal(bodyView(message('', [])).kind, 'empty');
  });

  it('treats a body that is cut within a character as text', () => {
    const cut = new TextEncoder().encode('grün').subarray(0, 3);
    assert.deepEqual(bodyView(message(cut, [], true)), { kind: 'text', text: 'gr', pretty: undefined });
    assert.equal(bodyView(message(cut, [])).kind, 'binary');
  });

  it('dumps bytes with offsets', () => {
    const dump = hexDump(new TextEncoder().encode('0123456789abcdef\n!'));
    assert.deepEqual(dump.split('\n'), [
      '000000  30 31 32 33 34 35 36 37 38 39 61 62 63 64 65 66  0123456789abcdef',
      `000010  0a 21${' '.repeat(42)}  .!`,
    ]);
  });
});
