import assert from 'node:assert/strict';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { DECODED_BODY_MAX_BYTES } from '../limits.ts';
import { type DecodedBody, decodeBody } from './decode-body.ts';

const TEXT = Buffer.from('hello '.repeat(1000));

function decode(body: Uint8Array, ...codings: string[]): DecodedBody {
  const fields = codings.map((coding) => ['Content-Encoding', coding] as const);
  return decodeBody({ startLine: '', fields, body, isTruncated: false });
}

describe('a compressed body', () => {
  it('is shown without its codings, the last one first', () => {
    for (const [coding, body] of [
      ['gzip', gzipSync(TEXT)],
      ['BR', brotliCompressSync(TEXT)],
      ['deflate', deflateSync(TEXT)],
      ['br, x-gzip', gzipSync(brotliCompressSync(TEXT))],
      ['identity', TEXT],
    ] as const) {
      const { bytes, codings } = decode(body, coding);
      assert.ok(TEXT.equals(bytes), coding);
      assert.deepEqual(codings, []);
    }
  });

  it('is shown as far as it was recorded', () => {
    const text = Buffer.from(Array.from({ length: 10_000 }, (_, n) => `${n} `).join(''));
    const gzip = gzipSync(text);
    const { bytes } = decode(gzip.subarray(0, gzip.length / 2), 'gzip');
    assert.ok(bytes.length > 1000);
    assert.ok(text.subarray(0, bytes.length).equals(bytes));
  });

  it('is left as it is when it decodes to more than the limit, or not at all', () => {
    const bomb = gzipSync(Buffer.alloc(DECODED_BODY_MAX_BYTES + 1));
    assert.deepEqual(decode(bomb, 'gzip'), { bytes: bomb, codings: ['gzip'] });
    assert.equal(decode(gzipSync(Buffer.alloc(DECODED_BODY_MAX_BYTES)), 'gzip').codings.length, 0);
    assert.deepEqual(decode(TEXT, 'zstd'), { bytes: TEXT, codings: ['zstd'] });
    assert.deepEqual(decode(TEXT, 'gzip'), { bytes: TEXT, codings: ['gzip'] });
  });
});
