import assert from 'node:assert/strict';
import { responseFraming } from '../../../shared/http1/body.ts';
import { parseRequestHead, parseResponseHead } from '../../../shared/http1/head.ts';
import { acceptedCoding, type Coding, isCompressible } from './eligibility.ts';

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

  it('chooses nothing without the field', () => assert.equal(accepted([]), undefined));

  it('combines several lines', () => {
    assert.equal(accepted(['Accept-Encoding: gzip;q=0.9', 'accept-encoding: zstd']), 'zstd');
  });

  it('chooses nothing for HTTP/1.0', () => {
    assert.equal(accepted(['Accept-Encoding: gzip'], 'HTTP/1.0'), undefined);
  });

  it('chooses nothing if the request has no-transform', () => {
    assert.equal(accepted(['Accept-Encoding: gzip', 'Cache-Control: no-transform']), undefined);
  });

  it('leaves out a coding that this Node does not have', () => {
    assert.equal(accepted(['Accept-Encoding: zstd, gzip'], 'HTTP/1.1', 'zstd'), 'gzip');
    assert.equal(accepted(['Accept-Encoding: zstd'], 'HTTP/1.1', 'zstd'), undefined);
  });
});

describe('isCompressible', () => {
  const types: readonly [string, boolean][] = [
    ['text/html', true],
    ['TEXT/CSS ; charset=utf-8', true],
    ['text/plain', true],
    ['text/javascript', true],
    ['application/javascript', true],
    ['application/json', true],
    ['application/problem+json; charset=utf-8', true],
    ['application/x-ndjson', true],
    ['application/xml', true],
    ['application/atom+xml', true],
    ['image/svg+xml', true],
    ['application/wasm', true],
    ['font/ttf', true],
    ['font/otf', true],
    ['application/vnd.ms-fontobject', true],
    ['font/woff', false],
    ['font/woff2', false],
    ['image/png', false],
    ['video/mp4', false],
    ['application/zip', false],
    ['application/octet-stream', false],
    ['application/pdf', false],
    ['multipart/form-data', false],
    ['text/event-stream', false],
    ['Text/Event-Stream; charset=utf-8', false],
    ['application/grpc', false],
    ['application/grpc+json', false],
    ['application/grpc-web+xml', false],
    ['', false],
  ];
  for (const [type, expected] of types) {
    it(`is ${expected} for the type "${type}"`, () =>
      assert.equal(compressible([`Content-Type: ${type}`]), expected));
  }

  it('needs exactly one type', () => {
    assert.equal(compressible([]), false);
    assert.equal(compressible([TEXT, TEXT]), false);
  });

  it('is true for the statuses 200 to 299 except 204, 205 and 206', () => {
    const taken = [101, 199, 200, 201, 203, 204, 205, 206, 207, 299, 300, 304, 404, 500].filter((status) =>
      compressible([TEXT], status),
    );
    assert.deepEqual(taken, [200, 201, 203, 207, 299]);
  });

  it('needs 1 KiB or an unknown length', () => {
    assert.equal(compressible([TEXT, 'Content-Length: 1024']), true);
    assert.equal(compressible([TEXT, 'Content-Length: 1023']), false);
    assert.equal(compressible([TEXT, 'Content-Length: 0']), false);
    assert.equal(compressible([TEXT, 'Transfer-Encoding: chunked']), true);
    assert.equal(compressible([TEXT]), true);
  });

  it('judges a response to HEAD like the response to GET', () => {
    assert.equal(compressible([TEXT, 'Content-Length: 1024'], 200, 'HEAD'), true);
    assert.equal(compressible([TEXT], 200, 'HEAD'), true);
    assert.equal(compressible([TEXT, 'Content-Length: 9'], 200, 'HEAD'), false);
  });

  it('is false for a response that is encoded already, or must not be transformed', () => {
    assert.equal(compressible([TEXT, 'Content-Encoding: gzip']), false);
    assert.equal(compressible([TEXT, 'content-encoding: identity']), false);
    assert.equal(compressible([TEXT, 'Cache-Control: public, No-Transform']), false);
    assert.equal(compressible([TEXT, 'Cache-Control: public', 'Cache-Control: no-transform']), false);
    assert.equal(compressible([TEXT, 'Cache-Control: no-cache']), true);
  });
});
