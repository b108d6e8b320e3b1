import assert from 'node:assert/strict';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { array, assert as check, dictionary, jsonValue, oneof, property, string } from 'fast-check';
import { DECODED_BODY_MAX_BYTES, DECODED_CODINGS_MAX } from '../limits.ts';
import { decodeBody, indentJson, isUnsent, laidOutInPieces, readableTarget, utf8Text } from './readable.ts';
import type { DecodedBody } from './records.ts';

describe('readableTarget', () => {
  const cases: [string, string][] = [
    ['/caf%C3%A9', '/café'],
    ['/%F0%9F%A6%86?q=%E9%B9%AD', '/🦆?q=鹭'],
    // Delimiters of an address stay encoded.
    ['/a%2Fb%3Fc%26d%25e', '/a%2Fb%3Fc%26d%25e'],
    ['/100%', '/100%'],
    ['/%ff%C3%A9', '/%ff%C3%A9'],
    ['/cafÃ©', '/café'],
    ['*', '*'],
  ];
  for (const [target, expected] of cases) {
    it(`shows ${target} as ${expected}`, () => assert.equal(readableTarget(target), expected));
  }
});

describe('utf8Text', () => {
  it('decodes UTF-8, and leaves other bytes unchanged', () => {
    assert.equal(utf8Text('Ã¼ber'), 'über');
    assert.equal(utf8Text('\xfcber'), '\xfcber');
    assert.equal(utf8Text('plain'), 'plain');
    assert.equal(utf8Text('鹭 Ã©'), '鹭 Ã©');
  });
});

describe('an imported request', () => {
  it('counts as unsent until it is sent from here, unless it came with a response', () => {
    const unsent = { isImported: true, status: undefined, durationMs: 0, isBroken: false };
    assert.equal(isUnsent(unsent), true);
    for (const change of [
      { isImported: false },
      { status: 200 },
      { durationMs: undefined },
      { isBroken: true, durationMs: 3 },
    ])
      assert.equal(isUnsent({ ...unsent, ...change }), false, JSON.stringify(change));
  });
});

describe('indentJson', () => {
  it('formats like JSON.stringify', () => {
    check(
      property(oneof(array(jsonValue()), dictionary(string(), jsonValue())), (value) => {
        const text = JSON.stringify(value);
        const expected = JSON.stringify(JSON.parse(text), undefined, 2);
        assert.equal(indentJson(text), expected);
        assert.equal(indentJson(expected), expected);
      }),
    );
  });

  it('keeps digits and repeated names', () => {
    assert.equal(
      indentJson('{"id":12345678901234567890,"a":1.0,"a":2}'),
      '{\n  "id": 12345678901234567890,\n  "a": 1.0,\n  "a": 2\n}',
    );
  });

  it('formats long texts in pieces', () => {
    const value = Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'cup' }));
    const pieces = laidOutInPieces(JSON.stringify(value));
    let count = 0;
    let piece = pieces.next();
    for (; piece.done !== true; piece = pieces.next()) count += 1;
    assert.ok(count >= 10, `${count} pieces`);
    assert.equal(piece.value, JSON.stringify(value, undefined, 2));
  });

  it('limits the output for deep nesting', () => {
    const laidOut = indentJson('['.repeat(10_000) + ']'.repeat(10_000));
    assert.ok((laidOut?.length ?? 0) < 1_500_000);
    assert.equal(indentJson('['.repeat(500_000) + ']'.repeat(500_000)), undefined);
  });

  it('leaves other text alone, and JSON that needs no formatting', () => {
    for (const text of ['', 'x', '3', '"{}"', '{"a":', '{a: 1}', '<p>{}</p>'])
      assert.equal(indentJson(text), undefined);
  });
});

const TEXT = Buffer.from('hello '.repeat(1000));

function decode(body: Uint8Array, ...codings: string[]): DecodedBody {
  const fields = codings.map((coding) => ['Content-Encoding', coding] as const);
  return decodeBody({ startLine: '', fields, body, isTruncated: false });
}

