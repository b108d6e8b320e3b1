import assert from 'node:assert/strict';
import { responseFraming } from '../../../shared/http1/body.ts';
import { parseRequestHead, parseResponseHead, type ResponseHead } from '../../../shared/http1/head.ts';
import {
  acceptedCoding,
  type Coding,
  compressedHead,
  isCompressible,
  notModifiedHead,
  restoredTags,
  varyingHead,
  WeakenedTags,
  WEAKENED_TAG_MAX_CHARS,
  WEAKENED_TAGS_MAX,
} from './heads.ts';

/** @param parts lines without CRLF */
function response(...parts: string[]): ResponseHead {
  const head = parseResponseHead(Buffer.from(`${parts.join('\r\n')}\r\n\r\n`));
  assert.ok(head);
  return head;
}

function lines(head: Buffer): string[] {
  const text = head.toString('latin1');
  assert.match(text, /\r\n\r\n$/);
  return text.slice(0, -4).split('\r\n');
}

function compressed(head: ResponseHead, closes = false, tags = new WeakenedTags()): string[] {
  return lines(compressedHead(head, 'zstd', closes, tags));
}

/** @returns the line of the tag, if it has one */
function tagged(etag: string): string | undefined {
  return compressed(response('HTTP/1.1 200 OK', `ETag: ${etag}`)).find((line) => line.startsWith('ETag'));
}

const ADDED = ['Vary: Accept-Encoding', 'Content-Encoding: zstd', 'Transfer-Encoding: chunked'];

describe('compressedHead', () => {
  it('removes the length, ranges and digests, and keeps every other field as sent', () => {
    const head = response(
      'HTTP/1.1 200 Fine',
      'content-LENGTH: 5000',
      'X-A:  1 ',
      'Accept-Ranges: bytes',
      'Digest: sha-256=a',
      'Content-Digest: sha-256=:a:',
      'Repr-Digest: sha-256=:a:',
      'Content-MD5: a',
      'Set-Cookie: a=1',
      'Set-Cookie: b=2',
      'Last-Modified: now',
    );
    assert.deepEqual(compressed(head), [
      'HTTP/1.1 200 Fine',
      'X-A:  1 ',
      'Set-Cookie: a=1',
      'Set-Cookie: b=2',
      'Last-Modified: now',
      ...ADDED,
    ]);
  });

  it('replaces the chunked coding of the service', () => {
    const head = response('HTTP/1.1 200 OK', 'transfer-encoding: Chunked', 'Trailer: X-T');
    assert.deepEqual(compressed(head), ['HTTP/1.1 200 OK', 'Trailer: X-T', ...ADDED]);
  });

  it('works without any field', () => {
    assert.deepEqual(compressed(response('HTTP/1.1 200')), ['HTTP/1.1 200', ...ADDED]);
  });

  it('makes a strong ETag weak, keeps a weak one, and removes one that cannot be marked', () => {
    assert.equal(tagged('"x"'), 'ETag: W/"x"');
    assert.equal(tagged('W/"x"'), 'ETag: W/"x"');
    assert.equal(tagged('x'), undefined);
  });

  it('turns an HTTP/1.0 response into HTTP/1.1, and announces that the connection will close', () => {
    const head = response('HTTP/1.0 200 OK', 'Server: python', 'Content-Length: 5000');
    assert.deepEqual(compressed(head, true), [
      'HTTP/1.1 200 OK',
      'Server: python',
      'Connection: close',
      ...ADDED,
    ]);
    assert.deepEqual(compressed(response('HTTP/1.0 200 OK')), ['HTTP/1.1 200 OK', ...ADDED]);
  });
});

describe('varyingHead', () => {
  for (const [field, expected] of [
    [undefined, ['Vary: Accept-Encoding']],
    ['Vary: Origin', ['Vary: Origin', 'Vary: Accept-Encoding']],
    ['Vary: Origin, accept-encoding', ['Vary: Origin, accept-encoding']],
    ['Vary: *', ['Vary: *']],
  ] as const)
    it(`leaves ${JSON.stringify(expected)} of ${field}`, () => {
      const head = response('HTTP/1.1 200 OK', 'ETag: "x"', ...(field === undefined ? [] : [field]));
      assert.deepEqual(lines(varyingHead(head)), ['HTTP/1.1 200 OK', 'ETag: "x"', ...expected]);
    });
});

