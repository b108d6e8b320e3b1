import assert from 'node:assert/strict';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { exampleDetail } from '../../testing/views.ts';
import { decodeBody, DECODED_BODY_MAX_BYTES, DECODED_CODINGS_MAX, detailView } from './decode-body.ts';
import type { DecodedBody, RecordedMessage } from './records.ts';

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
function message(body: Buffer, coding?: string): RecordedMessage {
  const fields: RecordedMessage['fields'] = coding === undefined ? [] : [['Content-Encoding', coding]];
  return { startLine: '', fields, body, isTruncated: false };
}

describe('a request for a window', () => {
  it('also has compressed bodies in decoded form', () => {
    const packed = gzipSync('{"a":1}');
    const detail = exampleDetail({
      request: message(packed, 'gzip'),
      response: message(Buffer.from('plain')),
    });
    const { request, response } = detailView(detail);
    assert.equal(request.body, packed);
    assert.equal(Buffer.from(request.decoded?.bytes ?? []).toString(), '{"a":1}');
    assert.equal(response, detail.response);
  });

  it('has the beginning of a large body, but all of a picture', () => {
    const large = Buffer.alloc(DECODED_BODY_MAX_BYTES + 1, 'a');
    const picture = { ...message(large), fields: [['Content-Type', 'image/png']] as const };
    const { request, response } = detailView(exampleDetail({ request: message(large), response: picture }));
    assert.deepEqual(
      [request.body.length, request.body.buffer.byteLength, request.wholeBytes, request.isTruncated],
      [DECODED_BODY_MAX_BYTES, DECODED_BODY_MAX_BYTES, DECODED_BODY_MAX_BYTES + 1, false],
    );
    assert.deepEqual([response?.body.length, response?.wholeBytes], [large.length, undefined]);
  });

  it('has the beginning of a body that is large once it is decoded', () => {
    const text = Array.from({ length: DECODED_BODY_MAX_BYTES / 4 }, (_, n) => `${n} `).join('');
    const { request } = detailView(exampleDetail({ request: message(gzipSync(text), 'gzip') }));
    const { bytes = Buffer.alloc(0), isCut, problem } = request.decoded ?? {};
    assert.deepEqual([isCut, problem], [true, undefined]);
    assert.ok(bytes.length > DECODED_BODY_MAX_BYTES / 4 && bytes.length <= DECODED_BODY_MAX_BYTES);
    assert.ok(text.startsWith(Buffer.from(bytes).toString()));
  });

  it('has a body of zeros as it was sent, because nearly nothing of it decodes to too much', () => {
    const zeros = gzipSync(Buffer.alloc(DECODED_BODY_MAX_BYTES + 1));
    const { request } = detailView(exampleDetail({ request: message(zeros, 'gzip') }));
    assert.deepEqual([request.decoded?.problem, request.decoded?.isCut], ['too-large', undefined]);
  });

  it('gives the reason if a body cannot be decoded', () => {
    const { request, response } = detailView(
      exampleDetail({ request: message(Buffer.from('plain'), 'gzip') }),
    );
    assert.equal(request.decoded?.problem, 'damaged');
    assert.equal(response, undefined);
  });
});