function gzipTimes(times: number): string {
  return Array.from({ length: times }, () => 'gzip').join();
}

/** Magic number, a window of 2^(10 + n) bytes, one raw block of one byte (RFC 8878 section 3.1.1). */
function zstdFrame(n: number): Buffer {
  return Buffer.concat([
    Buffer.from('28b52ffd00', 'hex'),
    Buffer.from([n << 3]),
    Buffer.from('09000078', 'hex'),
  ]);
}

describe('a compressed body', () => {
  it('is decoded, starting with the last coding', () => {
    for (const [coding, body] of [
      ['gzip', gzipSync(TEXT)],
      ['BR', brotliCompressSync(TEXT)],
      ['deflate', deflateSync(TEXT)],
      ['deflate', deflateRawSync(TEXT)],
      ['zstd', zstdCompressSync(TEXT)],
      ['br, x-gzip', gzipSync(brotliCompressSync(TEXT))],
      ['identity', TEXT],
    ] as const) {
      const { bytes, codings, problem } = decode(body, coding);
      assert.ok(TEXT.equals(bytes), coding);
      assert.deepEqual([codings, problem], [[], undefined]);
    }
  });

  it('lists the codings that were removed', () => {
    assert.deepEqual(decode(gzipSync(brotliCompressSync(TEXT)), 'br, gzip').removed, ['gzip', 'br']);
    assert.deepEqual(decode(gzipSync(TEXT), 'aes128gcm, gzip'), {
      bytes: TEXT,
      removed: ['gzip'],
      codings: ['aes128gcm'],
      problem: 'unknown',
    });
  });

  it('is decoded as far as it was recorded', () => {
    const text = Buffer.from(Array.from({ length: 10_000 }, (_, n) => `${n} `).join(''));
    const gzip = gzipSync(text);
    const { bytes } = decode(gzip.subarray(0, gzip.length / 2), 'gzip');
    assert.ok(bytes.length > 1000);
    assert.ok(text.subarray(0, bytes.length).equals(bytes));
  });

  it('stays encoded if it decodes to more than the limit, or is damaged', () => {
    const bomb = gzipSync(Buffer.alloc(DECODED_BODY_MAX_BYTES + 1));
    const asItIs = (bytes: Uint8Array, coding: string, problem: DecodedBody['problem']) =>
      assert.deepEqual(decode(bytes, coding), { bytes, removed: [], codings: [coding], problem });
    asItIs(bomb, 'gzip', 'too-large');
    for (const [coding, pack] of Object.entries({ br: brotliCompressSync, zstd: zstdCompressSync }))
      asItIs(pack(Buffer.alloc(DECODED_BODY_MAX_BYTES + 1)), coding, 'too-large');
    assert.equal(decode(gzipSync(Buffer.alloc(DECODED_BODY_MAX_BYTES)), 'gzip').codings.length, 0);
    asItIs(TEXT, 'compress', 'unknown');
    for (const coding of ['gzip', 'br', 'zstd']) asItIs(TEXT, coding, 'damaged');
  });

  it('stays encoded if it has more than 4 codings', () => {
    const packed = (times: number): Uint8Array =>
      Array.from({ length: times }).reduce<Uint8Array>((body) => gzipSync(body), TEXT);
    const most = decode(packed(DECODED_CODINGS_MAX), gzipTimes(DECODED_CODINGS_MAX));
    assert.ok(TEXT.equals(most.bytes));
    const over = decode(packed(DECODED_CODINGS_MAX + 1), gzipTimes(DECODED_CODINGS_MAX + 1));
    assert.deepEqual([over.problem, over.codings.length], ['too-many', DECODED_CODINGS_MAX + 1]);
  });

  it('must not need a zstd window larger than 8 MiB', () => {
    assert.deepEqual(Buffer.from(decode(zstdFrame(13), 'zstd').bytes).toString(), 'x');
    assert.equal(decode(zstdFrame(14), 'zstd').problem, 'damaged');
  });
});