describe('restoredTags', () => {
  const tags = new WeakenedTags();
  tags.add('"a"');
  tags.add('"b"');

  /** @returns the fields as sent to the service */
  function restored(...fields: string[]): string[] {
    const text = `GET / HTTP/1.1\r\nHost: x\r\n${fields.map((field) => `${field}\r\n`).join('')}X: 1\r\n\r\n`;
    const head = parseRequestHead(Buffer.from(text), { target: 99, fields: 99 });
    assert.ok(typeof head !== 'string');
    return lines(restoredTags(head, tags).bytes).slice(2, -1);
  }

  const cases: readonly [string, string][] = [
    ['If-None-Match: W/"a"', 'If-None-Match: "a"'],
    ['If-None-Match: W/"a",W/"c", "b", W/"b"', 'If-None-Match: "a",W/"c", "b", "b"'],
    ['if-match: W/"a"', 'if-match: "a"'],
    ['If-None-Match: *', 'If-None-Match: *'],
    ['If-None-Match: "W/"', 'If-None-Match: "W/"'],
    // A weak tag never matches there, and the rest of uncompressed content must not follow compressed content.
    ['If-Range: W/"a"', 'If-Range: W/"a"'],
    ['X-Tag: W/"a"', 'X-Tag: W/"a"'],
  ];
  for (const [sent, expected] of cases)
    it(`makes "${expected}" of "${sent}"`, () => assert.deepEqual(restored(sent), [expected]));

  it('handles several fields', () => {
    assert.deepEqual(restored('If-Match: W/"a"', 'Y: 1', 'If-None-Match: W/"b"'), [
      'If-Match: "a"',
      'Y: 1',
      'If-None-Match: "b"',
    ]);
  });
});

describe('notModifiedHead', () => {
  const tags = new WeakenedTags();
  tags.add('"a"');

  for (const [what, sent, tag] of [
    ['carries the weak tag if the visitor sent it', ['"a"'], 'W/"a"'],
    ['keeps the strong tag for a visitor that has the uncompressed response', [], '"a"'],
  ] as const)
    it(what, () => {
      const head = response('HTTP/1.1 304 Not Modified', 'ETag: "a"', 'Date: now');
      const expected = ['HTTP/1.1 304 Not Modified', `ETag: ${tag}`, 'Date: now', 'Vary: Accept-Encoding'];
      assert.deepEqual(lines(notModifiedHead(head, tags, new Set(sent))), expected);
    });

  it('passes on a head with another tag or without one unchanged', () => {
    for (const fields of [['ETag: "z"'], ['ETag: W/"a"'], []]) {
      const other = response('HTTP/1.1 304 X', ...fields);
      assert.equal(notModifiedHead(other, tags, new Set(['"a"'])), other.bytes);
    }
  });
});

describe('WeakenedTags', () => {
  it('forgets the tag that was seen longest ago', () => {
    const tags = new WeakenedTags();
    for (let at = 0; at < WEAKENED_TAGS_MAX; at++) tags.add(`"${at}"`);
    tags.add('"0"');
    tags.add('"new"');
    assert.deepEqual(
      ['"0"', '"1"', '"2"', '"new"'].map((tag) => tags.has(tag)),
      [true, false, true, true],
    );
  });

  it('does not remember a tag that is too long', () => {
    const tags = new WeakenedTags();
    const tag = `"${'x'.repeat(WEAKENED_TAG_MAX_CHARS)}"`;
    tags.add(tag);
    assert.equal(tags.has(tag), false);
  });
});

/** @param fields lines without CRLF */
function accepted(fields: readonly string[], version = 'HTTP/1.1', missing?: Coding): Coding | undefined {
  const text = `GET / ${version}\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
  const head = parseRequestHead(Buffer.from(text), { target: 99, fields: 99 });
  assert.ok(typeof head !== 'string', text);
  return acceptedCoding(head, (coding) => coding !== missing);
}

/** @param fields lines without CRLF */
function compressible(fields: readonly string[], status = 200, method = 'GET'): boolean {
  const text = `HTTP/1.1 ${status} X\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
  const head = parseResponseHead(Buffer.from(text));
  const framing = head && responseFraming(head, method);
  assert.ok(head !== undefined && framing !== undefined, text);
  return isCompressible(head, framing, method);
}

const TEXT = 'Content-Type: text/html; charset=utf-8';

describe('acceptedCoding', () => {
  const choices: readonly [string, Coding | undefined][] = [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, deflate, zstd', 'zstd'],
    ['gzip, deflate', 'gzip'],
    ['deflate', undefined],
    ['', undefined],
    ['identity', undefined],
    ['BR', 'br'],
    ['gzip;q=1, br;q=0.9', 'gzip'],
    ['gzip ; q=0.5, zstd; Q=0.501', 'zstd'],
    ['br;q=0.5, zstd;q=0.5, gzip;q=0.5', 'br'],
    ['zstd;q=0.5,gzip;q=0.5', 'zstd'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.000', undefined],
    ['br;q=1.000', 'br'],
    ['br;q=0.001', 'br'],
    ['*', 'br'],
    ['*;q=0.1', 'br'],
    ['*;q=0', undefined],
    ['gzip, *;q=0', 'gzip'],
    ['gzip;q=0.5, *', 'br'],
    ['gzip, *;q=0.5', 'gzip'],
    ['br;q=0, *', undefined],
    ['identity, gzip;q=0.5', undefined],
    ['identity;q=0.5, gzip;q=0.5', 'gzip'],
    ['gzip;q=0, gzip', undefined],
    // Malformed weights refuse the coding.
    ['br;q=2', undefined],
    ['br;q=-1', undefined],
    ['br;q=0.0001', undefined],
    ['br;q=.5', undefined],
    ['br;q=', undefined],
    ['br;q=1;q=0', undefined],
    ['br;x=1', undefined],
    ['brotli, xgzip', undefined],
  ];
  for (const [field, coding] of choices) {
    it(`chooses ${coding ?? 'nothing'} for "${field}"`, () =>
      assert.equal(accepted([`Accept-Encoding: ${field}`]), coding));
  }

  const requests: readonly [fields: string[], coding: Coding | undefined, version?: string][] = [
    [[], undefined],
    [['Accept-Encoding: gzip;q=0.9', 'accept-encoding: zstd'], 'zstd'],
    [['Accept-Encoding: gzip'], undefined, 'HTTP/1.0'],
    [['Accept-Encoding: gzip', 'Cache-Control: no-transform'], undefined],
  ];
  for (const [fields, coding, version = 'HTTP/1.1'] of requests) {
    it(`chooses ${coding ?? 'nothing'} for ${version} with [${fields.join()}]`, () =>
      assert.equal(accepted(fields, version), coding));
  }

  it('leaves out a coding that this Node does not have', () => {
    assert.equal(accepted(['Accept-Encoding: zstd, gzip'], 'HTTP/1.1', 'zstd'), 'gzip');
    assert.equal(accepted(['Accept-Encoding: zstd'], 'HTTP/1.1', 'zstd'), undefined);
  });
});

describe('isCompressible', () => {
  for (const [expected, types] of [
    [true, 'text/html|TEXT/CSS ; charset=utf-8|text/plain|text/javascript|application/javascript'],
    [true, 'application/json|application/problem+json; charset=utf-8|application/x-ndjson|application/xml'],
    [
      true,
      'application/atom+xml|image/svg+xml|application/wasm|font/ttf|font/otf|application/vnd.ms-fontobject',
    ],
    [
      false,
      'font/woff|font/woff2|image/png|video/mp4|application/zip|application/octet-stream|application/pdf|',
    ],
    [false, 'multipart/form-data|text/event-stream|Text/Event-Stream; charset=utf-8'],
    [false, 'application/grpc|application/grpc+json|application/grpc-web+xml'],
  ] as const)
    for (const type of types.split('|'))
      it(`is ${expected} for the type "${type}"`, () =>
        assert.equal(compressible([`Content-Type: ${type}`]), expected));

  it('is true for the statuses 200 to 299 except 204, 205 and 206', () => {
    const taken = [101, 199, 200, 201, 203, 204, 205, 206, 207, 299, 300, 304, 404, 500].filter((status) =>
      compressible([TEXT], status),
    );
    assert.deepEqual(taken, [200, 201, 203, 207, 299]);
  });

  const responses: readonly [fields: string[], expected: boolean, method?: string][] = [
    [[], false],
    [[TEXT, TEXT], false],
    [[TEXT], true],
    [[TEXT, 'Content-Length: 1024'], true],
    [[TEXT, 'Content-Length: 1023'], false],
    [[TEXT, 'Content-Length: 0'], false],
    [[TEXT, 'Transfer-Encoding: chunked'], true],
    [[TEXT, 'Content-Length: 1024'], true, 'HEAD'],
    [[TEXT], true, 'HEAD'],
    [[TEXT, 'Content-Length: 9'], false, 'HEAD'],
    [[TEXT, 'Content-Encoding: gzip'], false],
    [[TEXT, 'content-encoding: identity'], false],
    [[TEXT, 'Cache-Control: public, No-Transform'], false],
    [[TEXT, 'Cache-Control: public', 'Cache-Control: no-transform'], false],
    [[TEXT, 'Cache-Control: no-cache'], true],
  ];
  for (const [fields, expected, method = 'GET'] of responses) {
    it(`is ${expected} for ${method} with [${fields.join()}]`, () =>
      assert.equal(compressible(fields, 200, method), expected));
  }
});
